"""Overlapping clusters: strengths, and the sets that a rule makes of them."""

from typing import Any, Literal

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Scales, harm
from odsymnmf.inputs import called, is_frame
from odsymnmf.members import Members, as_members
from odsymnmf.memberships._checks import as_memberships, like, scales_of, similarity_of
from odsymnmf.signals import held

Rule = Literal["strength", "row", "column", "harm"]

# The default threshold of each rule; docs/choices.md has the reasons.
LEAST: dict[Rule, float] = {"strength": 0.2, "row": 0.5, "column": 0.15, "harm": 0.01}


def strength(H: Any) -> Any:
    """Return the share of item i's explained similarity that cluster l explains.

    It is H_il sum_{j != i} H_jl divided by the same summed over all clusters: a row sums to one,
    unless the item shares no cluster with any other item.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.

    Returns
    -------
    ndarray of shape (n, r), a CSR array if H is sparse, or a DataFrame if H is one

    Examples
    --------
    >>> from odsymnmf.memberships import strength
    >>> strength([[1, 0], [1, 1], [0, 1], [0, 1]])
    array([[1. , 0. ], [0.33333333, 0.66666667], [0. , 1. ], [0. , 1. ]])
    """
    if sparse.issparse(H):
        members = as_members(H)
        by_entry = (members.strength, members.H.indices, members.H.indptr)
        return sparse.csr_array(by_entry, shape=members.H.shape)
    M = as_memberships(H).astype(np.float64, copy=False)
    ties = M * np.maximum(M.sum(axis=0) - M, 0.0)
    total = ties.sum(axis=1, keepdims=True)
    return like(H, np.divide(ties, total, out=np.zeros_like(ties), where=total > 0))


def overlapping_sets(
    H: Any,
    threshold: float | None = None,
    *,
    rule: Rule = "strength",
    A: Any = None,
    loss: Literal["l2", "l1", "mixed"] | Scales = "l2",
) -> list[Any]:
    """Return the items of every cluster; an item may be in several, or in none.

    Item i belongs to cluster l if H_il > 0 and, depending on the rule,

    - "strength": at least the share ``threshold`` (0.2) of what is explained of i's similarities
      is explained by l, `strength`;
    - "row": H_il >= threshold (0.5) max_t H_it, a share of the item's largest membership;
    - "column": H_il >= threshold (0.15) max_j H_jl, a share of the cluster's largest membership;
    - "harm": the fit would become worse without the membership. With H_il set to zero and nothing
      else changed, f_i = sum_{j != i} |A_ij - h_i . h_j|^p would increase by more than
      ``threshold`` (0.01) times sum_{j != i} |A_ij|^p, the value of f_i without memberships.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.
    threshold : float from 0 to 1, optional
        Threshold of the rule; each rule has its own default, given above.
    rule : {"strength", "row", "column", "harm"}
        Which items belong.
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        What H was fitted to, normalised as it was then; for "harm" only.
    loss : {"l2", "l1", "mixed"} or Scales
        p = 2, p = 1, or both; for "harm" only. The `Scales` of a fit say how much of each.

    Returns
    -------
    list of r arrays
        The items of each cluster, the strongest member first: their numbers, or if H is a
        DataFrame, their names (then lists).

    Examples
    --------
    >>> from odsymnmf.memberships import overlapping_sets
    >>> H = [[1.0, 0.0], [1.0, 0.4], [0.0, 2.5]]
    >>> [items.tolist() for items in overlapping_sets(H)]
    [[0, 1], [2, 1]]
    >>> [items.tolist() for items in overlapping_sets(H, rule="row")]
    [[0, 1], [2]]
    >>> A = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> [items.tolist() for items in overlapping_sets(H, rule="harm", A=A)]
    [[0, 1], [2, 1]]
    """
    names = list(H.index) if is_frame(H) else None
    if rule not in LEAST:
        known = ", ".join(repr(name) for name in LEAST)
        raise ValueError(f"rule={rule!r} is not known; use one of {known}.")
    least = LEAST[rule] if threshold is None else threshold
    if isinstance(least, str) or not 0 <= least <= 1:
        raise ValueError(f"threshold must be from 0 to 1; got {threshold!r}.")
    if sparse.issparse(H):
        return _sparse_sets(as_members(H), rule, least, A, loss)
    H = as_memberships(H)
    if rule == "strength":
        belongs = strength(H) >= least
    elif rule == "row":
        belongs = least * H.max(axis=1, keepdims=True) <= H
    elif rule == "column":
        belongs = least * H.max(axis=0, initial=0.0) <= H
    else:
        similarity = similarity_of(A, H)
        rises, alone = harm(similarity, H, scales_of(loss, similarity))
        belongs = rises > least * alone[:, None]
    belongs &= H > 0
    order = np.argsort(-H, axis=0, kind="stable")
    sets = [order[belongs[order[:, l], l], l] for l in range(H.shape[1])]
    return called(sets, names)


def _sparse_sets(members: Members, rule: Rule, least: float, A: Any, loss: Any) -> list[Any]:
    """Return the sets that a rule makes of sparse memberships; nothing of n x r is made."""
    if rule == "strength":
        return members.sets(least)
    if rule == "row":
        return members.row_sets(least)
    if rule == "column":
        return members.column_sets(least)
    return members.sets_of(_harmful_entries(members, A, loss, least))


def _harmful_entries(members: Members, A: Any, loss: Any, least: float) -> Array:
    """Return which memberships could not go without harm, entry by entry."""
    with held():  # this imports Numba, which Ctrl-C must not cut in two
        from odsymnmf.engine.many.harm import entry_harm
    similarity = similarity_of(A, members.H)
    rises, alone = entry_harm(similarity, members.H, scales_of(loss, similarity))
    found: Array = rises > least * alone[members.rows]
    return found
