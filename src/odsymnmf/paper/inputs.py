"""What the transcriptions accept, and the order in which they visit the entries of H.

Every check of the executable paper is here, so that the algorithms read like the paper.
"""

from collections.abc import Iterator, Sequence
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def real_array(x: ArrayLike, name: str, ndim: int) -> Array:
    """Return x as a finite float64 array with ndim axes, or raise ValueError."""
    try:
        array = np.asarray(x)
        if np.iscomplexobj(array):
            raise TypeError("complex")
        array = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be an array of real numbers; got {type(x).__name__}. Give a list or an "
            "ndarray with rows of one length, and call .toarray() on a sparse matrix."
        ) from None
    if array.ndim != ndim:
        kind = {1: "a vector", 2: "a matrix"}[ndim]
        raise ValueError(f"{name} must be {kind}, an array with ndim = {ndim}; got {array.ndim}.")
    if not np.isfinite(array).all():
        at = ", ".join(str(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}[{at}] is NaN or infinite; replace such entries first.")
    return array


def similarity(A: ArrayLike, name: str = "A") -> Array:
    """Return A as a square, symmetric, finite float64 array, or raise ValueError."""
    A = real_array(A, name, 2)
    if A.shape[0] != A.shape[1] or A.size == 0:
        raise ValueError(f"{name} must be a square matrix, n x n with n >= 1; got {A.shape}.")
    if not np.array_equal(A, A.T):
        i, j = np.unravel_index(np.argmax(np.abs(A - A.T)), A.shape)
        raise ValueError(
            f"{name} must be symmetric; {name}[{i}, {j}] = {A[i, j]} but "
            f"{name}[{j}, {i}] = {A[j, i]}. Use (A + A.T) / 2 or np.maximum(A, A.T)."
        )
    return A


def problem(
    A: ArrayLike, H0: ArrayLike, names: tuple[str, str] = ("A", "H0")
) -> tuple[Array, Array]:
    """Return A and a fresh copy of the start H0, checked against each other."""
    A = similarity(A, names[0])
    H = real_array(H0, names[1], 2).copy()
    if H.shape[0] != len(A) or H.shape[1] < 1:
        raise ValueError(f"{names[1]} must have shape (n, r) = ({len(A)}, r >= 1); got {H.shape}.")
    if (H < 0).any():
        i, j = np.argwhere(H < 0)[0]
        raise ValueError(f"{names[1]}[{i}, {j}] is {H[i, j]}; entries must be >= 0: clip it first.")
    return A, H


def rank_one_problem(
    P: ArrayLike, h0: ArrayLike, K: Sequence[int] | None
) -> tuple[Array, Array, Sequence[int]]:
    """Return P, a fresh copy of the vector h0, and the items K to visit (None: all, in turn)."""
    P, H = problem(P, real_array(h0, "h0", 1)[:, np.newaxis], ("P", "h0"))
    n = len(H)
    K = range(n) if K is None else K
    for k in K:
        if not isinstance(k, Integral) or not 0 <= k < n:
            raise ValueError(f"K holds {k!r}; items are whole numbers from 0 to n - 1 = {n - 1}.")
    return P, H[:, 0], K


def weights(a: ArrayLike, b: ArrayLike, names: tuple[str, str] = ("a", "b")) -> tuple[Array, Array]:
    """Return the weights a >= 0 and the targets b of a weighted median, of one length."""
    a, b = real_array(a, names[0], 1), real_array(b, names[1], 1)
    if a.shape != b.shape:
        raise ValueError(
            f"{names[0]} and {names[1]} must have one length; got {a.size} and {b.size}."
        )
    if (a < 0).any():
        i = int(np.argmax(a < 0))
        raise ValueError(f"{names[0]}[{i}] is {a[i]}; weights must be >= 0.")
    return a, b


def rank(r: int) -> int:
    """Return r, a whole number of columns, at least 1."""
    if not isinstance(r, Integral) or r < 1:
        raise ValueError(f"r must be a whole number >= 1; got {r!r}.")
    return int(r)


def norm(p: int) -> int:
    """Return p, which names the norm: 1 or 2."""
    if not isinstance(p, Real) or p not in (1, 2):
        raise ValueError(f"p must be 1 or 2; got {p!r}.")
    return int(p)


def check(
    *,
    sweeps: int = 0,
    order: str = "columns",
    upper: float = 1.0,
    empty: float = 1.0,
    self_similarity: float | None = None,
) -> None:
    """Raise ValueError for an invalid option."""
    if not isinstance(sweeps, Integral) or sweeps < 0:
        raise ValueError(f"sweeps must be a whole number >= 0; got {sweeps!r}.")
    if not isinstance(order, str) or order not in ("columns", "rows"):
        raise ValueError(f'order must be "columns" (the paper) or "rows"; got {order!r}.')
    if not isinstance(upper, Real) or not upper > 0:
        raise ValueError(f"upper must be a number > 0; got {upper!r}. No bound is upper=np.inf.")
    if not isinstance(empty, Real) or not 0 <= empty < np.inf:
        raise ValueError(f"empty must be a finite number >= 0; got {empty!r}.")
    if self_similarity is not None and not (
        isinstance(self_similarity, Real) and np.isfinite(self_similarity)
    ):
        raise ValueError(
            f"self_similarity must be a finite number, or None to keep the stored diagonal; "
            f"got {self_similarity!r}."
        )


def visits(H: Array, order: str) -> Iterator[tuple[Sequence[int], int]]:
    """Yield (K, l): one sweep updates the entries H[K, l] in turn.

    ``"columns"`` is the paper's order (l outer, k inner); ``"rows"`` is that of the compiled
    engine (k outer, l inner), which needs one row of A at a time.
    """
    check(order=order)
    n, r = H.shape
    if order == "columns":
        yield from ((range(n), l) for l in range(r))
    else:
        yield from (((k,), l) for k in range(n) for l in range(r))
