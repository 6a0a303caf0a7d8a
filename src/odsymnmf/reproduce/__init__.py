"""Every table and figure of the paper on demand.

``python -m odsymnmf.reproduce NAME... --out DIR [--trials N] [--seed N] [--data DIR] [--jobs N]``
writes NAME.csv, NAME.md and NAME.png for each name, and for ``all`` RESULTS.md besides.
"""

import argparse
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

# The paper's tables and figures, in its order; then what goes beyond it and `all` leaves out.
PAPER = (
    "table-complexity",
    "table-noise",
    "figure-random-noise",
    "figure-adversarial-noise",
    "table-documents",
    "figure-init",
)
BEYOND = ("starts",)
NAMES = (*PAPER, "all", *BEYOND)


def reproduce(
    names: Sequence[str],
    out: str | Path,
    *,
    trials: int = 10,
    seed: int = 0,
    data: str | Path | None = None,
    n_jobs: int | None = None,
) -> None:
    """Write the named tables and figures of the paper to a directory.

    Parameters
    ----------
    names : list of str
        "table-complexity", "table-noise", "figure-random-noise", "figure-adversarial-noise",
        "table-documents", "figure-init"; "all" for these; "starts".
    out : path
        Directory to write to. Finished cells are kept in ``out/cells``: a second run with the
        same settings finds them there.
    trials : int
        Random matrices for every setting.
    seed : int
        Seeds everything; the numbers (but for seconds) do not depend on n_jobs.
    data : path, optional
        Directory with documents/NAME.npz and documents/NAME_labels.npy, for "table-documents".
        Else $ODSYMNMF_DATA.
    n_jobs : int, optional
        Processes; by default, one per processor.

    Examples
    --------
    >>> import tempfile
    >>> from odsymnmf.reproduce import reproduce
    >>> with tempfile.TemporaryDirectory() as out:
    ...     reproduce(["table-3"], out)
    Traceback (most recent call last):
    ValueError: 'table-3' is not known; use one of table-complexity, table-noise, ...
    """
    from odsymnmf.reproduce.cells import Request
    from odsymnmf.reproduce.writing import canvas

    for name in names:
        if name not in NAMES:
            raise ValueError(f"{name!r} is not known; use one of {', '.join(NAMES)}.")
    for what, value in (("trials", trials), ("n_jobs", 1 if n_jobs is None else n_jobs)):
        if value < 1:
            raise ValueError(f"{what} must be at least 1; got {value}.")
    canvas(1, 1)  # says what to install now, not when all has been computed
    given = data or os.environ.get("ODSYMNMF_DATA")
    place = Path(out)
    place.mkdir(parents=True, exist_ok=True)
    jobs = n_jobs or os.cpu_count() or 1
    request = Request(place, trials, seed, Path(given) if given else None, jobs)
    for name in names:
        import_module(f"{__name__}.{name.replace('-', '_')}").main(request)


def main(
    arguments: Sequence[str] | None = None, prog: str = "python -m odsymnmf.reproduce"
) -> None:
    """Parse the command line and write what it names; exit with 1 for bad input, 2 for usage."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Write tables and figures of the paper, next to the published numbers.",
    )
    parser.add_argument("names", nargs="+", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--out", type=Path, required=True, help="directory to write to")
    parser.add_argument("--trials", type=int, default=10, help="random matrices per setting")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, help="directory with documents/ ($ODSYMNMF_DATA)")
    parser.add_argument("--jobs", type=int, help="processes (default: one per processor)")
    given = parser.parse_args(arguments)
    try:
        reproduce(
            given.names,
            given.out,
            trials=given.trials,
            seed=given.seed,
            data=given.data,
            n_jobs=given.jobs,
        )
    except (ImportError, OSError, ValueError) as error:
        parser.exit(1, f"{parser.prog}: {error}\n")
