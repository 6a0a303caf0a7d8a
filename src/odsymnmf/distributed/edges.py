"""From a table of links to blocks of rows: every link goes to the blocks of both of its ends."""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, asymmetry
from odsymnmf.distributed.blocks import RowBlocks
from odsymnmf.distributed.cleaning import Block, clean_block

SYMMETRIZE = ("max", "mean", "sum")
# Blocks of rows at most: every part of the table sends something to each.
BLOCKS = 64


class Ways(NamedTuple):
    """The links of some items: from them (rows x n), and to them, as CSR without repeats."""

    out: Any
    back: Any


class Directions(NamedTuple):
    """How links are given: so many in all, so many in both directions, and the largest gap.

    ``where`` are the two items of the largest gap, and of a link in both directions.
    """

    links: int
    both: int
    gap: float
    peak: float
    worst: tuple[int, int]
    twice: tuple[int, int]


def from_edges(
    df: Any,
    source: str = "source",
    target: str = "target",
    weight: str | None = "weight",
    *,
    symmetrize: str | None = None,
) -> RowBlocks:
    """Turn a dask DataFrame of links into similarities in blocks of rows.

    The table is read where Dask has it: on the workers of the current client, if there is one.
    Rules are those of edge lists (`odsymnmf.io.read`): links that are given again are summed, those
    from an item to itself are left out, and each pair must be given once, or in both directions
    with the same weight; for anything else, say how to ``symmetrize``.

    Parameters
    ----------
    df : dask DataFrame
        One link a row, for example ``dask.dataframe.read_parquet("links/")``.
    source, target : str
        The columns of the two items: whole numbers >= 0, or names. Whole numbers are put in order
        and numbered anew if some are missing; names are numbered as they appear.
    weight : str or None
        The column of the weights; where there is none of that name, every link has weight 1. NaN is
        an unknown pair.
    symmetrize : {"max", "mean", "sum"}, optional
        How to combine i to j and j to i, where they differ.

    Returns
    -------
    RowBlocks
        For `odsymnmf.factorize` and `odsymnmf.ODSymNMF.fit`. ``names`` are what the items are
        called, None if they are numbers from 0 on without a gap.

    Examples
    --------
    >>> import pandas as pd
    >>> import dask.dataframe as dd
    >>> import odsymnmf as od
    >>> ends = {"source": ["ann", "bob", "ann"], "target": ["bob", "cleo", "cleo"]}
    >>> table = pd.DataFrame(ends)
    >>> A = od.distributed.from_edges(dd.from_pandas(table, npartitions=2))
    >>> A.names
    ['ann', 'bob', 'cleo']
    >>> od.factorize(A, 1).H.round(3).tolist()
    [[1.0], [1.0], [1.0]]
    """
    import dask

    if symmetrize not in (None, *SYMMETRIZE):
        raise ValueError(f"symmetrize={symmetrize!r} is not known; use {', '.join(SYMMETRIZE)}.")
    columns = _columns(df, source, target, weight)
    parts = df[columns].to_delayed()
    ids, names = _items(parts, columns)
    n, count = len(ids), min(len(parts), BLOCKS, len(ids))
    starts = tuple(int(k) for k in np.linspace(0, n, count + 1).astype(int))
    known = dask.delayed(ids, traverse=False)
    split = dask.delayed(partial(split_links, starts=starts), nout=count, pure=False)
    sent = [split(part, known, columns) for part in parts]
    gather = dask.delayed(ways_of, pure=False)
    ways = [
        gather([pieces[b] for pieces in sent], start, stop, n)
        for b, (start, stop) in enumerate(pairwise(starts))
    ]
    look = dask.delayed(directions, pure=False)
    seen = dask.compute(*(look(way, start) for way, start in zip(ways, starts, strict=False)))
    how = _how(list(seen), symmetrize, ids)
    make = dask.delayed(block_of, pure=False)
    blocks = [make(way, how, start) for way, start in zip(ways, starts, strict=False)]
    return RowBlocks(blocks, starts, n, names=names)


