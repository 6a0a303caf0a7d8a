"""Statistics of H for labels, sets, plots and reports, computed from its nonzero entries."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from odsymnmf.inputs import kind_of
from odsymnmf.utils import Array, as_csr


class MembershipView:
    """Statistics of H >= 0, computed from its nonzero entries without an n x r array.

    ``H`` is a CSR array in canonical form without stored zeros; ``labels``, if given, replace the
    cluster of the largest membership.
    """

    def __init__(self, H: sparse.csr_array, labels: ArrayLike | None = None) -> None:
        self.H = H
        self.n, self.r = int(H.shape[0]), int(H.shape[1])
        if labels is not None:
            self.labels = np.asarray(labels, dtype=np.intp)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The item of every entry."""
        return np.repeat(np.arange(self.n), np.diff(self.H.indptr))

    @cached_property
    def peaks(self) -> Array:
        """max_l H_il for every item."""
        return self.H.max(axis=1).toarray().ravel()

    @cached_property
    def column_peaks(self) -> Array:
        """max_i H_il for every cluster."""
        return self.H.max(axis=0).toarray().ravel()

    @cached_property
    def totals(self) -> Array:
        """sum_i H_il for every cluster."""
        data = self.H.data.astype(np.float64)
        return np.bincount(self.H.indices, weights=data, minlength=self.r)

    @cached_property
    def labels(self) -> NDArray[np.intp]:
        """The cluster of the largest membership (ties: the first); -1 for an empty row."""
        labels = np.full(self.n, -1, dtype=np.intp)
        largest = np.flatnonzero(self.H.data == self.peaks[self.rows])[::-1]
        labels[self.rows[largest]] = self.H.indices[largest]  # in reverse: the first one stays
        return labels

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Number of items with each label."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.r)

    @cached_property
    def explained(self) -> Array:
        """For every entry, the similarity that it explains, H_il sum_{j != i} H_jl."""
        data = self.H.data.astype(np.float64)
        return data * np.maximum(self.totals[self.H.indices] - data, 0.0)

    @cached_property
    def strength(self) -> Array:
        """For every entry, the fraction of the item's explained similarity."""
        total = np.bincount(self.rows, weights=self.explained, minlength=self.n)[self.rows]
        return np.divide(self.explained, total, out=np.zeros_like(self.explained), where=total > 0)

    @cached_property
    def percent(self) -> NDArray[np.intp]:
        """`strength` in percent, rounded."""
        return np.rint(100 * self.strength).astype(np.intp)

    @cached_property
    def label_strength(self) -> Array:
        """The strength of every item in the cluster of its label, else 0."""
        strength = np.zeros(self.n)
        is_label = self.H.indices == self.labels[self.rows]
        strength[self.rows[is_label]] = self.strength[is_label]
        return strength

    @cached_property
    def ranked(self) -> NDArray[np.intp]:
        """The entries row by row: the cluster of the label first, then by strength."""
        columns = self.H.indices
        is_not_label = columns != self.labels[self.rows]
        return np.lexsort((columns, -self.strength, is_not_label, self.rows))

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The items cluster by cluster, the strongest member first; unassigned items last."""
        return np.lexsort((-self.peaks, np.where(self.labels < 0, self.r, self.labels)))

    @cached_property
    def edges(self) -> NDArray[np.intp]:
        """Boundaries in `order`: cluster l is ``order[edges[l] : edges[l + 1]]``."""
        return np.concatenate([[0], np.cumsum(self.sizes)])


def as_view(H: Any, n: int | None = None, labels: ArrayLike | None = None) -> MembershipView:
    """Return a view of memberships or of a result, of n items if given."""
    if isinstance(H, MembershipView):
        view = H
    else:
        labels = getattr(H, "labels_", None) if labels is None else labels
        view = MembershipView(nonzeros(as_matrix(H)), labels)
    if n is not None and view.n != n:
        raise ValueError(f"A has {n} items, but H has {view.n} rows.")
    return view


def as_matrix(H: Any) -> Any:
    """Return H, that of a model or of a Factorization, as a two-dimensional array or CSR array."""
    if hasattr(H, "fit"):
        check_is_fitted(H)
    if hasattr(H, "membership_"):
        H = H.membership_
    elif hasattr(H, "history"):  # not `hasattr(H, "H")`: sparse matrices have this, too
        H = H.H
    M = as_csr(H, "H") if sparse.issparse(H) else np.asarray(H)
    if M.ndim != 2 or 0 in M.shape:
        raise ValueError(f"H must have shape (n items, r clusters); got {M.shape}.")
    return M


def nonzeros(M: Any) -> sparse.csr_array:
    """Return a CSR array in canonical form without stored zeros."""
    if not sparse.issparse(M):
        return sparse.csr_array(M)
    if not M.has_canonical_format or not M.data.all():
        M = M.copy()
        M.sum_duplicates()
        M.eliminate_zeros()
    return M


def names_of(H: Any) -> list[Any] | None:
    """Return the names of the items of a DataFrame, a model or a Factorization."""
    if kind_of(H) == "pandas":
        return list(H.index)
    return getattr(H, "item_names_" if hasattr(H, "membership_") else "names", None)
