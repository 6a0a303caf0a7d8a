"""How long a large edge list or table takes to read, relative to `pandas.read_csv`, which only
splits it into columns; relative to `read_csv` and `factorize`, which also numbers the names; and
relative to all steps that one would write by hand to get the matrix. What each of these steps takes
by itself; and how long it takes to cluster, from the file to the page.
"""

import csv
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from benchmarks import problems
from benchmarks.timing import in_new_process, minima, table
from odsymnmf import io

GOAL = "<= 1.3 x pandas.read_csv"
# On the wall, which threads make shorter, and of all threads together.
CLOCKS = (time.perf_counter, time.process_time)
CLUSTER = """
import resource, sys, time
begun = time.perf_counter()
from odsymnmf.cli import main
path, run = sys.argv[1:]
sys.argv[1:] = ["cluster", path, "-r", "50", "--seed", "0", "--quiet", "-o", run]
try:
    main()
except SystemExit as end:
    if end.code:
        raise
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(f"{time.perf_counter() - begun:.0f} s, {peak:.2f} GB")
"""


def names(n: int, seed: int = 0) -> list[str]:
    """Return words and phrases, all different."""
    rng = np.random.default_rng(seed)
    syllables = np.array([a + b for a in "bdfklmnprstvz" for b in "aeiou"])
    words = rng.choice(syllables, (n, 5)).tolist()
    lengths = rng.integers(1, 6, size=n).tolist()
    return [
        f"{''.join(word[:size])} {k:x}"
        for k, (word, size) in enumerate(zip(words, lengths, strict=True))
    ]


def graph(data: Path | None) -> tuple[str, Any]:
    """Return the thesaurus of the data directory, without one a planted graph of its size."""
    path = data / "graphs" / "moby_thesaurus.npz" if data else None
    if path and path.exists():
        return "moby_thesaurus", sparse.load_npz(path)
    return "planted graph", problems.shuffled(*problems.planted(100_000, 3_600_000, 50))[0]


def numbered(frame: pd.DataFrame) -> tuple[Any, Any]:
    """Return numbers for the names in both columns, and the names."""
    return pd.factorize(pd.concat([frame["source"], frame["target"]], ignore_index=True))


def matrix(frame: pd.DataFrame, codes: Any, n: int) -> Any:
    """Return the symmetric matrix of n items."""
    values = frame["weight"] if "weight" in frame else np.ones(len(frame))
    A = sparse.coo_array((values, tuple(codes.reshape(2, -1))), shape=(n, n)).tocsr()
    return A + A.T


def by_hand(path: Path) -> tuple[Any, Any]:
    """Return the matrix and the names of a list known to be clean, without any check."""
    frame = pd.read_csv(path)
    codes, items = numbered(frame)
    return matrix(frame, codes, len(items)), items.tolist()


def files(title: str, A: Any, path: Path) -> Iterator[tuple[str, str]]:
    """Write one list after the other to the same file; tell what it holds."""
    half = sparse.triu(A, k=1).tocoo()
    words = pd.Index(names(A.shape[0]))
    ids = pd.DataFrame({"source": half.row, "target": half.col})
    named = pd.DataFrame({"source": words[half.row], "target": words[half.col]})
    weights = np.random.default_rng(0).integers(1, 10**4, size=half.nnz) / 10**4
    digits = np.random.default_rng(0).random(half.nnz)
    kinds = {
        "ids": ids,
        "ids and weights": ids.assign(weight=weights),
        "ids and weights of 16 digits": ids.assign(weight=digits),
        "names": named,
        "names and weights": named.assign(weight=weights),
        "names in quotes": named,
    }
    for what, frame in kinds.items():
        quoting = csv.QUOTE_NONNUMERIC if "quotes" in what else csv.QUOTE_MINIMAL
        frame.to_csv(path, index=False, quoting=quoting)
        assert io.read(path).matrix.nnz == by_hand(path)[0].nnz == A.nnz
        yield what, f"{title}, {half.nnz:,} edges, {what}, {path.stat().st_size / 1e6:.0f} MB"


def rows(data: Path | None) -> Iterator[tuple[str, ...]]:
    title, A = graph(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.csv"
        for what, case in files(title, A, path):
            ways = [io.read, pd.read_csv, lambda path: numbered(pd.read_csv(path)), by_hand]
            calls = [partial(way, path) for way in ways]
            times, cpu = (minima(*calls, repeats=7, clock=clock) for clock in CLOCKS)
            yield case, GOAL, *(f"{t[0] / t[k]:.2f}" for k in (1, 2, 3) for t in (times, cpu))
            if what == "names":
                case = f"{title}, names: `odsymnmf cluster` with r = 50, page included"
                spent = in_new_process(CLUSTER, str(path), f"{folder}/run")
                yield case, "a few minutes", spent, *[""] * 5


def steps(data: Path | None) -> Iterator[tuple[str, ...]]:
    """What no reader can do without, each by itself, as pandas and SciPy do it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.csv"
        for what, _ in files(*graph(data), path):
            frame = pd.read_csv(path)
            codes, items = numbered(frame)
            parts = [
                partial(pd.read_csv, path),
                path.read_bytes,
                partial(numbered, frame),
                partial(matrix, frame, codes, len(items)),
                partial(io.read, path),
            ]
            pandas, *others = minima(*parts, repeats=7)
            yield what, *(f"{other / pandas:.2f}" for other in others)


def square(n: int, digits: int | None) -> pd.DataFrame:
    """Return a table of similarities with names, with so many digits, or all of them."""
    half = np.triu(np.random.default_rng(0).random((n, n)), 1)
    values = half + half.T if digits is None else (half + half.T).round(digits)
    words = names(n)
    return pd.DataFrame(values, index=words, columns=words)


def tables() -> Iterator[tuple[str, str, str]]:
    """A table is read to the last bit, and so it is by pandas: before 3.1, with ``round_trip``."""
    is_old = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        for digits in (4, None):
            how = {"float_precision": "round_trip"} if is_old and digits is None else {}
            square(1500, digits).to_csv(path)
            assert io.read(path).matrix.shape == (1500, 1500)
            ours, pandas = minima(
                lambda: io.read(path),
                partial(pd.read_csv, path, **how),
                repeats=7,
            )
            size = f"{path.stat().st_size / 1e6:.0f} MB"
            case = f"table of 1,500 items, {digits or 'all'} digits, {size}"
            yield case, GOAL, f"{ours / pandas:.2f}"


def main(data: Path | None) -> None:
    header = ["case", "goal", "measured"]
    whole = ["/ read_csv and factorize", "/ all steps by hand"]
    further = [f"{what}{clock}" for what in ("measured", *whole) for clock in ("", ", CPU time")]
    table("Reading an edge list", ["case", "goal", *further], rows(data))
    header_of_steps = [
        "list",
        "bytes",
        "factorize",
        "sparse matrix, A + A.T",
        "`io.read`, all of it",
    ]
    table("What steps take by themselves, relative to read_csv", header_of_steps, steps(data))
    table("Reading a table", header, tables())
