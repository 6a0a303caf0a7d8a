"""Where H starts: greedy (the paper's), spectral, nndsvd, random, zero, or another loss's fit.

A start is a function of the loss, the number of columns and a source of random numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, as_csr, blocks
from odsymnmf.engine.eigenvectors import FEW, leading, pivots, room
from odsymnmf.engine.growing import grow
from odsymnmf.engine.losses import Loss, another_loss
from odsymnmf.engine.run import Run
from odsymnmf.engine.sets import as_sets
from odsymnmf.problem import Similarity, degrees, weighted_product
from odsymnmf.random_state import RandomSource
from odsymnmf.resources import require
from odsymnmf.signals import check

# Of the eigenvectors: with 1e-2, graphs in many pieces lose (cora 0.06 of NMI).
ACCURACY = 1e-3
# Graphs of 100 to 10,000 items took 15 at most.
RESTARTS = 300
# What BLAS asks for when it is first used. OpenBLAS asks without end if it does not get it.
BUFFER = 3 * 2**24


def greedy(loss: Loss, r: int, rng: RandomSource | None = None) -> Array:
    """Build column after column from items that hang together (Algorithm 6 of the paper)."""
    A = loss.A
    H = np.zeros((A.n, r), dtype=A.dtype)
    if A.largest > 0:
        similar, columns = degrees(A), np.zeros(r)
        for j in range(r):
            H[:, j] = grow(loss, H, similar, columns[:j], picks=2 * r - 2)
            columns[j] = H[:, j].sum(dtype=np.float64)
    return H


def random(loss: Loss, r: int, rng: RandomSource) -> Array:
    """Return uniform random entries, scaled to the data."""
    A = loss.A
    H = np.empty((A.n, r), dtype=A.dtype)
    for b in blocks(A.n, FEW):
        H[b] = rng.uniform(size=(b.stop - b.start, r))
    return fitted(A, H)


def fitted(A: Similarity, H: Array) -> Array:
    """Set H to t H with t^2 = <w A, H H^T> / <w H H^T, H H^T>, off the diagonal: the best fit."""
    inner, squares = A.explained(H)
    if squares <= 0:
        return H
    if inner <= 0:  # more repulsion than attraction: only the size of A is left to go by
        inner = np.sqrt(A.energy * squares)
    t = np.asarray(np.sqrt(inner / squares), dtype=H.dtype)
    for b in blocks(len(H), FEW):  # between which Ctrl-C is heard
        H[b] *= t
    return H


def spectral(loss: Loss, r: int, rng: RandomSource) -> Array:
    """Rotate the r leading eigenvectors of A towards the axes and cut off what is negative.

    The pivots of a QR decomposition of V^T are r items that differ most; the orthogonal matrix
    nearest to their rows of V turns each of them towards an axis of its own (Damle, Minden and
    Ying, "Simple, direct and efficient multi-way spectral clustering", 2019).
    """
    A = loss.A
    H = rotated(A, leading_eigenvectors(A, min(r, A.n)))
    if H.shape[1] == r:
        return H
    extra = rng.uniform(size=(A.n, r - H.shape[1])) * H.max(initial=0.0)
    return fitted(A, np.hstack([H, extra]).astype(A.dtype))


def rotated(A: Similarity, V: Array) -> Array:
    """Return the spectral start of as many columns as there are eigenvectors."""
    left, _, right = np.linalg.svd(V[pivots(V)].T)
    turn, H = left @ right, np.empty_like(V, order="C")
    for b in blocks(A.n, FEW):
        H[b] = V[b] @ turn
    # What is negative, or but rounding: a column of dust would grow beyond bounds.
    H[np.abs(H).max(axis=0) * np.sqrt(np.finfo(H.dtype).eps) >= H] = 0.0
    return fitted(A, H.astype(A.dtype))


def nndsvd(loss: Loss, r: int, rng: RandomSource) -> Array:
    """Return sqrt(lambda_l) times the larger of the two signed parts of each eigenvector v_l.

    The NNDSVD of Boutsidis and Gallopoulos (2008), the usual start of NMF, for a symmetric
    matrix: where lambda_l > 0 its two factors are the same. Eigenvalues <= 0, which no h h^T can
    follow, give empty columns. The diagonal counts as zero; only products with A are needed.
    """
    A = loss.A
    V = leading_eigenvectors(A, min(r, A.n))
    values = np.einsum("il,il->l", V, weighted_product(A, V))
    up, down = (np.linalg.norm(np.maximum(part, 0), axis=0) for part in (V, -V))
    V = np.where(up >= down, V, -V)
    H = np.zeros((A.n, r), dtype=A.dtype)
    H[:, : V.shape[1]] = np.sqrt(np.maximum(values, 0)) * np.maximum(V, 0)
    return fitted(A, H)


def leading_eigenvectors(A: Similarity, r: int) -> Array:
    """Return eigenvectors of the r largest eigenvalues of A with a zero diagonal, roughly.

    The largest come first. The iteration begins where a seed of its own says: a start that is the
    same every time is worth more than one that can be drawn anew.
    """
    require(
        BUFFER + room(A.n, r),
        f"a start from {r:,} eigenvectors of {A.n:,} items",
        'use init="greedy" or "random", or a smaller r',
    )
    if A.n <= max(2 * r + 1, 100):
        return np.asarray(
            np.linalg.eigh(weighted_product(A, np.eye(A.n, dtype=A.dtype)))[1][:, ::-1][:, :r]
        )
    if A.energy == 0:
        return np.eye(A.n, r, dtype=A.dtype)
    # Single precision is enough, and a fifth faster; |A| brings the eigenvalues within it.
    size = np.sqrt(A.energy)

    def multiply(v: Array) -> Array:
        check()
        return weighted_product(A, (v / size).astype(A.dtype))

    start = np.random.default_rng(0).uniform(size=A.n).astype(np.float32)
    return leading(multiply, start, r, ACCURACY, RESTARTS)[1]


def zero(loss: Loss, r: int, rng: RandomSource | None = None) -> Array:
    """Return what the first sweep makes of no memberships but one a column.

    From zeros alone no entry can move, because its optimum is undefined. In one sweep, lone entries
    attract others.
    """
    H = np.minimum(lone_items(loss, r), np.asarray(loss.upper, dtype=loss.A.dtype))
    lift = float(H.max(initial=0.0))
    if lift > 0:
        loss.sweep(H, loss.sums(H), np.arange(len(H)), empty=lift)
        loss.tidy(H)
    return H


def lone_items(loss: Loss, r: int) -> Array:
    """Return no memberships but one a column, of an item that no other column holds.

    These are the best-connected items that are not linked to each other, as far as there are such.
    """
    A = loss.A
    H = np.zeros((A.n, r), dtype=A.dtype)
    score = degrees(A)
    for l in range(min(r, A.n)):
        k = int(np.argmax(score))
        H[k, l] = np.sqrt(A.largest)
        linked = np.flatnonzero(A.full_rows(np.array([k]))[0] > 0)
        score[linked] -= np.ptp(score[np.isfinite(score)]) + A.largest
        score[k] = -np.inf
    return H


def _fit_of(name: str) -> Callable[[Loss, int, RandomSource], Array]:
    """Return the start that is another loss's fit from the greedy start."""

    def start(loss: Loss, r: int, rng: RandomSource) -> Array:
        other = another_loss(name, loss)
        run = Run(other, greedy(other, r))
        H = run.complete()
        if run.status == "interrupted":  # half a start is none
            raise KeyboardInterrupt
        return H

    return start


