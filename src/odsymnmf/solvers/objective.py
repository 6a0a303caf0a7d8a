"""f_1 and f_2: their values, the gain of a column, the loss from deleting a membership.

f_p(H) = sum over i != j of w_ij |A_ij - h_i . h_j|^p. All pairs have the default weight w0 in a
closed form over what A stores, or pair by pair where its terms would cancel; the exceptions are
added one by one.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf import kernels
from odsymnmf.kernels.rounding import CANCELLED as CANCELLED_SUM
from odsymnmf.similarity import Dense, Gram, Similarity, Sparse
from odsymnmf.similarity.base import clear_diagonal, pair_squares
from odsymnmf.similarity.features import CANCELLED, MAX_PAIRWISE
from odsymnmf.similarity.weights import PairWeights
from odsymnmf.utils import Array, blocks

# Rows whose errors are computed at a time.
ROWS = 16
# Entries of a piece of H.
ENTRIES = 2**22
# Rows of A that are visited pair by pair at a time.
FEW = 128


class Scales(NamedTuple):
    """f = l1 f_1 + l2 f_2."""

    l1: float
    l2: float


class ColumnGain(NamedTuple):
    """By how much f would increase without a column, and the size of the terms of that."""

    value: float
    size: float


def objective(A: Similarity, H: Array, scales: Scales) -> float:
    """Return l1 f_1(H) + l2 f_2(H) for a dense H."""
    value = 0.0
    if scales.l1 > 0:
        value += scales.l1 * _error(A, H, 1)
    if scales.l2 > 0:
        value += scales.l2 * _error(A, H, 2)
    return value


def _error(A: Similarity, H: Array, power: int) -> float:
    w0 = A.weights.default
    value = 0.0
    if w0 > 0:
        value = w0 * (squared_error(A, H) if power == 2 else absolute_error(A, H))
    if A.weights.exceptions is not None:
        value += float(np.sum(listed_errors(A, np.arange(len(H)), H, power)))
    return 0.0 if value < 0.0 else value


def zero_objective(A: Similarity, power: int) -> float:
    """Return f_p(0); pair by pair where the exceptions leave little more of it than rounding."""
    value = _error(A, np.zeros((A.n, 1), dtype=A.dtype), power)
    if A.weights.exceptions is None or float(A.n) ** 2 > MAX_PAIRWISE:
        return value
    w0, P = A.weights.default, A.weights.excess
    listed = float(P.data @ A.weights.exceptions.a**power)
    if value >= CANCELLED_SUM * abs(listed):
        return value
    rows = (np.arange(b.start, b.stop) for b in blocks(A.n, FEW))
    return float(
        sum(np.sum((w0 + P[some].toarray()) * np.abs(A.dense_rows(some)) ** power) for some in rows)
    )


def listed_errors(A: Similarity, items: Array, H: Array, power: int) -> Array:
    """Return for each item the sum of v_ij |A_ij - h_i . h_j|^power over its exceptions."""
    errors = np.empty(len(items))
    kernels.weights.error(items, A.weights.exceptions, H, power, errors)
    return errors


def column_gain(A: Similarity, H: Array, j: int, items: Array, scales: Scales) -> ColumnGain:
    """Return by how much f would increase without column j, nonzero on the items at most."""
    parts = [(scale, power) for scale, power in ((scales.l1, 1), (scales.l2, 2)) if scale > 0]
    found = [(scale, _column_gain(A, H, j, items, power)) for scale, power in parts]
    return ColumnGain(
        sum(scale * part.value for scale, part in found),
        sum(scale * part.size for scale, part in found),
    )


def _column_gain(A: Similarity, H: Array, j: int, items: Array, power: int) -> ColumnGain:
    found = (_column_gain_l1 if power == 1 else _column_gain_l2)(A, H, j, items)
    weights = A.weights
    if weights.exceptions is None:
        return found
    gain, size = kernels.weights.gain(items, weights.exceptions, j, H, power)
    w0 = weights.default
    return ColumnGain(w0 * found.value + gain, w0 * found.size + size)


def _column_gain_l2(A: Similarity, H: Array, j: int, items: Array) -> ColumnGain:
    """sum_{i != k} 2 R_ik x_ik - x_ik^2, with R = A without the other columns, x_ik = H_ij H_kj."""
    column = H[:, j].astype(np.float64)
    h, others = column[items], H[items].astype(np.float64)
    others[:, j] = 0.0
    A_xx = A.quadratic_form(column)
    sums, norms = h @ others, np.einsum("ij,ij->i", others, others)
    explained = float(sums @ sums - h**2 @ norms)
    squares = 2.0 * float(h[1:] ** 2 @ np.cumsum(h**2)[:-1])
    value = 2.0 * (A_xx - explained) - squares
    return ColumnGain(value, 2.0 * (abs(A_xx) + float(sums @ sums)) + squares)


def _column_gain_l1(A: Similarity, H: Array, j: int, items: Array) -> ColumnGain:
    """sum_{i != k} |R_ik| - |R_ik - x_ik|, which is -x_ik where nothing is stored."""
    h = H[items, j].astype(np.float64)
    everywhere = 2.0 * float(h[1:] @ np.cumsum(h)[:-1])
    pieces = A.row_blocks(items)
    stored = float(sum(kernels.l1.stored_gain(some, rows, j, H) for some, rows in pieces))
    return ColumnGain(stored - everywhere, stored + everywhere)


def pair_losses(residuals: Array, scales: Scales) -> Array:
    """Return l1 |e| + l2 e^2 for each residual e."""
    return scales.l1 * np.abs(residuals) + scales.l2 * residuals**2


def clean_columns(H: Array) -> None:
    """Clear columns with one entry, which explain no pair, and balance those with two.

    Neither changes the objective: one entry explains no pair, and (s, t) explains one pair by s t,
    as (sqrt(s t), sqrt(s t)) does. Without this, both can grow without bound.
    """
    counts = _entries(H)
    H[:, counts == 1] = 0
    for l in np.flatnonzero(counts == 2):
        i, j = np.flatnonzero(H[:, l])
        H[i, l] = H[j, l] = np.sqrt(float(H[i, l]) * float(H[j, l]))


def _entries(H: Array) -> Array:
    """Return how many entries each column has, by products with BLAS."""
    pieces = (H[b] > 0 for b in blocks(len(H), 2**12))
    # Counts above 2^24 are inexact, which does not matter.
    return np.asarray(sum(np.ones(len(p), np.float32) @ p.astype(np.float32) for p in pieces))


def deletion_loss(A: Similarity, H: Any, scales: Scales) -> tuple[Array, Array]:
    """Return the increase of f_i without each entry of row i of a CSR H, and f_i at h_i = 0.

    f_i = sum_{j != i} w_ij phi(A_ij - h_i . h_j) with phi(e) = l1 |e| + l2 e^2.
    """
    indptr, data = H.indptr.astype(np.int64), H.data.astype(np.float64)
    indices = H.indices.astype(np.int32, copy=False)
    increase, zero_loss = np.zeros(len(data)), np.zeros(A.n)
    w0, r = float(A.weights.default), H.shape[1]
    # All pairs, as if no similarity were stored.
    if scales.l2 > 0:
        H64 = H.astype(np.float64)
        D = (H64.T @ H64).tocsr()
        D.sort_indices()
        kernels.deletion_loss.unstored_squares(
            indptr, indices, data, D.indptr.astype(np.int64), D.indices, D.data,
            w0 * scales.l2, increase,
        )  # fmt: skip
    if scales.l1 > 0:
        totals = np.bincount(indices, weights=data, minlength=r)
        increase -= w0 * scales.l1 * data * (totals[indices] - data)
    E = kernel_weights(A.weights)
    for items, rows in A.row_blocks(np.arange(A.n)):
        kernels.deletion_loss.stored_pairs(
            items, rows, w0, E, indptr, indices, data, r, scales.l1, scales.l2, increase, zero_loss
        )
    return increase, zero_loss


def kernel_weights(weights: PairWeights) -> Any:
    """Return the exceptions for kernels of a sparse H: arrays of length zero if there are none."""
    E, Exceptions = weights.exceptions, kernels.weights.Exceptions
    if E is None:
        none = np.empty(0, dtype=np.int64)
        return Exceptions(none, none.astype(np.int32), np.empty(0), np.empty(0))
    return Exceptions(E.indptr.astype(np.int64), E.indices.astype(np.int32, copy=False), E.v, E.a)


def recompute_if_cancelled(A: Any, H: Array, value: float, terms: float) -> float:
    """Return the value of a closed form, or the same pair by pair where its terms cancel."""
    if value < CANCELLED * terms and float(A.n) ** 2 * H.shape[1] <= MAX_PAIRWISE:
        return pairwise_error(A, H)
    return 0.0 if value < 0.0 else value


def pairwise_error(A: Any, H: Array) -> float:
    """Return sum_{i != j} (A_ij - h_i . h_j)^2, pair by pair."""
    return float(np.sum(pairwise_errors(A, np.arange(A.n), H)))


def pairwise_errors(A: Any, items: Array, H: Array) -> Array:
    """Return sum_{j != i} (A_ij - h_i . h_j)^2 of each item, pair by pair."""
    H, errors = H.astype(np.float64, copy=False), np.empty(len(items))
    for b in blocks(len(items), ROWS):
        some = items[b]
        residual = A.dense_rows(some)
        residual -= clear_diagonal(H[some] @ H.T, some)
        np.einsum("ij,ij->i", residual, residual, out=errors[b])
    return errors


def squared_error(A: Any, H: Array) -> float:
    """Return sum_{i != j} (A_ij - h_i . h_j)^2."""
    if isinstance(A, Dense):
        return pairwise_error(A, H)
    if isinstance(A, Sparse):
        # p^2 over all pairs, and (A - p)^2 - p^2 over the stored ones, with p_ij = h_i . h_j
        everywhere = pair_squares(H)
        stored, squares = map(np.sum, stored_squares(A, np.arange(A.n), H))
        value, terms = float(everywhere + stored - squares), float(everywhere + stored)
        return recompute_if_cancelled(A, H, value, terms)
    if isinstance(A, Gram):
        H = H.astype(np.float64, copy=False)
        inner, squares = float(np.einsum("ij,ij->", H, A.matmul(H))), pair_squares(H)
        value = A.sum_of_squares - 2.0 * inner + squares
        # The product has contained the diagonal.
        own = float(A.diagonal @ np.einsum("ij,ij->i", H, H))
        return recompute_if_cancelled(A, H, value, A.sum_of_squares + squares + 2.0 * own)
    return float(A.squared_error(H))  # on a cluster


def stored_squares(A: Any, items: Array, H: Array) -> tuple[Array, Array]:
    """Return for each item the sums of (A_ij - p_ij)^2 and of p_ij^2 over its stored pairs."""
    errors, squares, done = np.empty(len(items)), np.empty(len(items)), 0
    for some, rows in A.row_blocks(items):
        here = slice(done, done + len(some))
        kernels.pairs.stored_squares(some, rows, H, errors[here], squares[here])
        done = here.stop
    return errors, squares


def explained(A: Any, H: Array) -> tuple[float, float]:
    """Return sum_{i != j} w_ij A_ij p_ij and sum_{i != j} w_ij p_ij^2, with p_ij = h_i . h_j."""
    if not isinstance(A, Similarity):  # on a cluster
        found: tuple[float, float] = A.explained(H)
        return found
    inner = inner_product(H, A.matmul(H, weighted=True))
    squares = pair_squares(H)
    if A.weights.excess is not None:
        listed = listed_squares(A, np.arange(A.n), H.astype(np.float64, copy=False))
        squares = A.weights.default * squares + float(np.sum(listed))
    return inner, squares


def inner_product(H: Array, V: Array) -> float:
    """Return <H, V> in double precision, over so many rows at a time that each takes a moment."""
    some = blocks(len(H), max(1, ENTRIES // max(1, H.shape[1])))
    return sum(float(np.einsum("ij,ij->", H[b], V[b], dtype=np.float64)) for b in some)


def listed_squares(A: Any, items: Array, H: Array) -> Array:
    """Return for each item the sum of v_ij (h_i . h_j)^2 over its exceptions."""
    P, found = A.weights.excess, np.empty(len(items))
    kernels.weights.squares(items, P.indptr, P.indices, P.data, H, found)
    return found


def absolute_error(A: Any, H: Array) -> float:
    """sum_{i != j} p_ij + sum over stored pairs of |A_ij - p_ij| - p_ij, p_ij = h_i . h_j.

    The first sum is 2 sum_i h_i . (sum of the rows before i), so that no h_i . h_i enters.
    """
    if not isinstance(A, Similarity):  # on a cluster
        return float(A.absolute_error(H))
    return pair_products(H) + float(np.sum(stored_errors(A, np.arange(len(H)), H)))


def pair_products(H: Array) -> float:
    """Return sum_{i != j} h_i . h_j."""
    total, passed = 0.0, np.zeros(H.shape[1])
    for b in blocks(len(H), max(1, ENTRIES // max(1, H.shape[1]))):
        before = np.cumsum(H[b], axis=0, dtype=np.float64) + passed
        total += float(H[b.start] @ passed) + float(np.einsum("ij,ij->", H[b][1:], before[:-1]))
        passed = before[-1]
    return 2.0 * total


def stored_errors(A: Any, items: Array, H: Array) -> Array:
    """Return for each item the sum of |A_ij - p_ij| - p_ij over its stored pairs."""
    errors, done = np.empty(len(items)), 0
    for some, rows in A.row_blocks(items):
        kernels.l1.stored_error(some, rows, H, errors[done : done + len(some)])
        done += len(some)
    return errors
