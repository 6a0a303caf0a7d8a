"""Sums over all pairs from what is stored, and pair by pair where these would cancel."""

from functools import partial
from typing import Any

import numpy as np

from odsymnmf.arrays import Array, blocks, squared
from odsymnmf.blas import together
from odsymnmf.problem.blocking import cleared, row_squares, rows_of
from odsymnmf.problem.rounds import ROUNDS

# Where less than this share of the terms is left, a sum is made again, pair by pair.
LITTLE = 1e-8
# Multiply-adds beyond which that would take too long.
TOO_MANY = 1e13
# Rows that a thread takes at a time.
SHARE = 8 * ROUNDS
# Entries of a piece of H.
ENTRIES = 2**22


def unless_cancelled(A: Any, H: Array, value: float, terms: float) -> float:
    """Return the value of a closed form, or the same pair by pair where its terms cancel."""
    if value < LITTLE * terms and float(A.n) ** 2 * H.shape[1] <= TOO_MANY:
        return pairwise_error(A, H)
    return 0.0 if value < 0.0 else value


def pairwise_error(A: Any, H: Array) -> float:
    """Return sum_{i != j} (A_ij - h_i . h_j)^2, pair by pair."""
    return float(np.sum(pairwise_errors(A, np.arange(A.n), H)))


def pairwise_errors(A: Any, items: Array, H: Array) -> Array:
    """Return sum_{j != i} (A_ij - h_i . h_j)^2 of each item, pair by pair."""
    H, errors = H.astype(np.float64, copy=False), np.empty(len(items))
    some = blocks(len(items), SHARE)
    together([partial(_set_errors, A, items[b], H, errors[b]) for b in some])
    return errors


def _set_errors(A: Any, items: Array, H: Array, errors: Array) -> None:
    for b in blocks(len(items), ROUNDS):  # tiles are multiples of that, whoever has them
        some = items[b]
        residual = A.full_rows(some)
        residual -= cleared(H[some] @ H.T, some)
        np.einsum("ij,ij->i", residual, residual, out=errors[b])


def weighted_product(A: Any, V: Array) -> Array:
    """Return sum_{j != i} w_ij A_ij V_j, the product with what every pair weighs."""
    if A.weights.pattern is None:
        return A.product(V)
    total: Array = A.weights.background * A.product(V) + A.weights.correction @ V
    return total


def explained(A: Any, H: Array) -> tuple[float, float]:
    """Return sum_{i != j} w_ij A_ij p_ij and sum_{i != j} w_ij p_ij^2, with p_ij = h_i . h_j."""
    inner = inner_product(H, weighted_product(A, H))
    squares = pair_squares(H)
    if A.weights.pattern is not None:
        listed = listed_squares(A, np.arange(A.n), H.astype(np.float64, copy=False))
        squares = A.weights.background * squares + float(np.sum(listed))
    return inner, squares


def inner_product(H: Array, V: Array) -> float:
    """Return <H, V> in double precision, over so many rows at a time that each takes a moment."""
    some = blocks(len(H), max(1, ENTRIES // max(1, H.shape[1])))
    return sum(float(np.einsum("ij,ij->", H[b], V[b], dtype=np.float64)) for b in some)


def listed_squares(A: Any, items: Array, H: Array) -> Array:
    """Return for each item the sum of v_ij (h_i . h_j)^2 over its exceptions."""
    from odsymnmf import kernels

    P, found = A.weights.pattern, np.empty(len(items))
    kernels.weights.squares(items, P.indptr, P.indices, P.data, H, found)
    return found


def pair_squares(X: Array) -> float:
    """Return sum_{i != j} (x_i . x_j)^2 of the rows of X: |X^T X|_F^2 - sum_i |x_i|^4.

    Where that would cancel, |x_i|^4 is left out from the beginning: block by block, pair by pair
    or through D = sum of x_i x_i^T over the rows before, whichever costs less. (einsum, because
    BLAS would add up long vectors in as many parts as it has threads.)
    """
    n, m = X.shape
    if m < n:
        everything, own_squares = np.sum(squared(X) ** 2), np.sum(row_squares(X) ** 2)
        if 2.0 * own_squares <= everything:
            return float(everything - own_squares)
    total, D = 0.0, np.zeros((m, m) if m < n else 0)
    X = X.astype(np.float64, copy=False)
    for b in blocks(n, 128):
        Y = X[b]
        own = Y @ Y.T
        np.fill_diagonal(own, 0)
        if m < n:
            square = Y.T @ Y
            total += 2.0 * float(np.einsum("ij,ij->", D, square))
            D += square
        else:
            total += 2.0 * float(np.sum((Y @ X[: b.start].T) ** 2))
        total += float(np.einsum("ij,ij->", own, own))
    return total


def absolute_error(A: Any, H: Array) -> float:
    """sum_{i != j} p_ij + sum over stored pairs of |A_ij - p_ij| - p_ij, p_ij = h_i . h_j.

    The first sum is 2 sum_i h_i . (sum of the rows before i), so that no h_i . h_i enters.
    """
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
    from odsymnmf import kernels

    errors, done = np.empty(len(items)), 0
    for some, rows in rows_of(A, items, H.shape[1]):
        kernels.l1.stored_error(some, rows, H, errors[done : done + len(some)])
        done += len(some)
    return errors
