"""Similarities or features in blocks of rows that Dask computes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odsymnmf.io.symmetrize import (
    REMEDY,
    SYMMETRIZE,
    combine,
    fill_from_transpose,
)
from odsymnmf.io.text import edge_columns, frame_edges
from odsymnmf.similarity import cosine
from odsymnmf.similarity.validation import CleanRows, clean_rows, refuse_infinite
from odsymnmf.similarity.weights import with_data
from odsymnmf.utils import Array, asymmetry

# Number of row blocks that edges are sorted into.
N_BLOCKS = 64


@dataclass(frozen=True)
class RowBlocks:
    """Similarities of n items, or their features, in blocks of rows that Dask computes.

    `odsymnmf.distributed.from_edges` returns one; `odsymnmf.factorize` and `odsymnmf.ODSymNMF.fit`
    take it, as they take a Dask array.

    Attributes
    ----------
    names : list or None
        Names of the items, None if they are the numbers from 0 to n - 1.
    """

    blocks: list[Any] = field(repr=False)
    starts: list[int] = field(repr=False)
    n: int
    m: int = 0
    names: list[Any] | None = field(default=None, repr=False)
    is_symmetric: bool = False

    def __dask_graph__(self) -> Any:
        """Mark this as a Dask collection."""
        return None

    def compute(self) -> Any:
        """Return the matrix in this process.

        Returns
        -------
        scipy.sparse.csr_array or ndarray
        """
        import dask

        return stack(dask.compute(*self.blocks))

    def cleaned(self) -> list[Any]:
        """Return the validated blocks, for Dask to compute."""
        import dask

        clean = dask.delayed(_clean_block, pure=False)
        pairs = zip(self.blocks, self.starts, strict=False)
        return [clean(block, start, self.m > 0) for block, start in pairs]


def from_array(A: Any, *, features: bool = False) -> RowBlocks:
    """Return the row blocks of a Dask array of similarities, or of features."""
    import dask

    if not hasattr(A, "chunks"):
        raise ValueError(
            f"A is a {type(A).__name__} of Dask, not an array; for a table of edges pass "
            "odsymnmf.distributed.from_edges(df), for features df.to_dask_array(lengths=True)."
        )
    if A.ndim != 2 or any(np.isnan(size) for size in A.shape):
        raise ValueError(
            f"A is a dask array of shape {A.shape}; it must have two dimensions of known size. "
            "Call A.compute_chunk_sizes() first."
        )
    n, m = (int(size) for size in A.shape)
    if not features and n != m:
        raise ValueError(
            f"A must be a square matrix of similarities (n x n); got shape {A.shape}. "
            'For items x features, use ODSymNMF(affinity="cosine").'
        )
    if 0 in (n, m):
        raise ValueError(f"A is empty {A.shape}; there is nothing to factorize.")
    join, rows = dask.delayed(stack, pure=False), A.to_delayed().tolist()
    sizes = A.chunks[0]
    blocks = [join(list(row), axis=1) for row, size in zip(rows, sizes, strict=True) if size]
    starts = [0, *np.cumsum([size for size in sizes if size]).tolist()]
    return RowBlocks(blocks, starts, n, m if features else 0)


def gathered(X: Any) -> Any:
    """Return a Dask array, or row blocks, as one matrix in this process."""
    return (X if isinstance(X, RowBlocks) else from_array(X, features=True)).compute()


class BlockFacts(NamedTuple):
    """Entries in each row, dtype, storage and unknown pairs of a block."""

    counts: Array
    dtype: Any
    is_sparse: bool
    n_unknown: int


def facts_of(block: CleanRows) -> BlockFacts:
    """Return the facts that determine the layout of a fit."""
    M, unknown = block.matrix, block.unknown
    is_sparse = sparse.issparse(M)
    counts = np.diff(M.indptr) if is_sparse else np.full(*M.shape)
    return BlockFacts(counts, M.dtype, is_sparse, 0 if unknown is None else unknown.nnz)


def cut_rows(
    blocks: list[CleanRows], starts: list[int], rows: slice, dtype: Any
) -> tuple[Any, Any]:
    """Return the rows of some items and their unknown pairs, from the blocks that contain them."""
    matrices, unknown = [], []
    for block, start in zip(blocks, starts, strict=True):
        inside = slice(max(0, rows.start - start), rows.stop - start)
        matrices.append(block.matrix[inside])
        empty = sparse.csr_array(matrices[-1].shape)
        unknown.append(empty if block.unknown is None else block.unknown[inside])
    return stack(matrices).astype(dtype, copy=False), stack(unknown)


def stack(matrices: Sequence[Any], axis: int = 0) -> Any:
    """Join matrices, as CSR if one of them is sparse."""
    if any(sparse.issparse(M) for M in matrices):
        join = sparse.hstack if axis else sparse.vstack
        return sparse.csr_array(join(matrices, format="csr"))
    return np.concatenate(matrices, axis)


def _clean_block(block: Any, start: int, are_features: bool) -> CleanRows:
    if are_features:
        return CleanRows(cosine(block).X, np.empty(0), None)
    rows = clean_rows(block, start)
    refuse_infinite(rows.matrix, start)
    return rows


# --- edges ---------------------------------------------------------------------------------------


def from_edges(
    df: Any,
    source: str = "source",
    target: str = "target",
    weight: str | None = "weight",
    *,
    symmetrize: str | None = None,
) -> RowBlocks:
    """Turn a Dask DataFrame of edges into similarities in blocks of rows.

    The edges stay on the workers of the current client, if there is one. The rules are those of
    edge lists (`odsymnmf.io.read`): repeated edges are summed, self-loops are left out, and each
    pair is given once, or in both directions with equal weights; otherwise pass ``symmetrize``.

    Parameters
    ----------
    df : dask DataFrame
        One edge in each row, for example ``dask.dataframe.read_parquet("edges/")``.
    source, target : str
        The columns of the two items: integers >= 0, or names. Integers are sorted and renumbered if
        some are missing; names are numbered in the order in which they appear.
    weight : str or None
        The column of the weights; without such a column, every edge has weight 1. NaN is an unknown
        pair.
    symmetrize : {"max", "mean", "sum"}, optional
        How to combine the two directions of a pair.

    Returns
    -------
    RowBlocks
        For `odsymnmf.factorize` and `odsymnmf.ODSymNMF.fit`. ``names`` are the names of the items,
        None if they are the numbers from 0 to n - 1.

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
    columns = [source, target]
    if weight is not None and (weight != "weight" or weight in df.columns):
        columns.append(weight)
    edge_columns(list(df.columns), [], columns)  # refuses missing ones
    is_int = all(getattr(df.dtypes[name], "kind", "O") in "iu" for name in columns[:2])
    number, split, gather, describe, symmetric = (
        dask.delayed(task, pure=False)
        for task in (_number_items, _split_edges, _edges_of_rows, _directions, _symmetric_rows)
    )
    parts = df[columns].to_delayed()
    ids = np.concatenate(dask.compute(*(number(part, columns, is_int)[0] for part in parts)))
    if not len(ids):
        raise ValueError("the table has no edges; give at least one.")
    ids = np.unique(ids) if is_int else np.array(list(dict.fromkeys(ids)), dtype=object)
    n = len(ids)
    starts = np.linspace(0, n, min(len(parts), N_BLOCKS, n) + 1).astype(int).tolist()
    blocks, shared = list(pairwise(starts)), dask.delayed(ids, traverse=False)
    sent = [split(part, columns, is_int, shared, blocks) for part in parts]
    edges = [gather([pieces[b] for pieces in sent], n) for b in range(len(blocks))]
    facts = dask.compute(*(describe(M, *block) for M, block in zip(edges, blocks, strict=True)))
    combination = _combination(facts, symmetrize, ids)
    rows = [symmetric(M, combination, *block) for M, block in zip(edges, blocks, strict=True)]
    names = None if is_int and ids[-1] == n - 1 else ids.tolist()
    return RowBlocks(rows, starts, n, names=names, is_symmetric=True)


