"""How time and memory of one sweep, or one start, grow with n, K and r."""

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.engine.losses import make_loss
from odsymnmf.engine.starts import fitted, greedy
from odsymnmf.paper import algorithm_5, algorithm_6
from odsymnmf.paper.algorithm_1 import odsymnmf
from odsymnmf.paper.algorithm_2 import odsymnmf_l2
from odsymnmf.paper.algorithm_3 import rank_one_l1
from odsymnmf.paper.algorithm_4 import odsymnmf_l1
from odsymnmf.paper.symnmf import symnmf
from odsymnmf.similarity import as_similarity

Step = Callable[[], object]

AXES = ("n, full A", "n, sparse A", "K", "r")
# Stored entries per item of a sparse A.
DEGREE = 16


@dataclass(frozen=True)
class Algorithm:
    """One sweep or start: how it is called, at which sizes, and the orders to compare with.

    ``time`` and ``memory`` are the exponents by the axes: full A, sparse A, K, r.
    """

    prepare: Callable[[Any, Array], Step]
    n: int
    r: int
    time: tuple[str, str, str, str]
    memory: tuple[str, str, str, str]
    sparse: bool = False


def _transcribed(call: Callable[..., Any]) -> Callable[[Any, Array], Step]:
    return lambda A, H: partial(call, A, H, sweeps=1, upper=np.inf)


def _residual_l1(A: Array, H: Array, *, sweeps: int, upper: float) -> Array:
    return odsymnmf(A, H, partial(rank_one_l1, upper=upper), sweeps=sweeps)


def _greedy(call: Callable[..., Any], p: int) -> Callable[[Any, Array], Step]:
    return lambda A, H: partial(call, A, H.shape[1], p, upper=np.inf)


def _engine(loss: str, diagonal: str = "ignore") -> Callable[[Any, Array], Step]:
    def prepare(A: Any, H: Array) -> Step:
        measure = make_loss(loss, as_similarity(A), np.inf, diagonal=diagonal)
        items = np.arange(len(H))
        return lambda: measure.sweep(H.copy(), measure.sums(H), items)

    return prepare


def _engine_greedy(loss: str) -> Callable[[Any, Array], Step]:
    def prepare(A: Any, H: Array) -> Step:
        return partial(greedy, make_loss(loss, as_similarity(A), np.inf), H.shape[1])

    return prepare


PAPER: dict[str, Algorithm] = {
    "Algorithm 2, l2": Algorithm(
        _transcribed(odsymnmf_l2), 500, 2, ("2", "1", "1", "1"), ("2", "1", "1", "0")
    ),
    "Algorithms 1 and 3, l1": Algorithm(
        _transcribed(_residual_l1), 100, 2, ("2", "2", "0", "1"), ("2", "2", "0", "0")
    ),
    "Algorithm 4, l1": Algorithm(
        _transcribed(odsymnmf_l1), 100, 2, ("2", "2", "0", "2"), ("2", "1", "1", "0")
    ),
    "symNMF": Algorithm(_transcribed(symnmf), 100, 2, ("2", "1", "1", "1"), ("2", "1", "1", "0")),
    "Algorithm 5, greedy, l2": Algorithm(
        _greedy(algorithm_5.greedy_init, 2), 100, 2, ("3", "3", "0", "1"), ("2", "2", "0", "0")
    ),
    "Algorithm 6, greedy, l2": Algorithm(
        _greedy(algorithm_6.greedy_init, 2), 250, 2, ("2", "2", "0", "2"), ("2", "1", "1", "0")
    ),
    "Algorithm 6, greedy, l1": Algorithm(
        _greedy(algorithm_6.greedy_init, 1), 100, 2, ("2", "2", "0", "2"), ("2", "1", "1", "0")
    ),
}
_BY_STORED = ("", "1", "1", "1 to 2")
_STORED = ("", "1", "1", "0 to 1")
_BY_FULL = ("2", "2", "0", "1")
_FULL = ("2", "2", "0", "0")
OURS: dict[str, Algorithm] = {
    "l2, full": Algorithm(_engine("l2"), 500, 4, _BY_FULL, _FULL),
    "l1, full": Algorithm(_engine("l1"), 250, 4, _BY_FULL, _FULL),
    "l2, sparse": Algorithm(_engine("l2"), 5000, 4, _BY_STORED, _STORED, True),
    "l1, sparse": Algorithm(_engine("l1"), 5000, 4, _BY_STORED, _STORED, True),
    "symNMF, sparse": Algorithm(_engine("l2", "fit"), 5000, 4, _BY_STORED, _STORED, True),
    "greedy, l2, sparse": Algorithm(
        _engine_greedy("l2"), 2500, 4, ("", "1", "1", "2"), _STORED, True
    ),
    "greedy, l1, sparse": Algorithm(
        _engine_greedy("l1"), 2500, 4, ("", "1", "1", "2"), _STORED, True
    ),
}


