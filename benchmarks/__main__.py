"""Print the tables: ``python -m benchmarks [TABLE ...] [--data DIR]``."""

import argparse
import os
from importlib import import_module
from pathlib import Path

TABLES = [
    "sweeps",
    "memory",
    "startup",
    "peers",
    "self_similarity",
    "quality",
    "overlaps",
    "how_many",
    "restarts",
    "reading",
    "rounds",
    "many",
]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="table", help=", ".join(TABLES))
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("ODSYMNMF_DATA"),
        help="directory with documents/ and graphs/ (default: $ODSYMNMF_DATA)",
    )
    options = parser.parse_args()
    unknown = sorted(set(options.tables) - set(TABLES))
    if unknown:
        parser.error(f"no table {', '.join(unknown)}; there are {', '.join(TABLES)}")
    data = Path(options.data) if options.data else None
    for name in options.tables or TABLES:
        import_module(f"benchmarks.{name}").main(data)


if __name__ == "__main__":
    main()
