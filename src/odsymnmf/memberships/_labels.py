"""One cluster per item, and the order of the clusters."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from odsymnmf.members import as_members
from odsymnmf.memberships._checks import as_memberships, like

UNASSIGNED = -1


def labels(H: Any) -> Any:
    """Return argmax_l H_il for each item i, and -1 (unassigned) where its row is all zero.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.

    Returns
    -------
    ndarray of shape (n,), or Series if H is a DataFrame

    Examples
    --------
    >>> from odsymnmf.memberships import labels
    >>> labels([[0.9, 0.1], [0.2, 0.7], [0.0, 0.0]])
    array([ 0,  1, -1])
    """
    if sparse.issparse(H):
        return as_members(H).label
    M = as_memberships(H)
    best = np.where(M.any(axis=1), M.argmax(axis=1), UNASSIGNED)
    return like(H, best)


def canonical_order(H: ArrayLike) -> NDArray[np.intp]:
    """Return the order of the columns that puts the largest total membership sum_i H_il first.

    Totals that agree to six digits count as equal; of such columns, the one whose first strong
    item (at least half of the column's largest entry) comes earlier goes first. ``H[:, order]``
    is the same in all runs that found the same H up to the order of its columns.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.

    Returns
    -------
    ndarray of shape (r,)

    Examples
    --------
    >>> from odsymnmf.memberships import canonical_order
    >>> canonical_order([[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0]])
    array([1, 2, 0])
    """
    if sparse.issparse(H):
        return as_members(H).canonical_order
    H = as_memberships(H)
    totals = H.sum(axis=0, dtype=np.float64)
    top = totals.max(initial=0.0)
    digits = np.round(totals / top, 6) if top > 0 else totals
    first_strong = np.argmax(0.5 * H.max(axis=0) <= H, axis=0)
    return np.lexsort((first_strong, -digits))
