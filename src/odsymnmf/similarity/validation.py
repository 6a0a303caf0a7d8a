"""Validation of similarities, and wrapping without a copy where none is needed."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odsymnmf import kernels
from odsymnmf.inputs import to_similarity_matrix, weights_for
from odsymnmf.similarity.base import Similarity
from odsymnmf.similarity.dense import Dense
from odsymnmf.similarity.features import Gram
from odsymnmf.similarity.sparse import Sparse
from odsymnmf.similarity.weights import (
    PairWeights,
    check_weights,
    check_zero_weight,
    combine_layers,
    keep_entries,
    lookup_csr,
)
from odsymnmf.utils import Array, as_csr, asymmetry, blocks


def as_similarity(A: Any, weights: Any = None, zero_weight: float = 1.0) -> Similarity:
    """Validate A and the weights of its pairs, and wrap A without a copy where possible.

    Parameters
    ----------
    A : array-like, sparse, graph, DataFrame, AnnData (`odsymnmf.inputs`), or a similarity already
        Symmetric, n x n. float32 and float64 are kept, bool and int become float64. The diagonal
        is ignored. NaN off the diagonal, or a masked entry, is an unknown pair.
    weights : array-like or sparse of shape (n, n), optional
        Weights of the pairs, symmetric and >= 0; 0 is an unknown pair. A pair that sparse weights
        do not store keeps its default weight.
    zero_weight : float, default=1.0
        Weight of the pairs that a sparse A does not store.

    Returns
    -------
    Dense, Sparse or Gram

    Examples
    --------
    >>> as_similarity([[0, 1], [1, 0]]).n
    2
    >>> import numpy as np
    >>> A = as_similarity([[0, 1, np.nan], [1, 0, 1], [np.nan, 1, 0]])
    >>> A.weights.excess.nnz
    2
    """
    default = check_zero_weight(zero_weight)
    if isinstance(A, Similarity):
        if weights is None and default == 1.0:
            return A
        return _reweighted(A, check_weights(weights_for(weights, None), A.n), default)
    data = to_similarity_matrix(A)
    A, weights = data.matrix, weights_for(weights, data.names)
    shape = np.shape(A)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"A must be a square matrix of similarities (n x n); got shape {shape}. "
            "For a table of items x features, make similarities first: similarity.cosine(X); of a "
            "list of edges, make a graph: networkx.Graph(edges)."
        )
    if shape[0] == 0:
        raise ValueError("A is empty (0 x 0); there is nothing to factorize.")
    W = check_weights(weights, shape[0])
    if sparse.issparse(A):
        return _as_sparse(A, W, default)
    return _as_dense(A, W, default)


def _reweighted(A: Similarity, W: Any, default: float) -> Similarity:
    """Return A with other weights; where it has some already, the new ones come on top."""
    P = A.weights.excess
    if P is not None:
        P = sparse.csr_array((P.data + A.weights.default, P.indices, P.indptr), shape=P.shape)
    if isinstance(A, Sparse):
        return _weighted_sparse(A.A, A.diagonal, default, P, W)
    _refuse_zero_weight(default)
    if isinstance(A, Dense):
        return _weighted_dense(A.A, P, W)
    assert isinstance(A, Gram)
    w0, excess = combine_layers(A.n, 1.0, P, W)
    values = None if excess is None else _products(A.X, excess)
    return A.with_weights(PairWeights(w0, excess, values))


def _products(X: Any, excess: Any) -> Array:
    """Return x_i . x_j for the pairs of a excess."""
    values = np.empty(excess.nnz)
    rows = np.repeat(np.arange(excess.shape[0]), np.diff(excess.indptr))
    for b in blocks(excess.nnz, 2**16):
        here, there = X[rows[b]], X[excess.indices[b]]
        product = here.multiply(there) if sparse.issparse(X) else here * there
        values[b] = np.asarray(product.sum(axis=1, dtype=np.float64)).ravel()
    return values


def _refuse_zero_weight(default: float) -> None:
    if default != 1.0:
        raise ValueError(
            f"zero_weight={default} applies to the pairs that a sparse A does not store, but A has "
            "a similarity for every pair. Pass weights=, or A as a sparse matrix."
        )


def _as_dense(A: Any, W: Any, default: float) -> Dense:
    _refuse_zero_weight(default)
    mask = getattr(A, "mask", np.False_) if isinstance(A, np.ma.MaskedArray) else np.False_
    A = as_floats(np.asarray(A), "A")
    if np.any(mask):
        A = np.where(mask, np.asarray(np.nan, dtype=A.dtype), A)
    if not (A.flags.c_contiguous or A.flags.f_contiguous):
        A = np.ascontiguousarray(A)
    unknown = _unknown_pairs(A)
    _check_unknown(unknown)
    found = Dense(A) if unknown is None and W is None else _weighted_dense(A, W, unknown)
    _check_dense(found.A)
    # A symmetric matrix is its own transpose: Fortran order becomes C order without a copy.
    return found if found.A.flags.c_contiguous else Dense(found.A.T, found.weights)


def _unknown_pairs(A: Array, first: int = 0) -> Any:
    """Return the pairs of full rows that are NaN, as CSR with weight 0, or None."""
    pieces = []
    for b in blocks(len(A), 512):
        unknown = np.isnan(A[b])
        own = np.arange(b.start, b.stop)
        unknown[own - b.start, own + first] = False
        pieces.append(sparse.csr_array(unknown))
    if not any(piece.nnz for piece in pieces):
        return None
    where = sparse.vstack(pieces, format="csr")
    where.sort_indices()
    zeros = np.zeros(where.nnz)
    return sparse.csr_array((zeros, where.indices, where.indptr), shape=where.shape)


def _weighted_dense(A: Array, *layers: Any) -> Dense:
    """Return a full matrix with weights; unknown pairs hold zeros, in a copy."""
    n = len(A)
    w0, excess = combine_layers(n, 1.0, *layers)
    if excess is None and w0 == 1.0:
        return Dense(A)
    A = _without_unknown(A, *layers)
    if excess is None:  # no pair is known
        return Dense(A, PairWeights(w0))
    rows = np.repeat(np.arange(n), np.diff(excess.indptr))
    return Dense(A, PairWeights(w0, excess, A[rows, excess.indices].astype(np.float64)))


def _without_unknown(A: Array, *layers: Any) -> Array:
    """Return a copy of A with zeros where the last layer that has the pair gives it weight 0."""
    A = A.copy(order="K")
    n = len(A)
    weight = np.ones((n, n), dtype=np.float32)
    for layer in layers:
        if layer is not None:
            weight[np.repeat(np.arange(n), np.diff(layer.indptr)), layer.indices] = layer.data
    A[weight == 0] = 0
    return A


def _check_unknown(unknown: Any) -> None:
    """Refuse a pair that is NaN on one side only."""
    if unknown is None:
        return
    one_sided = (_pattern(unknown) - _pattern(unknown.T.tocsr())).tocoo()
    bad = np.flatnonzero(one_sided.data)
    if bad.size:
        refuse_one_sided(int(one_sided.row[bad[0]]), int(one_sided.col[bad[0]]))


def refuse_one_sided(i: int, j: int) -> None:
    raise ValueError(
        f"A must be symmetric, but of A[{i}, {j}] and A[{j}, {i}] only one is NaN (unknown). "
        "Set both to NaN, or both to the similarity."
    )


def _pattern(A: Any) -> Any:
    return sparse.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)


def _check_dense(A: Array) -> None:
    worst, where = 0.0, (0, 0)
    for rows in blocks(len(A), 512):
        for columns in blocks(rows.stop, 512):
            here, there = A[rows, columns], A[columns, rows].T
            if rows == columns:
                here = here.copy()
                np.fill_diagonal(here, 0)
                there = here.T
            largest, i, j = largest_difference(here, there)
            if not np.isfinite(largest):
                _refuse_nonfinite(here, rows.start, columns.start)
                _refuse_nonfinite(there.T, columns.start, rows.start)
            if largest > worst:
                worst = largest
                where = (i + rows.start, j + columns.start)
    if worst > 0.0:
        refuse_asymmetry(worst, where, (A[where], A[where[::-1]]), Dense(A).max_abs, A.dtype)


class CleanRows(NamedTuple):
    """Some rows of A without NaN, and without the diagonal.

    ``unknown`` is a CSR array with a zero for each NaN, or None.
    """

    matrix: Any
    diagonal: Array
    unknown: Any


def clean_rows(A: Any, first: int = 0) -> CleanRows:
    """Separate the diagonal and NaN from rows of A; row 0 belongs to item ``first``."""
    if not sparse.issparse(A):
        return _clean_dense_rows(A, first)
    A = with_int32_indices(as_csr(A, "A"))
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    data = as_floats(A.data, "A")
    A = sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)
    items = np.repeat(np.arange(A.shape[0], dtype=A.indices.dtype), np.diff(A.indptr))
    own = items + first == A.indices
    diagonal = np.zeros(A.shape[0], dtype=data.dtype)
    diagonal[items[own]] = data[own]
    A = keep_entries(A, ~(own | (data == 0)))
    del items, own
    unknown = None
    nan = np.isnan(A.data)
    if nan.any():
        unknown = keep_entries(A, nan)
        unknown = sparse.csr_array(
            (np.zeros(unknown.nnz), unknown.indices, unknown.indptr), A.shape
        )
        A = keep_entries(A, ~nan)
    return CleanRows(A, diagonal, unknown)


def _clean_dense_rows(A: Any, first: int) -> CleanRows:
    A = np.array(as_floats(np.asarray(A), "A"), order="C")
    own = np.arange(len(A)), np.arange(first, first + len(A))
    diagonal, A[own] = A[own], 0
    unknown = _unknown_pairs(A, first)
    A[np.isnan(A)] = 0
    return CleanRows(A, diagonal, unknown)


def refuse_infinite(A: Any, first: int = 0) -> None:
    """Refuse infinite entries in rows of A; row 0 belongs to item ``first``."""
    if not sparse.issparse(A):
        _refuse_nonfinite(A, first, 0)
        return
    bad = np.flatnonzero(~np.isfinite(A.data))
    if bad.size:
        i = int(np.searchsorted(A.indptr, bad[0], side="right")) - 1
        refuse_value(A.data[bad[0]], first + i, int(A.indices[bad[0]]))


def largest_difference(here: Any, there: Any) -> tuple[float, int, int]:
    """Return the largest |here_ij - there_ij| with i and j; ``there`` is a block of A^T."""
    if sparse.issparse(here):
        both = sparse.block_array([[None, here], [there.T, None]], format="csr")
        both.sum_duplicates()
        gap, i, j = _worst_asymmetry(both)
        row, column = min(i, j), max(i, j)
        return (gap, row, column - here.shape[0]) if gap else (0.0, 0, 0)
    with np.errstate(invalid="ignore"):  # inf - inf
        difference = np.abs(here - there)
    row, column = divmod(int(np.argmax(difference)), difference.shape[1])
    return float(difference[row, column]), row, column


def _worst_asymmetry(A: Any) -> tuple[float, int, int]:
    """Return the largest |A_ij - A_ji| of a CSR array, with i and j."""
    n, met = A.shape[0], A.indptr.copy()
    found: tuple[float, int, int]
    found = kernels.checks.worst_asymmetry(A.indptr, A.indices, A.data, met, 0, n)
    return found


def _as_sparse(A: Any, W: Any, default: float) -> Sparse:
    rows = clean_rows(A)
    found = _weighted_sparse(rows.matrix, rows.diagonal, default, W, rows.unknown)
    _check_unknown(rows.unknown)
    A = found.A
    refuse_infinite(A)
    worst, i, j = _worst_asymmetry(A)
    peak = float(np.abs(A.data).max(initial=0.0))
    if worst:
        refuse_asymmetry(worst, (i, j), (A[i, j], A[j, i]), peak, A.dtype)
    return found


def _weighted_sparse(A: Any, diagonal: Array, default: float, *layers: Any) -> Sparse:
    """Return a sparse matrix with weights; unknown pairs are not stored."""
    stored = None
    if default != 1.0:
        stored = sparse.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    w0, excess = combine_layers(A.shape[0], default, stored, *layers)
    if excess is None:
        return Sparse(A if w0 > 0 else A * 0, diagonal, PairWeights(w0))
    W = sparse.csr_array((excess.data + w0, excess.indices, excess.indptr), shape=A.shape)
    keep = lookup_csr(A, W, missing=w0) != 0
    A = keep_entries(A, keep)
    return Sparse(A, diagonal, PairWeights(w0, excess, lookup_csr(excess, A, missing=0.0)))


def with_int32_indices(A: Any) -> Any:
    """Return a CSR array with int32 indices where they suffice: kernels are compiled for these."""
    if A.indices.dtype == np.int32 == A.indptr.dtype or max(A.nnz, *A.shape) >= 2**31:
        return A
    indices, indptr = A.indices.astype(np.int32), A.indptr.astype(np.int32)
    found = sparse.csr_array((A.data, indices, indptr), shape=A.shape)
    found.has_sorted_indices = A.has_sorted_indices
    return found


def check_features(X: Any) -> Any:
    """Return X as finite CSR or a C-ordered array of floats."""
    if len(np.shape(X)) != 2 or 0 in np.shape(X):
        raise ValueError(f"X must be a table (items x features); got shape {np.shape(X)}.")
    if sparse.issparse(X):
        X = with_int32_indices(as_csr(X, "X"))
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        X = sparse.csr_array((as_floats(X.data, "X"), X.indices, X.indptr), shape=X.shape)
        values = X.data
    else:
        values = X = np.ascontiguousarray(as_floats(np.asarray(X), "X"))
    if not np.isfinite(values).all():
        raise ValueError("X holds NaN or infinite values; remove or fill them first.")
    return X


def as_floats(values: Array, name: str) -> Array:
    """Keep float32 and float64, convert other real numbers, refuse the rest."""
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype == np.float16:
        return values.astype(np.float32)
    if values.dtype.kind == "c":
        raise ValueError(f"{name} holds complex numbers; similarities must be real.")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers; got dtype {values.dtype}: {error}.") from None


def _refuse_nonfinite(piece: Array, row: int, column: int) -> None:
    if not np.isfinite(piece).all():
        i, j = np.argwhere(~np.isfinite(piece))[0]
        refuse_value(piece[i, j], row + int(i), column + int(j))


def refuse_value(value: Any, i: int, j: int) -> None:
    raise ValueError(
        f"A[{i}, {j}] is {value}; infinite similarities cannot be factorized (only on the diagonal "
        "are they ignored). Replace it by a number, or by NaN if the similarity is not known."
    )


def refuse_asymmetry(
    worst: float, where: tuple[int, int], values: tuple[Any, Any], peak: float, dtype: Any
) -> None:
    """Rounding may differ between A_ij and A_ji; more than that is not a similarity."""
    if worst > asymmetry(dtype) * peak:
        i, j = where
        raise ValueError(
            f"A must be symmetric, but A[{i}, {j}] = {values[0]} and A[{j}, {i}] = "
            f"{values[1]} differ by {worst:.6g}, the largest difference. "
            "Use (A + A.T) / 2; for links in either direction, A.maximum(A.T) if A is sparse and "
            "np.maximum(A, A.T) if not. (Are rows and columns in the same order?)"
        )
