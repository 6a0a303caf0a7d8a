"""What comes in: checked, and wrapped without a copy where none is needed."""

from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf import kernels
from odsymnmf.arrays import Array, as_csr, asymmetry, blocks
from odsymnmf.inputs import similarities, weights_for
from odsymnmf.problem.blocking import without_diagonal
from odsymnmf.problem.kinds import Dense, Gram, Similarity, Sparse
from odsymnmf.problem.weights import (
    Weights,
    check_background,
    checked,
    exceptions,
    keep_entries,
    looked_up,
)

# Entries of a piece.
ENTRIES = 2**22


def as_similarity(A: Any, weights: Any = None, zero_weight: float = 1.0) -> Similarity:
    """Check A and what its pairs weigh, and wrap it, without a copy where none is needed.

    Parameters
    ----------
    A : array-like, sparse, graph, DataFrame, AnnData (`odsymnmf.inputs`), or a similarity already
        Symmetric, n x n. float32 and float64 are kept, bool and whole numbers become float64.
        The diagonal is not looked at. NaN off the diagonal, or a masked entry, is an unknown pair.
    weights : array-like or sparse of shape (n, n), optional
        What every pair weighs, symmetric and >= 0; 0 is an unknown pair. A pair that sparse
        weights do not store keeps its ordinary weight.
    zero_weight : float, default=1.0
        What a pair weighs that a sparse A does not store.

    Returns
    -------
    Dense, Sparse or Gram

    Examples
    --------
    >>> as_similarity([[0, 1], [1, 0]]).n
    2
    >>> import numpy as np
    >>> A = as_similarity([[0, 1, np.nan], [1, 0, 1], [np.nan, 1, 0]])
    >>> A.weights.pattern.nnz
    2
    """
    background = check_background(zero_weight)
    if isinstance(A, Dense | Sparse | Gram):
        if weights is None and background == 1.0:
            return A
        return _reweighted(A, checked(weights_for(weights, None), A.n), background)
    A, names = similarities(A)
    weights = weights_for(weights, names)
    shape = np.shape(A)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"A must be a square matrix of similarities (n x n); got shape {shape}. "
            "For a table of items x features, make similarities first: similarity.cosine(X); of a "
            "list of edges, make a graph: networkx.Graph(edges)."
        )
    if shape[0] == 0:
        raise ValueError("A is empty (0 x 0); there is nothing to factorize.")
    W = checked(weights, shape[0])
    if sparse.issparse(A):
        return _as_sparse(A, W, background)
    return _as_dense(A, W, background)


def _reweighted(A: Similarity, W: Any, background: float) -> Similarity:
    """Return A with other weights; where it has some already, the new ones come on top."""
    P = A.weights.pattern
    if P is not None:
        P = sparse.csr_array((P.data + A.weights.background, P.indices, P.indptr), shape=P.shape)
    if isinstance(A, Sparse):
        return _weighted_sparse(A.A, A.diagonal, background, P, W)
    _refuse_background(background)
    if isinstance(A, Dense):
        return _weighted_dense(A.A, P, W)
    w0, pattern = exceptions(A.n, 1.0, P, W)
    values = None if pattern is None else _products(A.X, pattern)
    return A.reweighted(Weights(w0, pattern, values))


def _products(X: Any, pattern: Any) -> Array:
    """Return x_i . x_j for the pairs of a pattern."""
    values = np.empty(pattern.nnz)
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    for b in blocks(pattern.nnz, 2**16):
        here, there = X[rows[b]], X[pattern.indices[b]]
        product = here.multiply(there) if sparse.issparse(X) else here * there
        values[b] = np.asarray(product.sum(axis=1, dtype=np.float64)).ravel()
    return values


def _refuse_background(background: float) -> None:
    if background != 1.0:
        raise ValueError(
            f"zero_weight={background} is what pairs weigh that a sparse A does not store, but "
            "this A has a similarity for every pair; give weights=, or A as a sparse matrix."
        )


def _as_dense(A: Any, W: Any, background: float) -> Dense:
    _refuse_background(background)
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
    # A symmetric matrix is its own transpose: rows that lie together are had for nothing.
    return found if found.A.flags.c_contiguous else Dense(found.A.T, found.weights)


