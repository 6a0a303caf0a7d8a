"""Memberships by their non-zeros: who is in which cluster, and how strongly."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from odsymnmf.arrays import Array, as_csr


@dataclass(frozen=True)
class Members:
    """H >= 0 by its non-zero entries, row after row; no method forms an array of n x r.

    Attributes
    ----------
    H : csr_array of shape (n, r)
        In canonical form, without stored zeros.
    given : ndarray of shape (n,), optional
        The cluster of every item, -1 for none, where that is not the largest membership.
    """

    H: sparse.csr_array
    given: Array | None = None

    @property
    def n(self) -> int:
        """Number of items."""
        return int(self.H.shape[0])

    @property
    def r(self) -> int:
        """Number of clusters."""
        return int(self.H.shape[1])

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The item of every entry."""
        return np.repeat(np.arange(self.n), np.diff(self.H.indptr))

    @cached_property
    def peak(self) -> Array:
        """The largest membership of every item, max_l H_il."""
        peak = np.zeros(self.n)
        np.maximum.at(peak, self.rows, self.H.data)
        return peak

    @cached_property
    def column_peak(self) -> Array:
        """The largest membership in every cluster, max_i H_il."""
        peak = np.zeros(self.r)
        np.maximum.at(peak, self.H.indices, self.H.data)
        return peak

    @cached_property
    def label(self) -> NDArray[np.intp]:
        """The given cluster, or that of the largest membership (ties: the first); -1 for none."""
        if self.given is not None:
            return self.given.astype(np.intp)
        label = np.full(self.n, -1, dtype=np.intp)
        # Backwards, so that the first of equals is written last.
        largest = np.flatnonzero(self.H.data == self.peak[self.rows])[::-1]
        label[self.rows[largest]] = self.H.indices[largest]
        return label

    @cached_property
    def canonical_order(self) -> NDArray[np.intp]:
        """The columns by their total, ties by their first strong item."""
        data, columns = self.H.data, self.H.indices
        totals = np.bincount(columns, weights=data.astype(np.float64), minlength=self.r)
        top = totals.max(initial=0.0)
        digits = np.round(totals / top, 6) if top > 0 else totals
        strong = np.flatnonzero(data >= 0.5 * self.column_peak[columns])[::-1]
        first = np.zeros(self.r, dtype=np.intp)
        first[columns[strong]] = self.rows[strong]  # backwards: the first is written last
        return np.lexsort((first, -digits))

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """The number of items whose own cluster each is."""
        return np.bincount(self.label[self.label >= 0], minlength=self.r)

    @cached_property
    def strength(self) -> Array:
        """For every entry, H_il sum_{j != i} H_jl, divided by its sum over the row."""
        data = self.H.data.astype(np.float64)
        totals = np.bincount(self.H.indices, weights=data, minlength=self.r)
        ties = data * np.maximum(totals[self.H.indices] - data, 0.0)
        whole = np.bincount(self.rows, weights=ties, minlength=self.n)[self.rows]
        return np.divide(ties, whole, out=np.zeros_like(ties), where=whole > 0)

    @cached_property
    def percent(self) -> NDArray[np.intp]:
        """`strength` in whole per cent: rounded once, so that it is the same wherever shown."""
        return np.rint(100 * self.strength).astype(np.intp)

    @cached_property
    def own(self) -> Array:
        """The strength of every item in its own cluster; 0 for an item of none."""
        own = np.zeros(self.n)
        mine = self.H.indices == self.label[self.rows]
        own[self.rows[mine]] = self.strength[mine]
        return own

    @cached_property
    def explained(self) -> Array:
        """How much similarity each cluster explains, sum_{i != j} H_il H_jl."""
        data = self.H.data.astype(np.float64)
        totals = np.bincount(self.H.indices, weights=data, minlength=self.r)
        squares = np.bincount(self.H.indices, weights=data**2, minlength=self.r)
        return np.maximum(totals**2 - squares, 0.0)

    @cached_property
    def ranked(self) -> NDArray[np.intp]:
        """The entries row after row: an item's own cluster first, then by strength."""
        columns = self.H.indices
        other = columns != self.label[self.rows]
        return np.lexsort((columns, -self.strength, other, self.rows))

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The items cluster after cluster, the strongest member first; those of none last."""
        place = np.where(self.label < 0, self.r, self.label)
        return np.lexsort((-self.peak, place))

    @cached_property
    def edges(self) -> NDArray[np.intp]:
        """Where clusters begin in `order`: cluster l from edges[l] to edges[l + 1]."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    def entries(self, item: int) -> NDArray[np.intp]:
        """Return the entries of an item, as `ranked` has them."""
        return self.ranked[self.H.indptr[item] : self.H.indptr[item + 1]]

    def sets(self, least: float = 0.2) -> list[NDArray[np.intp]]:
        """Return the items of every cluster whose `strength` there is enough, the strongest first.

        What `odsymnmf.memberships.overlapping_sets` returns.
        """
        return self.sets_of(self.strength >= least)

    def row_sets(self, share: float = 0.5) -> list[NDArray[np.intp]]:
        """Return the items of every cluster with H_il >= share max_t H_it, the strongest first."""
        return self.sets_of(self.H.data >= share * self.peak[self.rows])

    def column_sets(self, share: float = 0.2) -> list[NDArray[np.intp]]:
        """Return the items of every cluster with H_il >= share max_j H_jl, the strongest first."""
        return self.sets_of(self.H.data >= share * self.column_peak[self.H.indices])

    def sets_of(self, belongs: Array) -> list[NDArray[np.intp]]:
        """Return the items of every cluster whose entries are marked, the strongest first."""
        data, columns = self.H.data, self.H.indices
        held = np.flatnonzero(belongs)
        held = held[np.lexsort((self.rows[held], -data[held], columns[held]))]
        ends = np.cumsum(np.bincount(columns[held], minlength=self.r))
        return np.split(self.rows[held], ends[:-1])


def as_members(H: Any, n: int | None = None, labels: Any = None) -> Members:
    """Return memberships by their non-zeros, after checking that they are those of (n) items."""
    if isinstance(H, Members):
        members = H
    elif hasattr(H, "membership_"):
        raise ValueError("H is a fitted model; pass its memberships, model.membership_.")
    else:
        given = H if sparse.issparse(H) else np.asarray(H)
        if given.ndim != 2 or 0 in given.shape:
            raise ValueError(f"H must have shape (n items, r clusters); got {given.shape}.")
        held = as_csr(given, "H") if sparse.issparse(given) else sparse.csr_array(given)
        if not held.has_canonical_format or not held.data.all():
            if sparse.issparse(H):
                held = held.copy()  # the caller's own is left as it is
            held.sum_duplicates()
            held.eliminate_zeros()
        members = Members(held, None if labels is None else np.asarray(labels))
    if n is not None and members.n != n:
        raise ValueError(f"A is of {n} items, but H has {members.n} rows.")
    return members