def _columns(df: Any, source: str, target: str, weight: str | None) -> list[str]:
    there = [str(name) for name in df.columns]
    for name in (source, target):
        if name not in df.columns:
            raise ValueError(
                f"the table has no column {name!r}, but {', '.join(map(repr, there))}; say which "
                "are the two items of a link: from_edges(df, source=..., target=...)."
            )
    columns = [source, target]
    if weight is not None and weight in df.columns:
        columns.append(weight)
        kind = df.dtypes[weight]
        if getattr(kind, "kind", "O") not in "biuf":
            raise ValueError(
                f"the column {weight!r} is of type {kind}; weights must be numbers: convert it, or "
                "pass weight=None."
            )
    elif weight not in (None, "weight"):
        raise ValueError(f"the table has no column {weight!r}, but {', '.join(map(repr, there))}.")
    return columns


def _items(parts: list[Any], columns: list[str]) -> tuple[Array, list[Any] | None]:
    """Return all ids in their order, and what the items are called if not 0, 1, 2, ..."""
    import dask
    import pandas as pd

    find = dask.delayed(ids_of, pure=False)
    found = [ids for ids in dask.compute(*(find(part, columns[:2]) for part in parts)) if len(ids)]
    if not found:
        raise ValueError("the table has columns, but no links in them; give at least one.")
    if all(ids.dtype.kind in "iu" for ids in found):
        ids = np.unique(np.concatenate(found).astype(np.int64))
        if ids[0] < 0:
            raise ValueError(f"the id {ids[0]} is negative; number the items from 0 or 1.")
        return ids, None if ids[-1] == len(ids) - 1 else ids.tolist()
    ids = pd.unique(np.concatenate([some.astype(object) for some in found]))
    if not all(isinstance(name, str) for name in ids):
        ids = pd.unique(np.array([str(name) for name in ids], dtype=object))
    return ids, ids.tolist()


def _how(seen: list[Directions], symmetrize: str | None, ids: Array) -> str:
    """Return how both directions are combined; refuse what could be meant in two ways."""
    links, both = sum(s.links for s in seen), sum(s.both for s in seen)
    if not both:
        return "sum"
    widest = max(seen, key=lambda s: s.gap)
    peak = max(s.peak for s in seen)
    if both < links and symmetrize is None:
        a, b = next(s.twice for s in seen if s.both)
        raise ValueError(
            f"{ids[a]} and {ids[b]} are linked in both directions, but {links - both} links are "
            "given in one only: perhaps a directed graph, perhaps one link given twice. Choose "
            'symmetrize="max", "mean" or "sum".'
        )
    if both == links and widest.gap <= asymmetry(np.float64) * peak:
        return "mean"
    if symmetrize is None:
        a, b = widest.worst
        raise ValueError(
            f"{ids[a]} to {ids[b]} and {ids[b]} to {ids[a]} have weights that differ by "
            f'{widest.gap:.6g}, the largest difference. Choose symmetrize="max", "mean" or "sum".'
        )
    return symmetrize


# --- on the workers ---------------------------------------------------------------------------


def ids_of(part: Any, columns: list[str]) -> Array:
    """Return the ids of a part of the table: whole numbers sorted, names as they appear."""
    import pandas as pd

    for name in columns:
        if part[name].isna().any():
            raise ValueError(
                f"the column {name!r} has rows without a name; drop them: df.dropna()."
            )
    if all(part[name].dtype.kind in "iu" for name in columns):
        both = np.concatenate([part[name].to_numpy(dtype=np.int64) for name in columns])
        return np.unique(both)
    both = np.empty(2 * len(part), dtype=object)
    for k, name in enumerate(columns):
        both[k::2] = part[name].astype(str).to_numpy(dtype=object)
    return np.asarray(pd.unique(both), dtype=object)


