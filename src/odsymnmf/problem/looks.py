"""What a problem looks like, in one pass: how much each item has, of which signs, how full."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, blocks
from odsymnmf.problem.blocking import without_diagonal
from odsymnmf.problem.kinds import Dense, Gram, Similarity, Sparse

# Products of features with both signs are compared with so many items, evenly spread, where there
# are more: all pairs would cost more than the fit.
SAMPLE = 4096


class Outline(NamedTuple):
    """What is to be known of A before it is scaled.

    Attributes
    ----------
    degrees : ndarray of shape (n,)
        d_i = sum_{j != i} w_ij |A_ij|.
    negative : bool
        Whether similarities may be negative.
    filled : float
        The share of the pairs that are not zero.
    binary : bool
        Whether all that are not zero are the same, and positive.
    """

    degrees: Array
    negative: bool
    filled: float
    binary: bool


def outline(A: Similarity) -> Outline:
    """Look at A once."""
    if isinstance(A, Gram):
        found = _of_gram(A)
    elif isinstance(A, Sparse):
        found = _of_sparse(A)
    else:
        found = _of_dense(A)
    weights = A.weights
    if weights.pattern is None:
        return found
    P, values = weights.pattern, np.abs(weights.values)  # type: ignore[arg-type]
    listed = sparse.csr_array((P.data * values, P.indices, P.indptr), shape=P.shape)
    total = weights.background * found.degrees + np.asarray(listed.sum(axis=1)).ravel()
    return found._replace(degrees=np.maximum(total, 0.0))


def _of_sparse(A: Sparse) -> Outline:
    data = A.A.data
    rows = np.repeat(np.arange(A.n), np.diff(A.A.indptr))
    degrees = np.bincount(rows, weights=np.abs(data), minlength=A.n)
    low, high = data.min(initial=np.inf), data.max(initial=-np.inf)
    filled = len(data) / max(A.n * (A.n - 1), 1)
    return Outline(degrees, bool(low < 0), filled, bool(low == high > 0))


def _of_dense(A: Dense) -> Outline:
    degrees, low, high, least, count = np.zeros(A.n), np.inf, -np.inf, np.inf, 0
    for b in blocks(A.n, 256):
        piece = without_diagonal(A.A, b)
        low, high = min(low, float(piece.min())), max(high, float(piece.max()))
        count += int(np.count_nonzero(piece))
        least = min(least, float(piece.min(initial=np.inf, where=piece > 0)))
        degrees[b] = np.abs(piece).sum(axis=1, dtype=np.float64)
    filled = count / max(A.n * (A.n - 1), 1)
    return Outline(degrees, low < 0, filled, low >= 0 and least == high > 0)


def _of_gram(A: Gram) -> Outline:
    X: Any = A.X
    smallest = X.data.min(initial=0.0) if sparse.issparse(X) else X.min(initial=0.0)
    if smallest >= 0:
        degrees = A.product(np.ones(A.n, dtype=A.dtype)).astype(np.float64)
        # What is left of |x_i|^2 - |x_i|^2 is rounding.
        degrees[degrees <= np.sqrt(np.finfo(A.dtype).eps) * A.rounding] = 0.0
        return Outline(degrees, False, 1.0, False)
    items = np.unique(np.linspace(0, A.n - 1, min(A.n, SAMPLE)).astype(np.intp))
    degrees, seen = np.zeros(A.n), np.full(A.n, len(items))
    seen[items] -= 1
    for b in A.item_blocks(len(items)):
        degrees += np.abs(A.full_rows(items[b])).sum(axis=0)
    return Outline(degrees * (A.n - 1) / np.maximum(seen, 1), True, 1.0, False)
