"""``python -m odsymnmf.reproduce NAME --out DIR [--trials N] [--seed N] [--data DIR]``."""

import argparse
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

NAMES = ["starts"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and write the table that it names."""
    parser = argparse.ArgumentParser(prog="python -m odsymnmf.reproduce")
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--out", type=Path, required=True, help="directory to write to")
    parser.add_argument("--trials", type=int, default=10, help="random matrices per setting")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("ODSYMNMF_DATA"),
        help="directory with graphs/ and documents/ (default: $ODSYMNMF_DATA)",
    )
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    data = Path(options.data) if options.data else None
    room = import_module(f"odsymnmf.reproduce.{options.name.replace('-', '_')}")
    room.main(options.out, trials=options.trials, seed=options.seed, data=data)


if __name__ == "__main__":
    main()
