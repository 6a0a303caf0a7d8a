"""What workers do with blocks of rows: clean them, look at them, cut tiles out of them."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.distributed.parts import Piece
from odsymnmf.problem.blocking import row_squares, scaled_rows
from odsymnmf.problem.checks import as_floats, refuse_value
from odsymnmf.problem.weights import keep_entries


class Block(NamedTuple):
    """Some rows of A, cleaned.

    Attributes
    ----------
    matrix : csr_array or ndarray
        Without unknown pairs; of a sparse A also without the diagonal, sorted, without zeros.
    diagonal : ndarray
    unknown : csr_array or None
    """

    matrix: Any
    diagonal: Array
    unknown: Any = None


class Look(NamedTuple):
    """What is to be known of some rows, or of all.

    Attributes
    ----------
    sparse : bool
    dtype : dtype
    stored, unknown : int
        Entries, and unknown pairs, in both directions.
    filled : int
        Entries that are not zero.
    low, high, least : float
        The smallest and the largest entry, and the smallest above zero, off the diagonal.
    diagonal, counts, degrees, sums, squares : ndarray
        For each item A_ii, how many entries it has, sum_j |A_ij|, sum_j A_ij and sum_j A_ij^2,
        j != i.
    there, bad : ndarray
        sum_j A_ij x_j for numbers x, and the same of the unknown pairs.
    """

    sparse: bool
    dtype: Any
    stored: int
    unknown: int
    filled: int
    low: float
    high: float
    least: float
    diagonal: Array
    counts: Array
    degrees: Array
    sums: Array
    squares: Array
    there: Array
    bad: Array


def clean_block(pieces: list[Any], start: int) -> Block:
    """Put the columns of some rows together; take the diagonal and unknown pairs out."""
    if any(sparse.issparse(piece) for piece in pieces):
        return _clean_sparse(sparse.hstack(pieces, format="csr"), start)
    A = np.ascontiguousarray(as_floats(np.hstack([np.asarray(p) for p in pieces]), "A"))
    rows = np.arange(len(A))
    diagonal = A[rows, start + rows].copy()
    off = A.copy()
    off[rows, start + rows] = 0
    bad = np.argwhere(np.isinf(off))
    if len(bad):
        i, j = bad[0]
        refuse_value(A[i, j], start + int(i), int(j))
    unknown = np.isnan(off)
    if not unknown.any():
        return Block(off, diagonal)
    off[unknown] = 0
    return Block(off, diagonal, sparse.csr_array(unknown.astype(np.float64)))


def _clean_sparse(A: Any, start: int) -> Block:
    A = sparse.csr_array(A)
    A.sum_duplicates()
    data = as_floats(A.data, "A")
    A = sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    own = rows + start == A.indices
    diagonal = np.zeros(A.shape[0], dtype=data.dtype)
    diagonal[rows[own]] = data[own]
    bad = np.flatnonzero(np.isinf(data) & ~own)
    if bad.size:
        refuse_value(data[bad[0]], start + int(rows[bad[0]]), int(A.indices[bad[0]]))
    nan = np.isnan(data) & ~own
    unknown = keep_entries(A, nan) if nan.any() else None
    if unknown is not None:
        unknown = sparse.csr_array(
            (np.ones(unknown.nnz), unknown.indices, unknown.indptr), shape=A.shape
        )
    return Block(keep_entries(A, ~(own | (data == 0) | nan)), diagonal, unknown)


def features_block(pieces: list[Any], start: int, cosine: bool) -> Block:
    """Put the features of some items together; for cosines, each row has length one."""
    from odsymnmf.problem.checks import features

    is_sparse = any(sparse.issparse(piece) for piece in pieces)
    X = features(sparse.hstack(pieces, format="csr") if is_sparse else np.hstack(pieces))
    if cosine:
        lengths = np.sqrt(row_squares(X))
        inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        X = scaled_rows(X, inverse.astype(X.dtype))
    return Block(X, row_squares(X))


def look_at(block: Block, start: int, n: int, features: bool) -> tuple[Look, tuple[Array, Array]]:
    """Look at some rows once; return what its columns add to A^T x, too."""
    M, diagonal, unknown = block
    is_sparse = sparse.issparse(M)
    values = M.data if is_sparse else M
    x = marks(n)
    rows = M.shape[0]
    none = np.zeros(rows)
    there, bad, here, bad_here = none, none, np.zeros(0), np.zeros(0)
    if not features:
        there = np.asarray(M @ x)
        here = np.asarray(M.T @ x[start : start + rows])
        bad_here = np.zeros(n)
        if unknown is not None:
            bad, bad_here = unknown @ x, unknown.T @ x[start : start + rows]
    least = values[values > 0].min(initial=np.inf) if values.size else np.inf
    ones = np.ones(M.shape[1], dtype=M.dtype)
    if is_sparse:
        places = np.repeat(np.arange(rows), np.diff(M.indptr))
        degrees = np.bincount(places, weights=np.abs(M.data), minlength=rows)
    else:
        degrees = np.abs(M).sum(axis=1, dtype=np.float64)
    found = Look(
        bool(is_sparse),
        M.dtype,
        int(M.nnz if is_sparse else M.size),
        0 if unknown is None else int(unknown.nnz),
        int(np.count_nonzero(values)),
        float(values.min(initial=0.0)),
        float(values.max(initial=0.0)),
        float(least),
        diagonal,
        np.diff(M.indptr) if is_sparse else np.full(rows, M.shape[1]),
        degrees,
        np.asarray(M @ ones, dtype=np.float64).ravel(),
        row_squares(M),
        there,
        bad,
    )
    return found, (here, bad_here)


def marks(n: int) -> Array:
    """Return numbers of both signs, none near zero, always the same ones."""
    rng = np.random.default_rng(0)
    return rng.uniform(0.5, 1.5, n) * rng.choice([-1.0, 1.0], n)


def first_of(pair: tuple[Any, Any]) -> Any:
    """Return what was found of the rows."""
    return pair[0]


def add_columns(pairs: list[Any]) -> tuple[Array, Array]:
    """Add up what some blocks say of the columns."""
    columns = [pair[1] if isinstance(pair[0], Look) else pair for pair in pairs]
    here, bad = zip(*columns, strict=True)
    return np.sum(here, axis=0), np.sum(bad, axis=0)


def joined(looks: list[Look]) -> Look:
    """Return what was found of all rows, in their order."""
    kinds = {look.sparse for look in looks}
    if len(kinds) > 1:
        raise ValueError(
            "some blocks of A are sparse and some are not; make all of them CSR, for example with "
            "A.map_blocks(scipy.sparse.csr_array)."
        )
    extremes: dict[str, Any] = {
        "low": min,
        "high": max,
        "least": min,
        "stored": sum,
        "unknown": sum,
        "filled": sum,
    }
    found: dict[str, Any] = {
        name: how(getattr(look, name) for look in looks) for name, how in extremes.items()
    }
    found |= {"sparse": kinds.pop(), "dtype": np.result_type(*(look.dtype for look in looks))}
    for name in set(Look._fields) - set(found):
        found[name] = np.concatenate([getattr(look, name) for look in looks])
    return Look(**found)


def check_symmetric(seen: Look, here: Array, bad: Array) -> None:
    """Refuse A unless A x = A^T x; and likewise for the unknown pairs.

    Where A_ij and A_ji differ by rounding, as they may, so do these sums, by its square root times
    the number of terms.
    """
    n = len(here)
    if 2 * seen.unknown > n * (n - 1):
        raise ValueError(
            "more than half of all pairs are unknown (NaN); on a cluster the known ones must be "
            "most. Fit it on one machine: factorize(A.compute(), ...)."
        )
    peak = max(-seen.low, seen.high)
    allowed = 4.0 * np.sqrt(np.finfo(seen.dtype).eps * (seen.counts + 1.0)) * peak
    for rows, columns, limit, what in (
        (seen.there, here, allowed, "similarities"),
        (seen.bad, bad, np.full(n, 0.1), "unknown pairs (NaN)"),
    ):
        gap = np.abs(rows - columns)
        wrong = gap - limit
        if (wrong > 0).any():
            k = int(np.argmax(wrong))
            raise ValueError(
                f"A must be symmetric, but row {k} and column {k} hold different {what}. Use "
                "(A + A.T) / 2, or give every pair in both directions. (Are rows and columns in "
                "the same order?)"
            )


def tile_of(
    blocks: list[Block],
    starts: tuple[int, ...],
    tile: slice,
    dtype: Any,
    roots: Array | None,
    features: bool,
) -> Piece:
    """Return the rows of a tile, taken from the blocks that they lie in."""
    rows, unknown = [], []
    for block, start in zip(blocks, starts, strict=True):
        some = slice(max(0, tile.start - start), tile.stop - start)
        rows.append(block.matrix[some])
        if block.unknown is not None:
            unknown.append(block.unknown[some])
        else:
            unknown.append(sparse.csr_array(rows[-1].shape))
    if isinstance(rows[0], np.ndarray):
        M: Any = np.ascontiguousarray(np.concatenate(rows), dtype=dtype)
    else:
        M = sparse.vstack(rows, format="csr").astype(dtype)
    if roots is not None:
        M = scaled_rows(M, roots[tile])
        if not features and sparse.issparse(M):
            M.data *= roots[M.indices]
        elif not features:
            M *= roots
    listed = sparse.vstack(unknown, format="csr") if any(u.nnz for u in unknown) else None
    return Piece(tile.start, M, listed)


def columns_of(piece: Piece, own: Array) -> Piece:
    """Return some columns of a tile's rows: of a sparse matrix in their places, else together."""
    M = piece.matrix
    if isinstance(M, np.ndarray):
        return Piece(piece.start, np.ascontiguousarray(M[:, own]))
    wanted = np.zeros(M.shape[1], dtype=bool)
    wanted[own] = True
    return Piece(piece.start, keep_entries(M, wanted[M.indices]))


def as_given(block: Block, start: int) -> Any:
    """Return rows as they were before they were cleaned."""
    M = block.matrix.copy()
    rows = np.arange(M.shape[0])
    if isinstance(M, np.ndarray):
        M[rows, start + rows] = block.diagonal
        if block.unknown is not None:
            coo = block.unknown.tocoo()
            M[coo.row, coo.col] = np.nan
        return M
    own = sparse.csr_array((block.diagonal, (rows, start + rows)), shape=M.shape)
    M = M + own
    if block.unknown is not None:
        M = M + block.unknown * np.asarray(np.nan, dtype=M.dtype)
    return sparse.csr_array(M)
