"""Where H starts: greedy (the paper's), spectral, nndsvd, random, zero."""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from odsymnmf import kernels
from odsymnmf.random_state import RandomSource
from odsymnmf.similarity import Similarity, Sparse, pair_squares

Array = NDArray[Any]

# The virtual diagonal of the greedy start, as a multiple of the largest similarity.
SELF_SIMILARITY = 2.0
# Items picked in a row that got no membership, after which a small column is taken to be whole.
PATIENCE = 10


def greedy(A: Similarity, r: int, *, l1: bool, upper: float) -> Array:
    """Build column after column from items that hang together (Algorithm 6 of the paper)."""
    H = np.zeros((A.n, r), dtype=A.dtype)
    if A.scale > 0:
        weights, columns = degrees(A), np.zeros(r)
        for j in range(r):
            H[:, j] = grow(A, H, weights, columns[:j], picks=2 * r - 2, l1=l1, upper=upper)
            columns[j] = H[:, j].sum(dtype=np.float64)
    return H


def degrees(A: Similarity) -> Array:
    """Return sum_{i != k} A_ik for each item k."""
    return A.product(np.ones(A.n, dtype=A.dtype)).astype(np.float64)


def grow(
    A: Similarity,
    H: Array,
    degrees: Array,
    columns: Array,
    *,
    picks: int,
    l1: bool,
    upper: float,
    avoid: Array | None = None,
) -> Array:
    """Build a column on top of those of H that ``columns`` holds the sums of.

    The first items, at most ``picks``, are picked one by one, each with the largest score
    s = A w - B (B^T w), where w = A 1_J sums the similarities to the items J picked so far and B
    holds the other columns. The other items follow in the order of their scores. The first entry
    is the root of the largest similarity, so that H scales with A.

    Where seeds to ``avoid`` are given (a column is to be replaced), the first item is none of
    them, PATIENCE items in a row without a membership end the picking, and of the others only
    those with a positive score follow: a small column costs little.
    """
    B = H[:, : len(columns)]
    first, own = min(np.sqrt(A.scale), upper), SELF_SIMILARITY * A.scale
    place = kernels.greedy.place_l1 if l1 else kernels.greedy.place_l2
    room = (np.empty(A.n), np.empty(A.n)) if l1 else ()
    h, sums, total = np.zeros(A.n, dtype=H.dtype), np.zeros(len(columns)), np.zeros(2)
    taken = np.zeros(A.n, dtype=bool)
    # Until an item has been picked, all count: w = 1.
    v, c, w = degrees + own, columns, np.zeros(A.n)
    in_vain = 0
    for _ in range(min(A.n, picks)):
        k = kernels.greedy.best(v, H, c, taken if taken.any() or avoid is None else avoid)
        row = A.rows(np.array([k]))
        place(np.array([k]), *row, H, h, sums, total, first, upper, *room)
        if not taken.any():
            v, c = np.zeros(A.n), np.zeros(len(columns))
        taken[k] = True
        if isinstance(A, Sparse):
            kernels.greedy.weigh(k, *row[1:], own, H, v, c)
        else:
            w += row[3]
            w[k] += own
            v = A.product(w.astype(A.dtype)).astype(np.float64) + own * w
            c = B.T @ w
        in_vain = 0 if h[k] > 0 else in_vain + 1
        if avoid is not None and in_vain == PATIENCE:
            break
    rest = np.flatnonzero(~taken if avoid is None else ~taken & (v > 0))
    scores = v[rest] - np.einsum("il,l->i", B[rest], c)
    order = np.argsort(-scores, kind="stable")
    rest = rest[order if avoid is None else order[scores[order] > 0]]
    for b in A.item_blocks():
        items = rest[b]
        place(items, *A.rows(items), H, h, sums, total, first, upper, *room)
    return h


def random(A: Similarity, r: int, rng: RandomSource) -> Array:
    """Return uniform random entries, scaled to the data."""
    return scaled(A, rng.uniform(size=(A.n, r)).astype(A.dtype))


def scaled(A: Similarity, H: Array) -> Array:
    """Return t H with t^2 = <A, H H^T> / |H H^T|^2, both off the diagonal: the best fit."""
    H64 = H.astype(np.float64, copy=False)
    inner = float(np.einsum("ij,ij->", H64, A.product(H), dtype=np.float64))
    squares = pair_squares(H64)
    if squares == 0:
        return H
    if inner <= 0:  # more repulsion than attraction: only the size of A is left to go by
        inner = np.sqrt(A.energy * squares)
    return H * np.asarray(np.sqrt(inner / squares), dtype=H.dtype)


def spectral(A: Similarity, r: int, rng: RandomSource) -> Array:
    """Rotate the r leading eigenvectors of A towards the axes and cut off what is negative.

    The pivots of a QR decomposition of V^T are r items that differ most; the orthogonal matrix
    nearest to their rows of V turns each of them towards an axis of its own (Damle, Minden and
    Ying, "Simple, direct and efficient multi-way spectral clustering", 2019).
    """
    V = _leading_eigenvectors(A, min(r, A.n), rng)
    pivots = linalg.qr(V.T, mode="r", pivoting=True)[1][: V.shape[1]]
    left, _, right = linalg.svd(V[pivots].T)
    H = V @ (left @ right)
    # What is negative, or but rounding: a column of dust would grow beyond bounds.
    H[np.abs(H).max(axis=0) * np.sqrt(np.finfo(H.dtype).eps) >= H] = 0.0
    extra = rng.uniform(size=(A.n, r - V.shape[1])) * H.max(initial=0.0)
    return scaled(A, np.hstack([H, extra]).astype(A.dtype))


