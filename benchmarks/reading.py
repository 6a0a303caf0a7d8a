"""CPU time of `io.read` for a large edge list or table, relative to a few lines of pandas.

The pandas lines are `pandas.read_csv`, `pandas.factorize`, a sparse matrix and A + A.T; they check
nothing.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from benchmarks import problems
from benchmarks.timing import minima, table
from odsymnmf import io


def names(n: int, seed: int = 0) -> list[str]:
    """Return n distinct names, a random word and a number each."""
    rng = np.random.default_rng(seed)
    syllables = np.array([a + b for a in "bdfklmnprstvz" for b in "aeiou"])
    words = rng.choice(syllables, (n, 5)).tolist()
    lengths = rng.integers(1, 6, size=n).tolist()
    return [
        f"{''.join(word[:size])} {k:x}"
        for k, (word, size) in enumerate(zip(words, lengths, strict=True))
    ]


def edges_with_pandas(path: Path, header: int | None = 0) -> tuple[Any, Any]:
    """Return the matrix and the names of an edge list."""
    frame = pd.read_csv(path, header=header)
    source, target = (frame.iloc[:, k] for k in (0, 1))
    codes, items = pd.factorize(pd.concat([source, target], ignore_index=True))
    values = frame.iloc[:, 2] if frame.shape[1] > 2 else np.ones(len(frame))
    shape = (len(items), len(items))
    A = sparse.coo_array((values, tuple(codes.reshape(2, -1))), shape=shape).tocsr()
    return A + A.T, items.tolist()


def table_with_pandas(path: Path) -> tuple[Any, Any]:
    """Return the matrix and the names of a table."""
    frame = pd.read_csv(path, index_col=0)
    matrix = frame.to_numpy()
    return (matrix + matrix.T) / 2, frame.index.tolist()


def edge_lists(path: Path) -> Iterator[tuple[str, Any]]:
    """Write one edge list after the other; yield a description and the pandas function."""
    A, _ = problems.shuffled(*problems.planted(100_000, 6_000_000, 50))
    half = sparse.triu(A, k=1).tocoo()
    words = pd.Index(names(A.shape[0]))
    ids = pd.DataFrame({"source": half.row, "target": half.col})
    named = pd.DataFrame({"follower": words[half.row], "followee": words[half.col]})
    weights = np.random.default_rng(0).integers(1, 10**4, size=half.nnz) / 10**4
    kinds = {
        "ids": ids,
        "ids and weights": ids.assign(weight=weights),
        "names": named,
        "names and weights": named.assign(weight=weights),
        "names, no header": named,
    }
    for kind, frame in kinds.items():
        header = "no header" not in kind
        frame.to_csv(path, index=False, header=header)
        size = path.stat().st_size / 1e6
        yield (
            f"{half.nnz:,} edges: {kind}, {size:.0f} MB",
            partial(edges_with_pandas, path, 0 if header else None),
        )


def tables(path: Path) -> Iterator[tuple[str, Any]]:
    """Write one square table after the other; yield a description and the pandas function."""
    half = np.triu(np.random.default_rng(0).random((1500, 1500)), 1)
    words = names(len(half))
    for digits in (4, 17):
        values = (half + half.T).round(digits)
        pd.DataFrame(values, index=words, columns=words).to_csv(path)
        size = path.stat().st_size / 1e6
        name = f"table of 1,500 items, {digits} digits, {size:.0f} MB"
        yield name, partial(table_with_pandas, path)


def check(path: Path, with_pandas: Callable[[], tuple[Any, Any]]) -> None:
    data, (matrix, _) = io.read(path), with_pandas()
    assert data.matrix.shape == matrix.shape
    assert np.isclose(data.matrix.sum(), matrix.sum())


def rows() -> Iterator[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        for cases, goal in ((edge_lists, "<= 1.3"), (tables, "")):
            for case, with_pandas in cases(path):
                check(path, with_pandas)
                calls = (partial(io.read, path), with_pandas)
                seconds, pandas_seconds = minima(*calls, repeats=7, clock=time.process_time)
                yield case, goal, f"{seconds / pandas_seconds:.2f}"


def main(data: Path | None) -> None:
    table("Reading, relative to pandas", ["file", "goal", "CPU time"], rows())