def named_or_array(init: Any, A: Similarity, r: int, down: Callable[[Any], Any]) -> Any:
    """Return the start by name, or as an array (n x r) for A, to whose scale ``down`` brings it."""
    if isinstance(init, str):
        return init
    sets = as_sets(init, A.n, r)
    if sets is not None:
        return of_sets(A, r, sets)
    return down(as_csr(init, "init").toarray() if sparse.issparse(init) else init)


def of_sets(A: Similarity, r: int, sets: list[Array]) -> Array:
    """Return in column l, for the items of set l, the root of their mean similarity."""
    M = np.zeros((A.n, r), dtype=A.dtype)
    for l, items in enumerate(sets):
        M[items, l] = 1
    inside = np.einsum("il,il->l", M, weighted_product(A, M)).astype(np.float64)
    sizes = M.sum(axis=0, dtype=np.float64)
    density = np.maximum(inside, 0.0) / np.maximum(sizes * (sizes - 1.0), 1.0)
    return M * np.sqrt(density).astype(A.dtype)


STARTS: dict[str, Callable[[Loss, int, RandomSource], Array]] = {
    "greedy": greedy,
    "spectral": spectral,
    "nndsvd": nndsvd,
    "random": random,
    "zero": zero,
    "l2": _fit_of("l2"),
    "mixed": _fit_of("mixed"),
}


def start(loss: Loss, r: int, init: Any, rng: RandomSource) -> Array:
    """Return the start that ``init`` names, or a copy of the array it is, within the bounds."""
    if isinstance(init, str):
        if init not in STARTS:
            known = ", ".join(repr(name) for name in STARTS)
            raise ValueError(
                f"init={init!r} is not known; use {known}, an array (n x r), labels or sets."
            )
        H = STARTS[init](loss, r, rng)
    else:
        sets = as_sets(init, loss.A.n, r)
        H = given(loss.A, r, init) if sets is None else of_sets(loss.A, r, sets)
    np.minimum(H, np.asarray(loss.upper, dtype=H.dtype), out=H)
    return np.ascontiguousarray(H)


def given(A: Similarity, r: int, H: Any, name: str = "init") -> Array:
    """Return a copy of H, checked, in the precision of A."""
    sound = sparse.issparse(H) and H.shape == (A.n, r)
    H = as_csr(H, name).toarray() if sound else np.asarray(H)
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