def _unknown_pairs(A: Array) -> Any:
    """Return the pairs of a full matrix that are NaN, as CSR with weight 0, or None."""
    pieces = []
    for b in blocks(len(A), 512):
        unknown = np.isnan(A[b])
        unknown[np.arange(len(unknown)), np.arange(b.start, b.stop)] = False
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
    w0, pattern = exceptions(n, 1.0, *layers)
    if pattern is None and w0 == 1.0:
        return Dense(A)
    A = _without_unknown(A, *layers)
    if pattern is None:  # no pair is known
        return Dense(A, Weights(w0))
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    return Dense(A, Weights(w0, pattern, A[rows, pattern.indices].astype(np.float64)))


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
        i, j = int(one_sided.row[bad[0]]), int(one_sided.col[bad[0]])
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
            with np.errstate(invalid="ignore"):  # inf - inf: what is not finite shows below
                difference = np.abs(here - there)
            largest = float(difference.max())
            if not np.isfinite(largest):
                _refuse_nonfinite(here, rows.start, columns.start)
                _refuse_nonfinite(there.T, columns.start, rows.start)
            if largest > worst:
                worst = largest
                i, j = np.unravel_index(np.argmax(difference), difference.shape)
                where = (int(i) + rows.start, int(j) + columns.start)
    if worst > 0.0:
        peak = max(float(np.abs(without_diagonal(A, b)).max()) for b in blocks(len(A), 256))
        _refuse_asymmetry(worst, where, peak, A.dtype, lambda i, j: A[i, j])


def _as_sparse(A: Any, W: Any, background: float) -> Sparse:
    A = as_csr(A, "A")
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    data = as_floats(A.data, "A")
    A = sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)
    n = A.shape[0]
    items = np.repeat(np.arange(n, dtype=A.indices.dtype), np.diff(A.indptr))
    own = items == A.indices
    diagonal = np.zeros(n, dtype=data.dtype)
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
    found = _weighted_sparse(A, diagonal, background, W, unknown)
    _check_unknown(unknown)
    A = found.A
    bad = np.flatnonzero(~np.isfinite(A.data))
    if bad.size:
        i = int(np.searchsorted(A.indptr, bad[0], side="right")) - 1
        refuse_value(A.data[bad[0]], i, int(A.indices[bad[0]]))
    worst, i, j = _worst_asymmetry(A)
    peak = float(np.abs(A.data).max(initial=0.0))
    _refuse_asymmetry(worst, (i, j), peak, A.dtype, lambda i, j: A[i, j])
    return found


def _worst_asymmetry(A: Any) -> tuple[float, int, int]:
    """Return the largest |A_ij - A_ji| and where, in pieces that Ctrl-C need not wait for."""
    worst, met, n = (0.0, -1, -1), A.indptr.copy(), A.shape[0]
    for b in blocks(n, max(1, ENTRIES * n // max(1, A.nnz))):
        found = kernels.checks.worst_asymmetry(A.indptr, A.indices, A.data, met, b.start, b.stop)
        worst = max(worst, found, key=lambda one: one[0])
    return worst


def _weighted_sparse(A: Any, diagonal: Array, background: float, *layers: Any) -> Sparse:
    """Return a sparse matrix with weights; unknown pairs are not stored."""
    stored = None
    if background != 1.0:
        stored = sparse.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    w0, pattern = exceptions(A.shape[0], background, stored, *layers)
    if pattern is None:
        return Sparse(A if w0 > 0 else A * 0, diagonal, Weights(w0))
    W = sparse.csr_array((pattern.data + w0, pattern.indices, pattern.indptr), shape=A.shape)
    keep = looked_up(A, W, missing=w0) != 0
    A = keep_entries(A, keep)
    return Sparse(A, diagonal, Weights(w0, pattern, looked_up(pattern, A, missing=0.0)))


def features(X: Any) -> Any:
    """Return X as finite CSR or C-ordered floats."""
    if len(np.shape(X)) != 2 or 0 in np.shape(X):
        raise ValueError(f"X must be a table (items x features); got shape {np.shape(X)}.")
    if sparse.issparse(X):
        X = as_csr(X, "X")
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


def _refuse_asymmetry(
    worst: float, where: tuple[int, int], peak: float, dtype: Any, entry: Any
) -> None:
    """Rounding may differ between A_ij and A_ji; more than that is not a similarity."""
    if worst > asymmetry(dtype) * peak:
        i, j = where
        raise ValueError(
            f"A must be symmetric, but A[{i}, {j}] = {entry(i, j)} and A[{j}, {i}] = "
            f"{entry(j, i)} differ by {worst:.6g}, the largest difference. "
            "Use (A + A.T) / 2; for links in either direction, A.maximum(A.T) if A is sparse and "
            "np.maximum(A, A.T) if not. (Are rows and columns in the same order?)"
        )
