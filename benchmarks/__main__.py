"""Print the tables: ``python -m benchmarks [TABLE ...] [--data DIR]``.

``python -m benchmarks against --old DIR`` compares with another checkout; it is run when asked for.
"""

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
    "stability",
    "restarts",
    "reading",
    "rounds",
    "distributed",
    "many",
    "unknown",
    "between",
    "interrupts",
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
    parser.add_argument("--old", type=Path, help="another checkout, for the table `against`")
    parser.add_argument("--case", default="", help="only the cases of `against` with this in them")
    options = parser.parse_args()
    unknown = sorted(set(options.tables) - {*TABLES, "against"})
    if unknown:
        parser.error(f"no table {', '.join(unknown)}; there are {', '.join(TABLES)}, against")
    data = Path(options.data) if options.data else None
    for name in options.tables or TABLES:
        module = import_module(f"benchmarks.{name}")
        if name == "against":
            module.main(data, options.old, options.case)
        else:
            module.main(data)


if __name__ == "__main__":
    main()