def _number_items(part: Any, columns: list[str], is_int: bool) -> tuple[Array, Any]:
    """Return the ids of the items of a part of the table, and its edges between them."""
    if not len(part):
        return np.empty(0, np.int64 if is_int else object), None
    edges = frame_edges(part, columns, None)
    return np.array(edges.names, np.int64 if is_int else object), edges


def _split_edges(
    part: Any, columns: list[str], is_int: bool, ids: Array, blocks: list[tuple[int, int]]
) -> list[tuple[Array, Array, Array]]:
    """Return for each block of items the edges (i, j, weight) that touch it."""
    import pandas as pd

    part_ids, edges = _number_items(part, columns, is_int)
    if edges is None:
        return [(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))] * len(blocks)
    i, j = pd.Index(ids).get_indexer(part_ids)[np.array(edges[:2])]
    weights = np.ones(len(i)) if edges.weights is None else edges.weights
    pieces = []
    for start, stop in blocks:
        touches = (i != j) & (((i >= start) & (i < stop)) | ((j >= start) & (j < stop)))
        pieces.append((i[touches], j[touches], weights[touches]))
    return pieces


def _edges_of_rows(pieces: list[tuple[Array, Array, Array]], n: int) -> Any:
    """Return the edges that touch a block of items as an n x n matrix, repeated ones summed."""
    i, j, weights = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return sparse.csr_array(sparse.coo_array((weights, (i, j)), shape=(n, n)))