def nndsvd(A: Similarity, r: int, rng: RandomSource) -> Array:
    """Return sqrt(lambda_l) times the larger of the two signed parts of each eigenvector v_l.

    The NNDSVD of Boutsidis and Gallopoulos (2008), the usual start of NMF, for a symmetric
    matrix: where lambda_l > 0 its two factors are the same. Eigenvalues <= 0, which no h h^T can
    follow, give empty columns. The diagonal counts as zero; only products with A are needed.
    """
    V = _leading_eigenvectors(A, min(r, A.n), rng)
    values = np.einsum("il,il->l", V, A.product(V))
    up, down = (np.linalg.norm(np.maximum(part, 0), axis=0) for part in (V, -V))
    V = np.where(up >= down, V, -V)
    H = np.zeros((A.n, r), dtype=A.dtype)
    H[:, : V.shape[1]] = np.sqrt(np.maximum(values, 0)) * np.maximum(V, 0)
    return scaled(A, H)


def _leading_eigenvectors(A: Similarity, r: int, rng: RandomSource) -> Array:
    """Return eigenvectors of the r largest eigenvalues of A with a zero diagonal, roughly."""
    if A.n <= max(2 * r + 1, 100):
        return np.asarray(linalg.eigh(A.product(np.eye(A.n, dtype=A.dtype)))[1][:, ::-1][:, :r])
    if A.energy == 0:
        return np.eye(A.n, r, dtype=A.dtype)
    # Single precision is enough, and a fifth faster; |A| brings the eigenvalues within it.
    size = np.sqrt(A.energy)
    operator = LinearOperator(
        (A.n, A.n), matvec=lambda v: A.product((v / size).astype(A.dtype)), dtype=np.float32
    )
    start = rng.uniform(size=A.n).astype(np.float32)
    # Where A has few eigenvalues, scipy goes on with random vectors: from 1.17 on, seeded ones.
    seed = np.random.default_rng(int(2**32 * rng.uniform()))
    seeded = {"rng": seed} if "rng" in signature(eigsh).parameters else {}
    try:
        return np.asarray(eigsh(operator, k=r, which="LA", v0=start, tol=1e-2, **seeded)[1])
    except ArpackNoConvergence as unfinished:
        V = unfinished.eigenvectors
        extra = rng.standard_normal(size=(A.n, r - V.shape[1])).astype(A.dtype)
        return np.asarray(linalg.qr(np.hstack([V, extra]), mode="economic")[0])


def zero(A: Similarity, r: int) -> Array:
    """Return no memberships but one: column l holds a single item that no other column holds.

    From zeros alone no entry can move, because its optimum is undefined. The items are the
    best-connected ones that are not linked to each other, as far as there are such.
    """
    H = np.zeros((A.n, r), dtype=A.dtype)
    score = A.product(np.ones(A.n, dtype=A.dtype)).astype(np.float64)
    for l in range(min(r, A.n)):
        k = int(np.argmax(score))
        H[k, l] = np.sqrt(A.scale)
        _, indptr, indices, data = A.rows(np.array([k]))
        row = slice(indptr[k], indptr[k + 1]) if isinstance(A, Sparse) else slice(None)
        span = np.ptp(score[np.isfinite(score)]) + A.scale
        score[indices[row]] -= span * (data[row] > 0)
        score[k] = -np.inf
    return H


STARTS: dict[str, Callable[..., Array]] = {
    "greedy": lambda A, r, l1, upper, rng: greedy(A, r, l1=l1, upper=upper),
    "spectral": lambda A, r, l1, upper, rng: spectral(A, r, rng),
    "nndsvd": lambda A, r, l1, upper, rng: nndsvd(A, r, rng),
    "random": lambda A, r, l1, upper, rng: random(A, r, rng),
    "zero": lambda A, r, l1, upper, rng: zero(A, r),
}


def start(A: Similarity, r: int, init: Any, *, l1: bool, upper: float, rng: Any) -> Array:
    """Return the start that ``init`` names, or a copy of the array it is, within the bounds."""
    if isinstance(init, str):
        if init not in STARTS:
            known = ", ".join(repr(name) for name in STARTS)
            raise ValueError(f"init={init!r} is not known; use {known} or an array (n x r).")
        H = STARTS[init](A, r, l1, upper, rng)
    else:
        H = given(A, r, init)
    return np.ascontiguousarray(np.minimum(H, np.asarray(upper, dtype=H.dtype)))


def given(A: Similarity, r: int, H: Any, name: str = "init") -> Array:
    """Return a copy of H, checked, in the precision of A."""
    H = np.asarray(H)
    if H.shape != (A.n, r):
        raise ValueError(f"{name} has shape {H.shape}; it must be (n, r) = ({A.n}, {r}).")
    if H.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers; got dtype {H.dtype}.")
    H = H.astype(A.dtype)
    bad = np.argwhere(~(np.isfinite(H) & (H >= 0)))
    if len(bad):
        i, l = bad[0]
        raise ValueError(f"{name}[{i}, {l}] is {H[i, l]}; entries must be finite and >= 0.")
    return H
