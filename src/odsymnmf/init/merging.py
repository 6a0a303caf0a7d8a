"""Merging of sets that are parts of one group, which corrects the number of clusters.

Coordinate descent changes single entries, so it cannot join two columns that are parts of one
group. Two sets are merged if one column on their union would explain nearly as much as two columns.
For disjoint sets of the same size and density p, with density q between them, this is q > 0.26 p.
The criterion is a ratio of densities, so that no resolution has to be chosen.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from odsymnmf.init.ego import incidence, memberships_of
from odsymnmf.kernels import sparse_sets
from odsymnmf.kernels.sparse_h import Links
from odsymnmf.solvers.rounds import Rounds
from odsymnmf.solvers.sparse_h import SparseH, column_sets
from odsymnmf.solvers.sparse_losses import SparseLoss
from odsymnmf.utils import Array

# One column must explain this fraction of what two columns explain.
MIN_RATIO = 0.8
# Maximum number of rounds of merging; in a round, a set is merged with at most one other set.
N_ROUNDS = 6
# Sweeps before columns are merged.
N_SWEEPS = 3
# Columns are merged at most MAX_MERGES times, until at least this fraction of the columns remain.
MIN_REMAINING, MAX_MERGES = 0.97, 3
# An item belongs to a column if its entry is at least this fraction of the column's largest.
MIN_MEMBERSHIP = 0.2


def merge_columns(
    A: Links,
    M: SparseH,
    make_fit: Callable[[SparseH], SparseLoss],
    n_threads: int | None,
) -> SparseH:
    """Sweep M, merge columns that are parts of one group, and return the new memberships.

    ``n_threads`` share a sweep; None sweeps row by row.
    """
    for _ in range(MAX_MERGES):
        solver = make_fit(M)
        rows_in_turn: Any = nullcontext(solver.sweep)
        with rows_in_turn if n_threads is None else Rounds(solver, n_threads) as sweep:
            for _ in range(N_SWEEPS):
                sweep()
        parts = column_sets(M.csr(), MIN_MEMBERSHIP, min_size=2)
        merged = merge_sets(A, parts)
        M = SparseH(memberships_of(A, merged), M.dtype)
        if len(merged) >= MIN_REMAINING * len(parts):
            break
    return M


def merge_sets(A: Links, sets: list[Array]) -> list[Array]:
    """Merge sets that are parts of one group, the pairs with the largest ratio first."""
    n_new = len(sets)
    for _ in range(N_ROUNDS):
        first, second, ratio = _mergeable(A, sets, n_new)
        used = np.zeros(len(sets), dtype=bool)
        merged = []
        for p in np.argsort(-ratio, kind="stable"):
            l, t = first[p], second[p]
            if not used[l] and not used[t]:
                used[[l, t]] = True
                merged.append(np.union1d(sets[l], sets[t]))
        if not merged:
            break
        # Merged sets first: other pairs have been compared before.
        sets = merged + [s for s, is_merged in zip(sets, used, strict=True) if not is_merged]
        n_new = len(merged)
    return sets


def _mergeable(A: Links, sets: list[Array], n_new: int) -> tuple[Array, Array, Array]:
    """Return the pairs (first, second) to merge that contain a new set, and their ratios."""
    M = incidence(len(A.indptr) - 1, sets)
    begin = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64)
    items = np.concatenate(sets).astype(np.int32) if sets else np.empty(0, dtype=np.int32)
    inside = np.zeros(len(sets))
    sparse_sets.inside_sums(A, M.indptr, M.indices, inside)
    capacity = 4 * len(sets) + 64
    while True:
        first, second = np.empty((2, capacity), np.int64)
        ratio = np.empty(capacity)
        n_pairs = sparse_sets.mergeable(
            A, M.indptr, M.indices, begin, items, inside, n_new, MIN_RATIO, first, second, ratio
        )
        if n_pairs <= capacity:
            return first[:n_pairs], second[:n_pairs], ratio[:n_pairs]
        capacity = int(n_pairs)