def split_links(
    part: Any, ids: Array, columns: list[str], starts: tuple[int, ...]
) -> list[tuple[Any, ...]]:
    """Return for each block of rows the links from its items, and those to them."""
    i, j = (_numbered(part[name], ids) for name in columns[:2])
    w = part[columns[2]].to_numpy(dtype=np.float64) if len(columns) > 2 else np.ones(len(i))
    keep = i != j
    i, j, w = i[keep], j[keep], w[keep]
    found = []
    for start, stop in pairwise(starts):
        out, back = ((ends >= start) & (ends < stop) for ends in (i, j))
        found.append((i[out] - start, j[out], w[out], j[back] - start, i[back], w[back]))
    return found


def _numbered(column: Any, ids: Array) -> Array:
    import pandas as pd

    if ids.dtype.kind in "iu":
        return np.searchsorted(ids, column.to_numpy(dtype=np.int64))
    return np.asarray(pd.Index(ids).get_indexer(column.astype(str).to_numpy(dtype=object)))


def ways_of(pieces: list[tuple[Any, ...]], start: int, stop: int, n: int) -> Ways:
    """Put the links of some items together; those given again are summed."""
    rows, columns, weights, back_rows, back_columns, back_weights = (
        np.concatenate(some) for some in zip(*pieces, strict=True)
    )
    shape = (stop - start, n)
    made = []
    for i, j, w in ((rows, columns, weights), (back_rows, back_columns, back_weights)):
        matrix = sparse.csr_array(sparse.coo_array((w, (i, j)), shape=shape))
        matrix.sum_duplicates()
        made.append(matrix)
    return Ways(*made)


def directions(ways: Ways, start: int) -> Directions:
    """Say how the links of some items are given."""
    out, back = ways
    here, there = (sparse.csr_array((np.ones(M.nnz), M.indices, M.indptr), M.shape) for M in ways)
    shared = here.multiply(there).tocoo()
    gap, worst, twice = 0.0, (0, 0), (0, 0)
    if shared.nnz:
        twice = start + int(shared.row[0]), int(shared.col[0])
        a, b = (np.asarray(M[shared.row, shared.col]).ravel() for M in (out, back))
        gaps = np.nan_to_num(np.abs(a - b))
        k = int(np.argmax(gaps))
        gap, worst = float(gaps[k]), (start + int(shared.row[k]), int(shared.col[k]))
    peak = float(np.nanmax(np.abs(out.data), initial=0.0))
    return Directions(int(out.nnz), int(shared.nnz), gap, peak, worst, twice)


def block_of(ways: Ways, how: str, start: int) -> Block:
    """Return rows of similarities; of a pair that is known in one direction, that one counts."""
    out, back = _known(*ways), _known(*ways[::-1])
    if how == "max":
        both = out.maximum(back)
        lone = _nan_of(ways[0], ways[1])
        if lone is not None:
            both = both + lone
        return clean_block([both], start)
    both = out + back if how == "sum" else out * 0.5 + back * 0.5
    return clean_block([sparse.csr_array(both)], start)


def _known(here: Any, there: Any) -> Any:
    """Return one direction, with the value of the other one where it is NaN and that is not."""
    nan = np.isnan(here.data)
    if not nan.any():
        return here
    here = here.copy()
    rows = np.repeat(np.arange(here.shape[0]), np.diff(here.indptr))[nan]
    columns = here.indices[nan]
    other = np.asarray(there[rows, columns]).ravel()
    given = np.asarray(
        sparse.csr_array((np.ones(there.nnz), there.indices, there.indptr), there.shape)[
            rows, columns
        ]
    ).ravel()
    here.data[nan] = np.where(given > 0, other, np.nan)
    return here


def _nan_of(here: Any, there: Any) -> Any:
    """Return NaN where a pair is known in no direction, as CSR; `maximum` would lose it."""
    out, back = _known(here, there), _known(there, here)
    found = out + back
    nan = np.isnan(found.data)
    if not nan.any():
        return None
    rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))[nan]
    values = np.full(len(rows), np.nan)
    return sparse.csr_array((values, (rows, found.indices[nan])), shape=found.shape)
