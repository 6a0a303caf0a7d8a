"""The leading eigenvectors of a symmetric operator, in pieces that Ctrl-C need not wait for.

ARPACK's restarts cannot be interrupted, and take seconds where n r^2 is in the billions. And SciPy
has a BLAS of its own, which asks without end for the memory it needs when it is first used.
"""

from collections.abc import Callable

import numpy as np

from odsymnmf.arrays import Array, blocks

# Items of a piece: of a few vectors, and of all of them.
PIECE, FEW = 2**17, 2**14
# A vector that loses no more than this in length was orthogonal to the others before.
LOST = 0.7


def vectors(r: int) -> int:
    """Return how many vectors the search for r of them keeps."""
    return max(2 * r + 1, 20)


def room(n: int, r: int) -> int:
    """Return how many bytes that takes in single precision: the vectors, and T taken apart."""
    return 4 * n * vectors(r) + 4 * 8 * vectors(r) ** 2


def leading(
    multiply: Callable[[Array], Array], start: Array, r: int, accuracy: float, restarts: int
) -> tuple[Array, Array]:
    """Return the r largest eigenvalues, and their eigenvectors as columns, in the dtype of start.

    Thick-restart Lanczos (Wu and Simon, "Thick-restart Lanczos method for large symmetric
    eigenvalue problems", 2000) with full orthogonalisation: 2 r + 1 vectors Q, T = Q A Q^T; its
    leading eigenvectors are what a restart keeps. It ends when A v = value v up to ``accuracy``
    times the value, or after so many restarts with what there is.
    """
    n, rng = len(start), np.random.default_rng(0)
    m = min(vectors(r), n - 1)
    Q, T, kept = np.empty((m + 1, n), dtype=start.dtype), np.zeros((m, m)), 0
    Q[0] = start / _length(start)
    tiny = np.finfo(start.dtype).eps
    for left in range(restarts, -1, -1):
        for j in range(kept, m):
            Q[j + 1] = multiply(Q[j])
            T[: j + 1, j], length = _made_orthogonal(Q[: j + 1], Q[j + 1])
            T[j] = T[:, j]
            if length <= 10 * tiny * np.abs(T).max():  # nothing new: go on with anything
                length, Q[j + 1] = 0.0, rng.standard_normal(n)
                Q[j + 1] /= _made_orthogonal(Q[: j + 1], Q[j + 1])[1]
            else:
                Q[j + 1] /= length
        values, S = (found[..., ::-1] for found in np.linalg.eigh(T))
        least = accuracy * np.maximum(np.abs(values[:r]), tiny ** (2 / 3))
        small = length * np.abs(S[-1, :r]) <= least
        done = bool(small.all()) or left == 0
        kept = r if done else r + min(int(small.sum()), (m - r) // 2)
        combine = S[:, :kept].T.astype(Q.dtype)
        for b in blocks(n, FEW):
            Q[:kept, b] = combine @ Q[:m, b]
        if done:
            break
        Q[kept], T = Q[m], np.diag(np.append(values[:kept], np.zeros(m - kept)))
    return values[:r], np.ascontiguousarray(Q[:r].T)


def _made_orthogonal(Q: Array, w: Array) -> tuple[Array, float]:
    """Take from w what lies in the rows of Q; return how much of each, and what length is left."""
    found, before = np.zeros(len(Q)), _length(w)
    for _ in range(3):
        inside = np.sum([Q[:, b] @ w[b] for b in blocks(len(w), PIECE)], axis=0)
        for b in blocks(len(w), PIECE):
            w[b] -= inside @ Q[:, b]
        found += inside
        length = _length(w)
        if length > LOST * before:
            return found, length
        before = length
    return found, 0.0


def _length(w: Array) -> float:
    return float(np.sqrt(np.einsum("i,i->", w, w, dtype=np.float64)))


def pivots(V: Array) -> Array:
    """Return as many rows of V as it has columns, those that differ most.

    They are the pivots of a QR decomposition of V^T: each is the row that is farthest from the
    span of those before it.
    """
    n, r = V.shape
    Q, chosen = np.zeros((r, r)), np.empty(r, dtype=np.intp)
    left = np.einsum("ij,ij->i", V, V, dtype=np.float64)
    for k in range(r):
        chosen[k] = np.argmax(left)
        q = V[chosen[k]].astype(np.float64)
        for _ in range(2):
            q -= Q[:k].T @ (Q[:k] @ q)
        Q[k] = q / (_length(q) or 1.0)
        for b in blocks(n, PIECE):
            left[b] -= (V[b] @ Q[k].astype(V.dtype)) ** 2
        left[chosen[: k + 1]] = -np.inf
    return chosen
