"""Merging of sets that are parts of one group, which corrects the number of clusters.

Coordinate descent moves single entries; two columns that share a group stay two. Two sets are
merged where one column on their union would explain nearly as much as two columns do. For disjoint
sets of the same size and density p, with density q between them, that is q > 0.26 p: a ratio of
densities, so that there is no resolution to choose.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from odsymnmf.init.ego import incidence, memberships_of
from odsymnmf.kernels import sparse_sets
from odsymnmf.kernels.sparse_h import Links
from odsymnmf.solvers.sparse_h import SparseH, column_sets
from odsymnmf.solvers.sparse_losses import SparseLoss
from odsymnmf.utils import Array

# One column must explain this share of what two do.
BAR = 0.8
# Rounds of merging; a set takes part in one merger a round.
ROUNDS = 6
# Sweeps before columns are merged.
SWEEPS = 3
# Merge again, at most MERGERS times, while fewer than this fraction of the columns remain.
REMAINING, MERGERS = 0.97, 3
# An item belongs to a column if its entry is at least this fraction of the column's largest.
FRACTION = 0.2


def merge_columns(
    A: Links,
    M: SparseH,
    make_fit: Callable[[SparseH], SparseLoss],
    sweep_of: Callable[[SparseLoss], AbstractContextManager[Callable[[], Any]]],
) -> SparseH:
    """Return memberships with parts of one group merged after a few sweeps, which change M."""
    for _ in range(MERGERS):
        with sweep_of(make_fit(M)) as sweep:
            for _ in range(SWEEPS):
                sweep()
        parts = column_sets(M.csr(), FRACTION, 2)
        merged = merge_sets(A, parts)
        M = SparseH(memberships_of(A, merged), M.dtype)
        if len(merged) >= REMAINING * len(parts):
            break
    return M


def merge_sets(A: Links, sets: list[Array], bar: float = BAR) -> list[Array]:
    """Merge parts of one group, the best mergers first; return the sets."""
    fresh = len(sets)
    for _ in range(ROUNDS):
        first, second, ratio = _mergeable(A, sets, fresh, bar)
        used = np.zeros(len(sets), dtype=bool)
        merged = []
        for p in np.argsort(-ratio, kind="stable"):
            l, t = first[p], second[p]
            if not used[l] and not used[t]:
                used[[l, t]] = True
                merged.append(np.union1d(sets[l], sets[t]))
        if not merged:
            break
        # The merged ones first: two old ones that could merge have done so.
        sets = merged + [s for s, gone in zip(sets, used, strict=True) if not gone]
        fresh = len(merged)
    return sets


def _mergeable(A: Links, sets: list[Array], fresh: int, bar: float) -> tuple[Array, Array, Array]:
    M = incidence(len(A.indptr) - 1, sets)
    begin = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64)
    items = np.concatenate(sets).astype(np.int32) if sets else np.empty(0, dtype=np.int32)
    inside = np.zeros(len(sets))
    sparse_sets.inside_sums(A, M.indptr, M.indices, inside)
    room = 4 * len(sets) + 64
    while True:
        first, second, ratio = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
        found = sparse_sets.mergeable(
            A, M.indptr, M.indices, begin, items, inside, fresh, bar, first, second, ratio
        )
        if found <= room:
            return first[:found], second[:found], ratio[:found]
        room = int(found)
