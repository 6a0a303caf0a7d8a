"""The arrays of a problem, and the order in which the entries of H are visited."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def similarity(A: ArrayLike) -> Array:
    """Return A as a float64 array; ValueError unless it is symmetric and finite."""
    A = np.asarray(A, dtype=np.float64)
    if A.ndim != 2 or not np.array_equal(A, A.T) or not np.isfinite(A).all():
        raise ValueError(f"A must be a symmetric, finite n x n array; got shape {A.shape}.")
    return A


def problem(A: ArrayLike, H0: ArrayLike) -> tuple[Array, Array]:
    """Return A and a copy of H0 as float64 arrays."""
    A, H = similarity(A), np.array(H0, dtype=np.float64)
    if H.ndim != 2 or len(H) != len(A) or not (H >= 0).all():
        raise ValueError(f"H must be a nonnegative {len(A)} x r array; got shape {H.shape}.")
    return A, H


def rank_one_problem(
    P: ArrayLike, h0: ArrayLike, K: Sequence[int] | None
) -> tuple[Array, Array, Sequence[int]]:
    """Return P, a copy of the vector h0, and the items K to visit (None: all)."""
    P, H = problem(P, np.asarray(h0)[:, np.newaxis])
    return P, H[:, 0], range(len(H)) if K is None else K


def visits(H: Array, order: str) -> Iterator[tuple[Sequence[int], int]]:
    """Yield (K, l): one sweep updates the entries H[K, l] in turn.

    ``"columns"`` is the paper's order (l outer, k inner); ``"rows"`` is that of the compiled
    kernels (k outer, l inner), which need one row of A at a time.
    """
    n, r = H.shape
    if order == "columns":
        yield from ((range(n), l) for l in range(r))
    elif order == "rows":
        yield from (((k,), l) for k in range(n) for l in range(r))
    else:
        raise ValueError(f'order must be "columns" (the paper) or "rows"; got {order!r}.')
