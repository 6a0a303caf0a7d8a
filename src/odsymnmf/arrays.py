"""The type of an array, and ranges in pieces: what every room needs."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from odsymnmf.signals import check

Array = NDArray[Any]

# Bytes of a cache line.
LINE = 64
# Multiply-adds of a product that nobody minds waiting for.
MOMENT = 2**30


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` that cover range(n); a thread may be stopped between two."""
    for start in range(0, n, size):
        check()
        yield slice(start, min(start + size, n))


def asymmetry(dtype: Any) -> float:
    """Return by how much A_ij and A_ji may differ: rounding, relative to the largest entry."""
    return float(np.sqrt(np.finfo(dtype).eps))


def as_csr(X: Any, name: str) -> Any:
    """Return a sparse X as CSR; ValueError if an index lies outside, where code would follow it.

    Parameters
    ----------
    X : sparse matrix or array
        Somebody's own: of another form, or with arrays that were put in place one by one.
    name : str
        For the message.

    Returns
    -------
    csr_array

    Examples
    --------
    >>> from scipy import sparse
    >>> X = sparse.csr_array([[0, 1], [1, 0]])
    >>> X.indices[0] = 2_000_000_000
    >>> as_csr(X, "A")
    Traceback (most recent call last):
    ValueError: A is not a sound sparse matrix: ...
    """
    try:
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)
        elif X.format == "coo" and X.nnz:  # scipy has no method for it
            for at, size in zip((X.row, X.col), X.shape, strict=True):
                if not 0 <= at.min() <= at.max() < size or len(at) != len(X.data):
                    raise ValueError(f"indices must be from 0 to {size - 1}")
    except ValueError as error:
        raise ValueError(
            f"{name} is not a sound sparse matrix: {error}. Make it anew from its entries: "
            "scipy.sparse.coo_array((values, (rows, columns)), shape=(n, m))."
        ) from None
    return sparse.csr_array(X)


def squared(X: Array) -> Array:
    """Return X^T X in double precision, over so many rows at a time that each takes a moment."""
    m = X.shape[1]
    total = np.zeros((m, m))
    for b in blocks(len(X), max(1, MOMENT // max(1, m) ** 2)):
        rows = X[b].astype(np.float64, copy=False)
        total += rows.T @ rows
    return total


def on_lines(count: int, size: int) -> Array:
    """Return room for vectors of at least ``size`` numbers, as rows that begin on cache lines.

    Arrays of NumPy begin anywhere, so that every other load of a vectorised loop may need two
    lines: a sweep of l2 takes up to a tenth longer.
    """
    width = -(-size * 8 // LINE) * LINE // 8
    room = np.empty(count * width + LINE // 8)
    first = -room.__array_interface__["data"][0] % LINE // 8
    return room[first : first + count * width].reshape(count, width)
