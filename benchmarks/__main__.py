"""Print tables of measurements: ``python -m benchmarks [TABLE ...] [--data DIR]``.

``against --old DIR`` compares results and times with another checkout; it runs only if named.
``python -m benchmarks.paper`` writes the tables and figures of the paper.
"""

import argparse
import os
import time
from importlib import import_module
from pathlib import Path

from benchmarks.timing import print_environment

TABLES = [
    "startup",
    "sweeps",
    "rounds",
    "alternatives",
    "quality",
    "leiden",
    "fresh",
    "overlaps",
    "how_many",
    "restarts",
    "many",
    "reading",
    "distributed",
]
ON_REQUEST = ["against"]


def main() -> None:
    names = ", ".join([*TABLES, *ON_REQUEST])
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="table", help=names)
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("ODSYMNMF_DATA"),
        help="directory that contains documents/, graphs/ and overlapping/; $ODSYMNMF_DATA",
    )
    parser.add_argument("--old", type=Path, help="another checkout, for the table `against`")
    parser.add_argument(
        "--case", default="", help="text in the names of the cases of `against` or `leiden` to run"
    )
    parser.add_argument("--results", action="store_true", help="`against` without times")
    options = parser.parse_args()
    unknown = sorted(set(options.tables) - {*TABLES, *ON_REQUEST})
    if unknown:
        parser.error(f"unknown table: {', '.join(unknown)}; the tables are {names}")
    data = Path(options.data) if options.data else None
    print_environment()
    for name in options.tables or TABLES:
        start = time.perf_counter()
        module = import_module(f"benchmarks.{name}")
        if name == "against":
            if options.old is None:
                parser.error("against needs --old DIR, the checkout to compare with")
            module.main(options.old.resolve(), options.case, options.results)
        elif name == "leiden":
            module.main(data, options.case)
        else:
            module.main(data)
        print(f"\n({name}: {time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
