"""Greedy initialization (Algorithm 6 of the paper): one column after another on the residual."""

from typing import Any

import numpy as np

from odsymnmf import kernels
from odsymnmf.utils import Array

# The virtual diagonal of A, as a multiple of the largest similarity.
SELF_SIMILARITY = 2.0
# A small column is complete after this many additions in a row without a membership.
PATIENCE = 10


class Growth:
    """A column on top of those of H that ``columns`` holds the sums of.

    Items are picked one by one, each with the largest score s = A w - B (B^T w), where w = A 1_J
    sums the similarities to the items J picked so far and B holds the other columns. The first
    entry is the root of the largest similarity, so that H scales with A.
    """

    def __init__(self, solver: Any, H: Array, degrees: Array, columns: Array):
        A, n = solver.A, solver.A.n
        self.solver, self.H = solver, H
        self.B = H[:, : len(columns)]
        self.own = SELF_SIMILARITY * A.max_value
        first = min(np.sqrt(A.max_value), solver.upper)
        self.column = kernels.greedy.Column(
            np.zeros(n, dtype=H.dtype), np.zeros(len(columns)), np.zeros(2), float(first)
        )
        self.taken = np.zeros(n, dtype=bool)
        self.begun = False
        # Until an item has been picked, all count: w = 1.
        self.v, self.c = degrees + self.own, columns
        # w = A 1_J, v = A w and c = B^T w, once an item is picked.
        self.w, self.sums = np.zeros(n), (np.zeros(n), np.zeros(len(columns)))

    def pick(self, avoid: Array | None = None) -> bool:
        """Add the best item, the first outside ``avoid``; return whether its entry is positive."""
        excluded = self.taken if self.begun or avoid is None else avoid
        k = kernels.greedy.best(self.v, self.H, self.c, excluded)
        self.solver.set_greedy_entries(np.array([k]), self.H, self.column)
        self.taken[k] = self.begun = True
        self.v, self.c = self._add(int(k))
        return bool(self.column.h[k] > 0)

    def follow(self, only_scored: bool) -> Array:
        """Place the other items in the order of their scores, or those with a positive score.

        Return them.
        """
        A = self.solver.A
        rest = np.flatnonzero(~self.taken & (self.v > 0) if only_scored else ~self.taken)
        scores = self.v[rest] - np.einsum("il,l->i", self.B[rest], self.c)
        order = np.argsort(-scores, kind="stable")
        rest = rest[order[scores[order] > 0] if only_scored else order]
        for b in A.item_blocks(len(rest)):
            self.solver.set_greedy_entries(rest[b], self.H, self.column)
        return rest

    def _add(self, k: int) -> tuple[Array, Array]:
        """Add item k to J; return v and c."""
        A: Any = self.solver.A
        if A.stored is not None:  # v changes in the two-hop neighborhood of k only
            v, c = self.sums
            csr, weigh = A.stored, kernels.greedy.weigh
            weigh(k, csr.indptr, csr.indices, csr.data, self.own, self.H, v, c)
            return v, c
        self.w += A.rows(np.array([k])).data
        self.w[k] += self.own
        v = A.matmul(self.w.astype(A.dtype)).astype(np.float64)
        return v + self.own * self.w, self.B.T @ self.w


def grow(solver: Any, H: Array, degrees: Array, columns: Array, picks: int) -> Array:
    """Build a column of the greedy start: the first ``picks`` items one by one, then all others."""
    growth = Growth(solver, H, degrees, columns)
    for _ in range(min(solver.A.n, picks)):
        growth.pick()
    growth.follow(only_scored=False)
    return growth.column.h


def regrow(
    solver: Any, H: Array, degrees: Array, columns: Array, picks: int, avoid: Array
) -> tuple[Array, Array]:
    """Build a column that replaces another: small, so that it costs little.

    The first item is not in ``avoid``. PATIENCE items in a row without a membership end the
    one-by-one additions; of the others only those with a positive score are tried. Return the
    column and the items that were tried.
    """
    growth, in_vain = Growth(solver, H, degrees, columns), 0
    for _ in range(min(solver.A.n, picks)):
        in_vain = 0 if growth.pick(avoid) else in_vain + 1
        if in_vain == PATIENCE:
            break
    picked = np.flatnonzero(growth.taken)
    return growth.column.h, np.append(picked, growth.follow(only_scored=True))


def greedy(solver: Any, r: int, rng: Any = None) -> Array:
    """Return columns that are built greedily, one after another."""
    A = solver.A
    H = np.zeros((A.n, r), dtype=A.dtype)
    if A.max_value > 0:
        similar, columns = A.degrees(), np.zeros(r)
        for j in range(r):
            H[:, j] = grow(solver, H, similar, columns[:j], picks=2 * r - 2)
            columns[j] = H[:, j].sum(dtype=np.float64)
    return H
