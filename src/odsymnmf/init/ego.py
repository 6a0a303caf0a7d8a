"""Initializations with many clusters: sets of items, and the memberships that fit them.

`ego_networks` finds the sets, and so their number, from A alone. `memberships_of` turns sets into
H: the entries of a set are the root of its density, the best fit of one column alone.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.init.arrays import as_sets
from odsymnmf.kernels import sparse_sets
from odsymnmf.kernels.sparse_h import Links
from odsymnmf.solvers.sparse_h import SparseH
from odsymnmf.utils import Array, as_csr, blocks

# Items with more links than HUB_FACTOR times the mean (at least MIN_MEAN_DEGREE) are hubs: their
# ego networks are not groups. Hubs get memberships in the first sweep.
HUB_FACTOR, MIN_MEAN_DEGREE = 20.0, 5.0
# Minimum fraction of an ego network that is not yet in a set.
MIN_FREE = 0.5
# Steps of growth, and the smallest entry that remains in a set, relative to its largest.
N_STEPS, MIN_ENTRY = 3, 0.15
# Minimum number of items of a set.
MIN_SIZE = 3
# Items per call of a kernel: Ctrl-C is handled between calls.
BLOCK_ITEMS = 2**16


def ego_networks(A: Links) -> list[Array]:
    """Return overlapping sets of at least ``MIN_SIZE`` items, each grown from an ego network.

    Only links whose ends have more common neighbors than expected by chance form ego networks: few
    of them are between groups, even if half of all links are. Ego networks are visited in the order
    of the gain of a column on them, e^2 / (s (s - 1)) with e twice the number of links and s the
    number of items, times the fraction of their links that are inside. They are skipped if most
    items are in sets already. Each is grown and pruned on A three times. No number of clusters and
    no resolution is needed; the cost is proportional to the number of triangles.
    """
    n = len(A.indptr) - 1
    degree = np.diff(A.indptr)
    max_degree = HUB_FACTOR * max(float(degree.mean()) if n else 0.0, MIN_MEAN_DEGREE)
    positive = _linked(A, (A.data > 0) & _both_ends(A, degree <= max_degree))
    seeds = _linked(positive, common_neighbors(positive) > _expected_common_neighbors(positive))
    order = _order_by_gain(seeds)
    sets: list[Array] = []
    covered = np.zeros(n, dtype=np.bool_)
    for b in blocks(len(order), BLOCK_ITEMS):
        items, begin = sparse_sets.ego_sets(
            order[b],
            seeds,
            positive,
            MIN_FREE,
            N_STEPS,
            MIN_ENTRY,
            covered,
            n,
            MIN_SIZE,
            2 * n + 64,
        )
        sets += [np.sort(s) for s in np.split(items, begin[1:-1])] if len(begin) > 1 else []
    return sets


def memberships_of(A: Links, sets: Sequence[Any]) -> sparse.csr_array:
    """Return H with, in column l, the root of the density of set l for its items.

    The density is the mean similarity of a pair of its items; sets without any are left out.
    """
    n = len(A.indptr) - 1
    M = incidence(n, [np.asarray(s, dtype=np.int64) for s in sets])
    sizes = np.bincount(M.indices, minlength=len(sets))
    inside = np.zeros(len(sets))
    sparse_sets.inside_sums(A, M.indptr, M.indices, inside)
    density = np.maximum(inside, 0.0) / np.maximum(sizes * (sizes - 1.0), 1.0)
    M.data = np.sqrt(density[M.indices])
    return sparse.csr_array(M[:, np.flatnonzero(density > 0)])


def incidence(n: int, sets: Sequence[Array]) -> sparse.csr_array:
    """Return the n x r array with a one for each item of each set, with sorted columns."""
    columns = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    items = np.concatenate(sets) if len(sets) else np.empty(0, dtype=np.int64)
    M = sparse.csr_array((np.ones(len(items)), (items, columns)), shape=(n, len(sets)))
    M.sort_indices()
    return M


def order_by_strongest(H: sparse.csr_array) -> Array:
    """Return the items ordered by their strongest column, items without memberships last.

    Consecutive items are then often linked, so that the rows of neighbors are in the cache.
    """
    strongest = np.full(H.shape[0], H.shape[1])
    rows = np.repeat(np.arange(H.shape[0]), np.diff(H.indptr))
    by_value = np.lexsort((H.data, rows))
    last = np.flatnonzero(np.diff(rows, append=-1) != 0)
    strongest[rows[last]] = H.indices[by_value[last]]
    return np.argsort(strongest, kind="stable")


def reordered(A: Links, order: Array) -> Links:
    """Return A with the items in this order, in rows and columns."""
    n = len(order)
    inverse = np.empty(n, dtype=np.int32)
    inverse[order] = np.arange(n, dtype=np.int32)
    index = np.int32 if len(A.data) < 2**31 else np.int64  # SciPy widens indices to those of indptr
    indptr = A.indptr.astype(index, copy=False)
    M = sparse.csr_array((A.data, A.indices, indptr), shape=(n, n))[order]
    M = sparse.csr_array((M.data, inverse[M.indices], M.indptr), shape=(n, n))
    M.sort_indices()
    return Links(M.indptr.astype(np.int64), M.indices.astype(np.int32, copy=False), M.data)


def _linked(A: Links, selected: Array) -> Links:
    """Return the selected links."""
    if selected.all():
        return A
    before = np.concatenate([[0], np.cumsum(selected)])
    return Links(before[A.indptr], A.indices[selected], A.data[selected])


def _both_ends(A: Links, selected: Array) -> Array:
    """Return for each link whether both of its ends are selected."""
    return np.repeat(selected, np.diff(A.indptr)) & selected[A.indices]


def common_neighbors(A: Links) -> Array:
    """Return the number of common neighbors of the ends of each link."""
    n, counts = len(A.indptr) - 1, np.zeros(len(A.indices), dtype=np.int32)
    above, where = sparse_sets.upper_starts(A.indptr, A.indices), np.full(n, -1, dtype=np.int64)
    for b in blocks(n, BLOCK_ITEMS):
        sparse_sets.common_neighbors(b.start, b.stop, A.indptr, A.indices, above, where, counts)
    sparse_sets.mirror(A.indptr, A.indices, above, counts)
    return counts


def _expected_common_neighbors(A: Links) -> Array:
    """Return the expected number of common neighbors of each link, given the degrees.

    It is at least 0.5, so that links without a common neighbor do not exceed it.
    """
    degree = np.diff(A.indptr).astype(np.float64)
    total = max(float(degree.sum()), 1.0)
    scaled = degree * np.sqrt(float(degree @ (degree - 1.0))) / total
    return np.maximum(np.repeat(scaled, np.diff(A.indptr)) * scaled[A.indices], 0.5)


def _order_by_gain(A: Links) -> Array:
    """Return the items with links by the gain of their ego networks, the largest first."""
    degree = np.diff(A.indptr).astype(np.float64)
    n = len(degree)
    common = np.add.reduceat(np.append(common_neighbors(A), 0), A.indptr[:-1])
    triangles = common * (degree > 0) / 2.0
    inside, size = 2.0 * (degree + triangles), degree + 1.0
    pattern = sparse.csr_array((np.ones(len(A.indices)), A.indices, A.indptr), shape=(n, n))
    volume = degree + pattern @ degree
    gain = inside**3 / np.maximum(size * (size - 1.0) * volume, 1.0)
    order = np.argsort(-gain, kind="stable")
    return order[degree[order] > 0]


def initialize_sparse(A: Links, r: int | None, init: Any) -> tuple[sparse.csr_array, bool]:
    """Return H as CSR, and whether its sets come from ego networks, whose parts may be merged."""
    n = len(A.indptr) - 1
    if isinstance(init, str):
        return memberships_of(A, ego_networks(A)), True
    sets = as_sets(init, n, r)
    if sets is not None:
        return memberships_of(A, sets), False
    H = as_csr(init, "init").copy() if sparse.issparse(init) else sparse.csr_array(init)
    if H.shape[0] != n or (r is not None and H.shape[1] != r):
        raise ValueError(f"init has shape {H.shape}; it must be (n, r) = ({n}, {r or 'any'}).")
    if H.dtype.kind not in "biuf":
        raise ValueError(f"init must hold real numbers; got dtype {H.dtype}.")
    return SparseH(H.astype(np.float64)).csr(), False
