"""From similarities to as many overlapping clusters as they have."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from odsymnmf.engine.many import starts
from odsymnmf.engine.many.memberships import Memberships, column_sets
from odsymnmf.engine.many.merging import merge_sets
from odsymnmf.engine.many.sweep import SHARE, Progress, SparseL1, SparseL2
from odsymnmf.kernels.sparse_arrays import Links

Array = NDArray[Any]

# Sweeps before the columns are merged, and after.
BEFORE, AFTER = 3, 7
# Where mergers leave less than this share of the columns, more will follow: merge again, so often.
SETTLED, MERGERS = 0.97, 3
# An item belongs to a column if its entry is at least this share of the column's largest.
FRACTION = 0.2


def find(
    A: Links,
    sets: list[Array] | None = None,
    *,
    loss: Literal["l2", "l1"] = "l2",
    upper: float | None = None,
    share: float = SHARE,
    merge: bool = True,
    after: int = AFTER,
    progress: Progress | None = None,
) -> sparse.csr_array:
    """Return memberships of as many clusters as the start finds and mergers leave.

    Parameters
    ----------
    A : Links
    sets : list of arrays, optional
        A start; by default `starts.ego_networks`.
    loss : {"l2", "l1"}
    upper : float, optional
        By default the root of the largest similarity: no pair of items can then be explained more
        similar by a cluster than the most similar pair is.
    share : float
        The price of a membership, see `SparseL2`.
    merge : bool
        Put parts of one group together after the first sweeps.
    after : int
        Sweeps after that.
    progress : callable, optional
        Called with the number of rows done, block by block.

    Examples
    --------
    >>> import numpy as np
    >>> from odsymnmf.engine.many.find import find
    >>> from odsymnmf.engine.many.sweep import links
    >>> H = find(links(np.kron(np.eye(3), np.ones((4, 4)))))
    >>> H.shape, H.nnz
    ((12, 3), 12)
    """
    sets = starts.ego_networks(A) if sets is None else sets
    bound = natural_bound(A) if upper is None else upper
    H = starts.memberships_of(A, sets)
    order = starts.order_by_strongest(H)
    A = starts.reordered(A, order)
    M = Memberships(H[order])

    def sweep(M: Memberships, count: int) -> None:
        fit: SparseL1 | SparseL2 = SparseL1(A, M, upper=bound)
        if loss == "l2":
            fit = SparseL2(A, M, upper=bound, share=share)
        for _ in range(count):
            fit.sweep(progress)

    for _ in range(MERGERS if merge else 0):
        sweep(M, BEFORE)
        parts = column_sets(M.csr(), FRACTION, 2)
        whole = merge_sets(A, parts)
        M = Memberships(starts.memberships_of(A, whole))
        if len(whole) >= SETTLED * len(parts):
            break
    sweep(M, after if merge else BEFORE + after)
    M.drop_empty()
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return M.csr()[inverse]


def natural_bound(A: Links) -> float:
    """Return the root of the largest similarity, or infinity if none is positive."""
    largest = float(A.data.max(initial=0.0))
    return float(np.sqrt(largest)) if largest > 0 else np.inf
