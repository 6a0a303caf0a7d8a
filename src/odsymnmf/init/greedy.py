"""Greedy initialization (Algorithm 6 of the paper): one column after another on the residual."""

from typing import Any

import numpy as np

from odsymnmf import kernels
from odsymnmf.utils import Array, blocks

# The virtual diagonal of A, as a multiple of the largest similarity.
SELF_SIMILARITY = 2.0
# A rebuilt column is complete after this many consecutive items without a membership.
MAX_FAILURES = 10


class ColumnBuilder:
    """Build a new column given the columns B of H, whose sums are ``columns``.

    Items are added one by one, each with the largest score s = A w - B (B^T w), where w = A 1_J
    and J are the items added so far (w = 1 for the first). The first entry is the root of the
    largest similarity, so that H scales with A.
    """

    def __init__(self, solver: Any, H: Array, degrees: Array, columns: Array):
        A, n = solver.A, solver.A.n
        self.solver, self.H = solver, H
        self.B = H[:, : len(columns)]
        self.self_similarity = SELF_SIMILARITY * A.max_value
        first = min(np.sqrt(A.max_value), solver.upper)
        self.column = kernels.greedy.Column(
            np.zeros(n, dtype=H.dtype), np.zeros(len(columns)), np.zeros(2), float(first)
        )
        self.taken = np.zeros(n, dtype=bool)
        self.is_started = False
        # v = A w and c = B^T w for w = 1, until an item is added.
        self.v, self.c = degrees + self.self_similarity, columns
        # w = A 1_J, and v and c for this w, from the first item on.
        self.w, self.sums = np.zeros(n), (np.zeros(n), np.zeros(len(columns)))

    def add_best_item(self, avoid: Array | None = None) -> bool:
        """Add the item with the largest score; return whether its entry is positive.

        The first item is not in ``avoid``.
        """
        excluded = self.taken if self.is_started or avoid is None else avoid
        k = kernels.greedy.best_item(self.v, self.H, self.c, excluded)
        self.solver.set_greedy_entries(np.array([k]), self.H, self.column)
        self.taken[k] = self.is_started = True
        self.v, self.c = self._add(int(k))
        return bool(self.column.h[k] > 0)

    def add_remaining_items(self, only_positive: bool) -> Array:
        """Set the entries of all other items in the order of their scores, and return the items.

        With ``only_positive``, those of the items with a positive score.
        """
        A = self.solver.A
        items = np.flatnonzero(~self.taken & (self.v > 0) if only_positive else ~self.taken)
        scores = self.v[items] - np.einsum("il,l->i", self.B[items], self.c)
        order = np.argsort(-scores, kind="stable")
        items = items[order[scores[order] > 0] if only_positive else order]
        for b in blocks(len(items), width=A.row_entries):
            self.solver.set_greedy_entries(items[b], self.H, self.column)
        return items

    def _add(self, k: int) -> tuple[Array, Array]:
        """Add item k to J; return v and c."""
        A: Any = self.solver.A
        if A.stored is not None:  # v changes in the two-hop neighborhood of k only
            v, c = self.sums
            csr, add_item = A.stored, kernels.greedy.add_item
            add_item(k, csr.indptr, csr.indices, csr.data, self.self_similarity, self.H, v, c)
            return v, c
        self.w += A.rows(np.array([k])).data
        self.w[k] += self.self_similarity
        v = A.matmul(self.w.astype(A.dtype)).astype(np.float64)
        return v + self.self_similarity * self.w, self.B.T @ self.w


def build_column(solver: Any, H: Array, degrees: Array, columns: Array, n_picks: int) -> Array:
    """Return a greedy column: the best ``n_picks`` items one by one, then all others by score."""
    builder = ColumnBuilder(solver, H, degrees, columns)
    for _ in range(min(solver.A.n, n_picks)):
        builder.add_best_item()
    builder.add_remaining_items(only_positive=False)
    return builder.column.h


def rebuild_column(
    solver: Any, H: Array, degrees: Array, columns: Array, n_picks: int, avoid: Array
) -> tuple[Array, Array]:
    """Return a greedy column for a restart, and the items that were tried.

    The first item is not in ``avoid``. Items are added one by one until MAX_FAILURES consecutive
    items get no membership; then only the items with a positive score are tried.
    """
    builder, n_failed = ColumnBuilder(solver, H, degrees, columns), 0
    for _ in range(min(solver.A.n, n_picks)):
        n_failed = 0 if builder.add_best_item(avoid) else n_failed + 1
        if n_failed == MAX_FAILURES:
            break
    added = np.flatnonzero(builder.taken)
    return builder.column.h, np.append(added, builder.add_remaining_items(only_positive=True))


def greedy(solver: Any, r: int, rng: Any = None) -> Array:
    """Return H with r columns built one after another by Algorithm 6."""
    A = solver.A
    H = np.zeros((A.n, r), dtype=A.dtype)
    if A.max_value > 0:
        degrees, columns = A.degrees(), np.zeros(r)
        for j in range(r):
            H[:, j] = build_column(solver, H, degrees, columns[:j], n_picks=2 * r - 2)
            columns[j] = H[:, j].sum(dtype=np.float64)
    return H
