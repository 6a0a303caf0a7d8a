"""The initializations of a dense H by name, from arrays, labels or sets.

"multilevel" is an array here: `odsymnmf.fit.prepare` partitions the graph.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from odsymnmf.init.arrays import as_sets, from_array, from_sets, random, zero
from odsymnmf.init.greedy import greedy
from odsymnmf.init.spectral import spectral
from odsymnmf.utils import Array, RandomSource

INITIALIZATIONS: dict[str, Callable[[Any, int, RandomSource], Array]] = {
    "greedy": greedy,
    "spectral": spectral,
    "random": random,
    "zero": zero,
}


def initialize(solver: Any, r: int, init: Any, rng: RandomSource) -> Array:
    """Return H by the name ``init``, or a copy of an array, within the bounds."""
    if isinstance(init, str):
        if init not in INITIALIZATIONS:
            known = ", ".join(repr(name) for name in ("multilevel", *INITIALIZATIONS))
            raise ValueError(
                f"init={init!r} is not known; use {known}, an array (n x r), labels or sets."
            )
        H = INITIALIZATIONS[init](solver, r, rng)
    else:
        sets = as_sets(init, solver.A.n, r)
        H = from_array(solver.A, r, init) if sets is None else from_sets(solver.A, r, sets)
    np.minimum(H, np.asarray(solver.upper, dtype=H.dtype), out=H)
    return np.ascontiguousarray(H)