def sizes(algorithm: Algorithm, axis: str, steps: int) -> list[tuple[int, int, int]]:
    """Return (n, entries per item, r) for each step; n entries per item mean a full A."""
    n, r = algorithm.n, algorithm.r
    doublings = [2**step for step in range(steps)]
    if axis == "n, full A":
        return [(n * d, n * d, r) for d in doublings]
    if axis == "n, sparse A":
        return [(n * d, DEGREE, r) for d in doublings]
    if axis == "K":
        # Enough entries per item to outweigh what an item costs without any.
        least = 2 * DEGREE if algorithm.sparse else DEGREE // 2
        return [(4 * n, least * d, r) for d in doublings]
    items, degree = (4 * n, DEGREE) if algorithm.sparse else (2 * n, 2 * n)
    return [(items, degree, r * d) for d in doublings]


def similarities(n: int, degree: int, rng: np.random.Generator) -> Any:
    """Return a random symmetric A with about so many entries per item (all, if as many as n)."""
    if degree >= n:
        A = rng.random((n, n))
        return (A + A.T) / 2
    rows, columns = (rng.integers(n, size=n * degree // 2) for _ in range(2))
    half = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    return sparse.csr_array(half + half.T)


def growth(name: str, axis: str, steps: int, repeats: int, seed: int) -> dict[str, Any]:
    """Return least seconds and most bytes at each size; repeats go round all sizes in turn."""
    algorithm = {**PAPER, **OURS}[name]
    rng = np.random.default_rng(seed)
    tasks, x, memory = [], [], []
    for n, degree, r in sizes(algorithm, axis, steps):
        A = similarities(n, degree, rng)
        stored = A.nnz if sparse.issparse(A) else A.size
        x.append({"K": stored, "r": r}.get(axis, n))
        if not algorithm.sparse and sparse.issparse(A):
            A = A.toarray()
        # Two sweeps of l2 make H one that a fit would meet.
        warm = make_loss("l2", as_similarity(A), np.inf)
        H = fitted(warm.A, rng.random((n, r)))
        sums = warm.sums(H)
        for _ in range(2):
            warm.sweep(H, sums, np.arange(n))
        task = algorithm.prepare(A, H)
        if name in OURS:
            task()  # compiles
        memory.append(size_of(A) + peak(task))
        tasks.append(task)
    seconds = np.full((repeats, len(tasks)), np.inf)
    for repeat in range(repeats):
        for place, task in enumerate(tasks):
            begun = time.process_time()
            task()
            seconds[repeat, place] = time.process_time() - begun
    return {"x": x, "seconds": seconds.min(axis=0).tolist(), "bytes": memory}


def size_of(A: Any) -> int:
    arrays = (A.data, A.indices, A.indptr) if sparse.issparse(A) else (A,)
    return int(sum(array.nbytes for array in arrays))


def peak(call: Step) -> int:
    """Return the most bytes that were held while the call ran, beyond those before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def slope(x: list[float], y: list[float]) -> float:
    """Return the exponent b of the best fit y = a x^b.

    Examples
    --------
    >>> round(slope([1, 2, 4], [3, 12, 48]), 6)
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
