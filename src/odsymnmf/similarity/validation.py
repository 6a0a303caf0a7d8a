"""Validation of similarities, without a copy if possible."""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odsymnmf.inputs import Dataset, to_similarity_matrix, weights_for
from odsymnmf.similarity.base import Similarity, clear_diagonal
from odsymnmf.similarity.dense import Dense
from odsymnmf.similarity.sparse import Sparse
from odsymnmf.similarity.weights import (
    check_weights,
    combine_layers,
    entry_rows,
    keep_entries,
    largest_difference,
    with_data,
)
from odsymnmf.utils import Array, as_csr, asymmetry, blocks

# Range of the largest |A_ij|: fourth powers of entries of H neither overflow nor vanish.
RANGE = {np.dtype(np.float64): (1e-60, 1e60), np.dtype(np.float32): (1e-12, 1e12)}


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
    if not isinstance(zero_weight, Real) or not 0 <= float(zero_weight) < np.inf:
        raise ValueError(f"zero_weight must be a number >= 0; got {zero_weight!r}.")
    default = float(zero_weight)
    data = Dataset(A, None) if isinstance(A, Similarity) else to_similarity_matrix(A)
    A = S = data.matrix
    if weights is not None:
        weights = weights_for(weights, data.names)
    is_new, unknown = not isinstance(A, Similarity), None
    if is_new:
        shape = np.shape(A)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(
                f"A must be a square matrix of similarities (n x n); got shape {shape}. "
                "For a table of items x features, make similarities first: similarity.cosine(X); "
                "of a list of edges, make a graph: networkx.Graph(edges)."
            )
        if shape[0] == 0:
            raise ValueError("A is empty (0 x 0); there is nothing to factorize.")
        if sparse.issparse(A):
            matrix, diagonal, unknown = clean_rows(A)
            S = Sparse(matrix, diagonal)
        else:
            mask = np.ma.getmask(A)
            A = as_floats(np.asarray(A), "A")
            if np.any(mask):
                A = np.where(mask, np.asarray(np.nan, dtype=A.dtype), A)
            A = A if A.flags.f_contiguous else np.ascontiguousarray(A)
            S, unknown = Dense(A), _unknown_pairs(A)
    layers = [] if weights is None else [check_weights(weights, S.n)]
    if not is_new and (layers or default != 1.0):
        layers.insert(0, S.weights.listed())
    if default != 1.0:
        if S.stored is None:
            raise ValueError(
                f"zero_weight={default} applies to the pairs that a sparse A does not store, but A "
                "has a similarity for every pair. Pass weights=, or A as a sparse matrix."
            )
        layers.insert(0, with_data(S.stored, np.ones(S.stored.nnz)))
    if unknown is not None:
        difference, i, j = largest_difference(unknown, unknown.T)
        if difference > 0:
            refuse_one_sided(i, j)
        layers.append(with_data(unknown, np.zeros(unknown.nnz)))
    if layers:
        S = S.with_weights(combine_layers(S.n, default, *layers))
    if is_new:
        S = _symmetric(S)
    check_range(S)
    return S


def check_range(A: Any) -> None:
    """Refuse similarities whose fourth powers could overflow or vanish."""
    largest, (low, high) = A.max_abs, RANGE[A.dtype]
    if largest == 0 or low <= largest <= high:
        return
    name, where = "A", "|A_ij|"
    if A.n_features is not None:
        name, where = "X", f"|x_i|^2 of item {np.argmax(A.diagonal_rounding)}"
    elif isinstance(A, Similarity):
        entries = A.to_csr().tocoo()
        k = int(np.argmax(np.abs(entries.data)))
        where = f"|A[{entries.row[k]}, {entries.col[k]}]|"
    raise ValueError(
        f"the largest similarity, {where}, is {largest:.6g}; in {A.dtype} it must be from {low:g} "
        f"to {high:g}. Multiply {name} by a power of ten."
    )


def _unknown_pairs(A: Array, first: int = 0) -> Any:
    """Return a CSR array with a one for each pair of full rows that is NaN, or None."""
    pieces = []
    for b in blocks(len(A), 512):
        items = np.arange(b.start, b.stop) + first
        pieces.append(sparse.csr_array(clear_diagonal(np.isnan(A[b]), items), dtype=float))
    unknown = sparse.vstack(pieces, format="csr")
    return unknown if unknown.nnz else None


