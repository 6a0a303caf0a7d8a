"""From similarities to as many overlapping clusters as they have."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.engine.many import starts
from odsymnmf.engine.many.losses import KINDS, SparseFit
from odsymnmf.engine.many.memberships import Memberships, column_sets
from odsymnmf.engine.many.merging import merge_sets
from odsymnmf.engine.many.sweep import Progress
from odsymnmf.kernels.sparse_arrays import Links

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
    loss: str = "l2",
    upper: float | None = None,
    merge: bool = True,
    after: int = AFTER,
    progress: Progress | None = None,
    **options: Any,
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
    merge : bool
        Put parts of one group together after the first sweeps.
    after : int
        Sweeps after that.
    progress : callable, optional
        Called with the number of rows done, block by block.
    **options
        Of the loss: ``share``, the price of a membership, for `SparseL2`.

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

    def make(M: Memberships) -> SparseFit:
        return KINDS[loss](A, M, upper=bound, **options)

    if merge:
        M = merged(A, M, make, progress)
    fit = make(M)
    for _ in range(after if merge else BEFORE + after):
        fit.sweep(progress)
    M.drop_empty()
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return M.csr()[inverse]


def merged(
    A: Links,
    M: Memberships,
    make: Callable[[Memberships], SparseFit],
    progress: Progress | None = None,
) -> Memberships:
    """Return memberships in which parts of one group are put together, after a few sweeps.

    Parameters
    ----------
    A : Links
    M : Memberships
        Changed by the sweeps.
    make : callable
        Makes the fit whose sweeps these are.
    progress : callable, optional
        As for `find`.
    """
    for _ in range(MERGERS):
        fit = make(M)
        for _ in range(BEFORE):
            fit.sweep(progress)
        parts = column_sets(M.csr(), FRACTION, 2)
        whole = merge_sets(A, parts)
        M = Memberships(starts.memberships_of(A, whole), M.dtype)
        if len(whole) >= SETTLED * len(parts):
            break
    return M


def natural_bound(A: Links) -> float:
    """Return the root of the largest similarity, or infinity if none is positive."""
    largest = float(A.data.max(initial=0.0))
    return float(np.sqrt(largest)) if largest > 0 else np.inf
