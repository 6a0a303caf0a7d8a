"""How much memory a fit will take, before it begins."""

from typing import Any

import numpy as np

from odsymnmf.engine.eigenvectors import room
from odsymnmf.problem import Similarity
from odsymnmf.resources import require

# Below this many bytes nobody is asked: reading the limits takes longer than some fits.
SMALL = 2**26


def peak_memory(A: Similarity, r: int, init: Any) -> int:
    """Return how many bytes a fit takes besides A, at its peak, roughly.

    H, its last complete sweep and one array of that size in double precision (the objective, a
    start, a copy on the way out); the r x r sums and what restarts set aside of them; for features
    the product X^T H; blocks of rows; for a spectral start, the vectors it is made of.
    """
    entry = A.dtype.itemsize
    size = A.n * r * (2 * entry + 8) + 4 * 8 * r * r
    size += 8 * (A.n_features or 0) * r
    size += (8 + 4 + entry) * A.block_entries
    if isinstance(init, str) and init in ("spectral", "nndsvd"):
        size += room(A.n, r) + 3 * 4 * A.n * r
    return size


def require_memory(A: Similarity, r: int, init: Any) -> None:
    """Refuse a fit that cannot fit into the memory available, with the figure and a remedy."""
    size = peak_memory(A, r, init)
    if size > SMALL:
        half = ", or give A in float32" if A.dtype == np.float64 else ""
        require(
            size,
            f"a fit of {A.n:,} items with r={r:,}",
            f"choose a smaller r or cluster fewer items{half}",
        )