def refuse_one_sided(i: int, j: int) -> None:
    raise ValueError(
        f"A must be symmetric, but of A[{i}, {j}] and A[{j}, {i}] only one is NaN (unknown). "
        "Set both to NaN, or both to the similarity."
    )


def _symmetric(S: Any) -> Similarity:
    """Return the similarities; refuse infinite entries, and differences of A_ij and A_ji."""
    A = S.A
    if not np.isfinite(S.max_abs):
        refuse_infinite(A)
    if S.stored is not None:
        worst, i, j = largest_difference(A, A.T)
    else:
        worst, i, j = 0.0, 0, 0
        for rows in blocks(len(A), 512):
            for columns in blocks(rows.stop, 512):
                gap, k, l = largest_difference(A[rows, columns], A[columns, rows].T)
                if gap > worst:
                    worst, i, j = gap, k + rows.start, l + columns.start
    if worst > 0:
        refuse_asymmetry(worst, (i, j), (A[i, j], A[j, i]), S.max_abs, S.dtype)
    if S.stored is None and not A.flags.c_contiguous:
        # A symmetric matrix is its own transpose: Fortran order becomes C order without a copy.
        return Dense(A.T, S.weights)
    return S


class CleanRows(NamedTuple):
    """Some rows of A without NaN, and without the diagonal.

    ``unknown`` is a CSR array with a one for each NaN, or None.
    """

    matrix: Any
    diagonal: Array
    unknown: Any


def clean_rows(A: Any, first: int = 0) -> CleanRows:
    """Separate the diagonal and NaN from rows of A; row 0 belongs to item ``first``."""
    if not sparse.issparse(A):
        A = np.array(as_floats(np.asarray(A), "A"), order="C")
        on_diagonal: Any = np.arange(len(A)), np.arange(first, first + len(A))
        diagonal, A[on_diagonal] = A[on_diagonal], 0
        unknown = _unknown_pairs(A, first)
        A[np.isnan(A)] = 0
        return CleanRows(A, diagonal, unknown)
    A = as_csr(A, "A")
    A = with_data(A, as_floats(A.data, "A"))
    items = entry_rows(A)
    on_diagonal = items + first == A.indices
    diagonal = np.zeros(A.shape[0], dtype=A.dtype)
    diagonal[items[on_diagonal]] = A.data[on_diagonal]
    A = keep_entries(A, ~on_diagonal & (A.data != 0))
    del items, on_diagonal
    nan = np.isnan(A.data)
    if not nan.any():
        return CleanRows(A, diagonal, None)
    unknown = keep_entries(A, nan)
    return CleanRows(keep_entries(A, ~nan), diagonal, with_data(unknown, np.ones(unknown.nnz)))


def refuse_infinite(A: Any, first: int = 0) -> None:
    """Refuse infinite entries of rows of A off the diagonal; row 0 belongs to item ``first``."""
    if np.isfinite(A.data if sparse.issparse(A) else A).all():
        return
    A = sparse.coo_array(A)
    k = int(np.argmax(~np.isfinite(A.data) & (A.row + first != A.col)))
    raise ValueError(
        f"A[{first + A.row[k]}, {A.col[k]}] is {A.data[k]}; infinite similarities "
        "cannot be factorized (only on the diagonal are they ignored). Replace it by a number, or "
        "by NaN if the similarity is not known."
    )


def check_features(X: Any) -> Any:
    """Return X as finite CSR or a C-ordered array of floats."""
    if len(np.shape(X)) != 2 or 0 in np.shape(X):
        raise ValueError(f"X must be a table (items x features); got shape {np.shape(X)}.")
    if sparse.issparse(X):
        X = as_csr(X, "X")
        X = with_data(X, as_floats(X.data, "X"))
    else:
        X = np.ascontiguousarray(as_floats(np.asarray(X), "X"))
    if not np.isfinite(X.data if sparse.issparse(X) else X).all():
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


def refuse_asymmetry(
    worst: float, where: tuple[int, int], values: tuple[Any, Any], peak: float, dtype: Any
) -> None:
    """Refuse a difference of A_ij and A_ji that is larger than rounding."""
    if worst > asymmetry(dtype) * peak:
        i, j = where
        raise ValueError(
            f"A must be symmetric, but A[{i}, {j}] = {values[0]} and A[{j}, {i}] = "
            f"{values[1]} differ by {worst:.6g}, the largest difference. "
            "Use (A + A.T) / 2; for links in either direction, A.maximum(A.T) if A is sparse and "
            "np.maximum(A, A.T) if not. (Are rows and columns in the same order?)"
        )