class Directions(NamedTuple):
    """Edges from some items, and of those in both directions the pair that differs most."""

    n_edges: int
    n_both: int
    gap: float
    pair: tuple[int, int]
    peak: float


def _directions(M: Any, start: int, stop: int) -> Directions:
    n_edges, pattern = int(M.indptr[stop] - M.indptr[start]), with_data(M, np.ones(M.nnz))
    i, j = pattern[start:stop].multiply(pattern.T.tocsr()[start:stop]).nonzero()
    if not len(i):
        return Directions(n_edges, 0, 0.0, (0, 0), 0.0)
    filled, i = fill_from_transpose(M)[0], i + start
    gaps = np.abs(np.asarray(filled[i, j] - filled[j, i]).ravel())
    worst = int(np.argmax(gaps))
    pair = int(i[worst]), int(j[worst])
    return Directions(n_edges, len(i), float(gaps[worst]), pair, abs(filled).max())


def _combination(parts: tuple[Directions, ...], symmetrize: str | None, ids: Array) -> str:
    """Return how the two directions are combined; refuse ambiguous edges."""
    n_single = sum(part.n_edges - part.n_both for part in parts)
    worst = max(parts, key=lambda part: (part.gap, part.n_both))
    if not worst.n_both:
        return "sum"
    is_equal = worst.gap <= asymmetry(np.float64) * max(part.peak for part in parts)
    if not n_single and is_equal:
        return "mean"
    if symmetrize is not None:
        return symmetrize
    a, b = (ids[k] for k in worst.pair)
    if n_single:
        raise ValueError(
            f"{a} and {b} are linked in both directions, but {n_single} other pairs in one only: "
            f"the graph may be directed; {REMEDY}."
        )
    raise ValueError(
        f"{a} to {b} and {b} to {a} have weights that differ by {worst.gap:.6g}, the largest "
        f"difference; {REMEDY}."
    )


def _symmetric_rows(M: Any, combination: str, start: int, stop: int) -> Any:
    """Return rows of the symmetric matrix, NaN for unknown pairs."""
    M, unknown = fill_from_transpose(M)
    rows = combine(M, combination)[start:stop]
    return rows if unknown is None else sparse.csr_array(rows + unknown[start:stop] * np.nan)
