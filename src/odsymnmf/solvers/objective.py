"""f_1 and f_2: their values, the gain of a column, the loss from deleting a membership.

f_p(H) = sum over i != j of w_ij |A_ij - h_i . h_j|^p. A similarity computes the sum over all pairs
with the default weight w0; the exceptions are added one by one.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf import kernels
from odsymnmf.kernels.rows import CANCELLED
from odsymnmf.similarity import Similarity
from odsymnmf.similarity.base import MAX_PAIRWISE
from odsymnmf.similarity.weights import PairWeights
from odsymnmf.utils import Array, blocks


class Scales(NamedTuple):
    """f = l1 f_1 + l2 f_2."""

    l1: float
    l2: float


class ColumnGain(NamedTuple):
    """The increase of f if a column were removed, and the sum of absolute values of its terms."""

    value: float
    size: float


def error(A: Similarity, H: Array, power: int) -> float:
    """Return f_p(H)."""
    w0, value = A.weights.default, 0.0
    if w0 > 0:
        value = w0 * (A.squared_error(H) if power == 2 else A.absolute_error(H))
    if A.weights.excess is not None:
        value += float(np.sum(A.exception_sums(np.arange(len(H)), H)[:, power - 1]))
    return max(value, 0.0)


def zero_objective(A: Similarity, power: int) -> float:
    """Return f_p(0); computed pair by pair if subtracting the exceptions would cancel."""
    value, weights = error(A, np.zeros((A.n, 1), dtype=A.dtype), power), A.weights
    if weights.excess is None or float(A.n) ** 2 > MAX_PAIRWISE:
        return value
    listed = float(weights.excess.data @ weights.exceptions.a**power)
    if value >= CANCELLED * abs(listed):
        return value
    rows = (np.arange(b.start, b.stop) for b in blocks(A.n, 128))
    terms = (weights.dense_rows(b, A.n) * np.abs(A.dense_rows(b)) ** power for b in rows)
    return float(sum(map(np.sum, terms)))


def column_gain(A: Similarity, H: Array, j: int, items: Array, scales: Scales) -> ColumnGain:
    """Return the increase of f if column j were removed; its nonzeros are among the items."""
    value = size = 0.0
    for power, scale in enumerate(scales, start=1):
        if scale == 0:
            continue
        gain = (_column_gain_l1 if power == 1 else _column_gain_l2)(A, H, j, items)
        if A.weights.excess is not None:
            E = A.weights.exceptions
            rows = kernels.rows.CsrRows(items, E.indptr, E.indices, E.a)
            *listed, _ = kernels.objective.column_gain(items, rows, E.v, j, H, power)
            gain = [A.weights.default * x + y for x, y in zip(gain, listed, strict=True)]
        value, size = value + scale * gain[0], size + scale * gain[1]
    return ColumnGain(value, size)


def _column_gain_l2(A: Similarity, H: Array, j: int, items: Array) -> Any:
    """sum_{i != k} 2 R_ik x_ik - x_ik^2, with R = A without the other columns, x_ik = H_ij H_kj."""
    column = H[:, j].astype(np.float64)
    h, others = column[items], H[items].astype(np.float64)
    others[:, j] = 0.0
    A_xx = float(column @ A.matmul(column))
    sums, norms = h @ others, np.einsum("ij,ij->i", others, others)
    explained = float(sums @ sums - h**2 @ norms)
    squares = 2.0 * float(h[1:] ** 2 @ np.cumsum(h**2)[:-1])
    value = 2.0 * (A_xx - explained) - squares
    return value, 2.0 * (abs(A_xx) + float(sums @ sums)) + squares


def _column_gain_l1(A: Similarity, H: Array, j: int, items: Array) -> Any:
    """sum_{i != k} |R_ik| - |R_ik - x_ik|; a term is -x_ik for pairs that are not stored."""
    h = H[items, j].astype(np.float64)
    all_pairs = 2.0 * float(h[1:] @ np.cumsum(h)[:-1])
    stored = 0.0
    for block, rows in A.row_blocks(items):
        gain, _, products = kernels.objective.column_gain(block, rows, None, j, H, 1)
        stored += gain + products
    return stored - all_pairs, stored + all_pairs


def pair_losses(residuals: Array, scales: Scales) -> Array:
    """Return l1 |e| + l2 e^2 for each residual e."""
    return scales.l1 * np.abs(residuals) + scales.l2 * residuals**2


def clean_columns(H: Array) -> None:
    """Clear columns with one entry, which explain no pair, and balance those with two.

    Neither changes the objective: one entry explains no pair, and (s, t) explains one pair by s t,
    as (sqrt(s t), sqrt(s t)) does. Without this, both can grow without bound.
    """
    # By products with BLAS. Counts above 2^24 are inexact, which does not matter.
    counts = np.zeros(H.shape[1], dtype=np.float32)
    for b in blocks(len(H), 2**12):
        counts += np.ones(b.stop - b.start, dtype=np.float32) @ (H[b] > 0).astype(np.float32)
    H[:, counts == 1] = 0
    for l in np.flatnonzero(counts == 2):
        i, j = np.flatnonzero(H[:, l])
        H[i, l] = H[j, l] = np.sqrt(float(H[i, l]) * float(H[j, l]))


def deletion_loss(A: Similarity, H: Any, scales: Scales) -> tuple[Array, Array]:
    """Return the increase of f_i without each entry of row i of a CSR H, and f_i at h_i = 0.

    f_i = sum_{j != i} w_ij phi(A_ij - h_i . h_j) with phi(e) = l1 |e| + l2 e^2.
    """
    indptr, data = H.indptr.astype(np.int64), H.data.astype(np.float64)
    indices = H.indices.astype(np.int32, copy=False)
    increase, zero_loss = np.zeros(len(data)), np.zeros(A.n)
    w0, r = float(A.weights.default), H.shape[1]
    # The terms of all pairs for A = 0.
    if scales.l2 > 0:
        H64 = H.astype(np.float64)
        D = (H64.T @ H64).tocsr()
        D.sort_indices()
        kernels.objective.deletion_loss_at_zero(
            indptr, indices, data, D.indptr.astype(np.int64), D.indices, D.data,
            w0 * scales.l2, increase,
        )  # fmt: skip
    if scales.l1 > 0:
        totals = np.bincount(indices, weights=data, minlength=r)
        increase -= w0 * scales.l1 * data * (totals[indices] - data)
    E = kernel_weights(A.weights, A.n)
    for items, rows in A.row_blocks(np.arange(A.n)):
        kernels.objective.deletion_loss(
            items, rows, w0, E, (indptr, indices, data), r, *scales, increase, zero_loss
        )
    return increase, zero_loss


def kernel_weights(weights: PairWeights, n: int) -> Any:
    """Return the exceptions of n rows for kernels of a sparse H, rows of length zero if none."""
    E, Exceptions = weights.exceptions, kernels.weights.Exceptions
    if E is None:
        none = np.empty(0, dtype=np.int32)
        return Exceptions(np.zeros(n + 1, dtype=np.int64), none, np.empty(0), np.empty(0))
    return Exceptions(E.indptr.astype(np.int64), E.indices.astype(np.int32, copy=False), E.v, E.a)
