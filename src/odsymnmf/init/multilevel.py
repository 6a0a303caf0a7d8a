"""Multilevel initialization: a partition of a graph into r groups, one column of H per group.

The graph is coarsened by local moving with a bound on the volume of a group. The coarse graph is
partitioned by the Leiden algorithm, at the resolution that gives r groups, and local moving
improves the partition while the graph is uncoarsened.
"""

from dataclasses import dataclass
from heapq import heapify, heapreplace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from odsymnmf.kernels import local_moving
from odsymnmf.kernels.sparse_h import Links
from odsymnmf.similarity import Similarity
from odsymnmf.utils import Array, as_csr, blocks

# The coarse graph has about this many nodes per cluster, and at least MIN_NODES in all.
NODES_PER_CLUSTER, MIN_NODES = 16, 2000
# Coarsening ends when a level has more than this fraction of the nodes of the level below.
MIN_REDUCTION = 0.95
# Local moving visits a node this often on average, at most: in coarsening, and elsewhere.
COARSENING_VISITS, VISITS = 3, 10
# Steps of the search for the resolution.
N_STEPS = 16
# Groups smaller than this fraction of the mean size n / r do not count.
MIN_FRACTION = 0.1
# Items whose similarities are multiplied at a time.
BLOCK_ITEMS = 2**14
# Rounds of the block model: more hardly change a label.
N_ROUNDS = 10


@dataclass(frozen=True)
class Partition:
    """Labels in 0, ..., r - 1 (-1: items without similarities) and their resolution."""

    labels: Array
    resolution: float


def nonnegative(A: Similarity) -> sparse.csr_array:
    """Return the positive w_ij A_ij."""
    links, weights = A.to_csr(), A.weights
    if weights.excess is not None:
        links = sparse.csr_array(weights.default * links + weights.excess_values)
    return links if links.data.min(initial=1.0) > 0 else sparse.csr_array(links.maximum(0))


class Graph:
    """A symmetric CSR array with nonnegative entries and without a diagonal, and its degrees.

    Weights are relative to the largest one, so that a multiple of A gives the same labels.
    """

    def __init__(self, A: sparse.csr_array):
        A = as_csr(A, "A")
        largest = A.data.max(initial=0.0)
        data = A.data.astype(np.float64, copy=False)
        data = data / largest if largest > 0 and largest != 1 else data
        self.links = Links(A.indptr, A.indices, data)
        rows = sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)
        self.degrees = rows.sum(axis=1, dtype=np.float64)

    def partition(self, r: int, seed: int = 0) -> Partition:
        """Partition the items into at most r groups of at least two items."""
        rng = np.random.default_rng(seed)
        if not self.degrees.any():
            return Partition(np.full(len(self.degrees), -1, dtype=np.int32), 1.0)
        # Coarsen; Leiden on the coarse graph.
        target = max(NODES_PER_CLUSTER * r, MIN_NODES)
        levels, coarse, volume = coarsen(self.links, self.degrees, target, rng)
        node = np.arange(len(self.degrees))
        for _, _, groups in levels:
            node = groups[node]
        # Smaller groups do not count. A column with a single item explains nothing.
        min_size = max(2.0, MIN_FRACTION * len(node) / r)
        labels, resolution = search_resolution(coarse, volume, np.bincount(node), r, min_size, rng)
        # Uncoarsen.
        while levels:
            G, volume, groups = levels.pop()
            labels = move(G, volume, resolution, rng, renumber(labels[groups]))
        # Merge the large groups down to r; the other groups join these.
        labels = renumber(labels)
        W, volume = aggregate(self.links, self.degrees, labels)
        sizes = np.bincount(labels)
        large = np.flatnonzero(sizes >= min_size)
        if len(large) < r:
            several = np.flatnonzero((sizes > 1) & (volume > 0))
            large = np.sort(several[np.argsort(-volume[several], kind="stable")[:r]])
        group = np.full(len(volume), -1, dtype=np.int32)
        group[large] = np.arange(len(large))
        if len(large) > r:
            rate = resolution / self.degrees.sum()
            group[large] = merge_pairs(W[large][:, large], volume[large], r, rate)
        if (group < 0).any():
            join_groups(W, volume, group)
        return Partition(np.asarray(group[labels]), resolution)

    def quality(self, partition: Partition) -> tuple[int, float]:
        """Return the number of groups of at least two items, then the modularity.

        Modularity is that at the resolution, up to a constant factor.
        """
        labels = partition.labels.astype(np.int32, copy=False)
        known = labels >= 0
        volume = np.bincount(labels[known], weights=self.degrees[known])
        rate = partition.resolution / (self.degrees.sum() or 1.0)
        modularity = local_moving.inside_weight(self.links, labels) - rate * (volume @ volume)
        return int(np.count_nonzero(np.bincount(labels[known]) > 1)), float(modularity)

    def refine(self, partition: Partition) -> Partition:
        """Improve labels by a degree-corrected block model, then by local moving."""
        r = int(partition.labels.max(initial=-1)) + 1
        if r == 0:
            return partition
        # Items without a group form group r.
        labels = np.where(partition.labels < 0, r, partition.labels).astype(np.int32)
        for _ in range(N_ROUNDS):
            new = block_model_labels(self.links, self.degrees, labels, r)
            if np.array_equal(new, labels):
                break
            labels = new
        rng = np.random.default_rng(0)
        labels = move(self.links, self.degrees, partition.resolution, rng, labels, groups=r + 1)
        return Partition(np.where(labels == r, -1, labels), partition.resolution)


def columns(A: Similarity, labels: Array, r: int) -> sparse.csr_array:
    """Return H with one column per group, along the degrees, scaled to fit A best."""
    links, items = nonnegative(A), np.flatnonzero(labels >= 0)
    x = links.sum(axis=1, dtype=np.float64)[items]
    H = sparse.csr_array((x, (items, labels[items])), shape=(A.n, r))
    inner = np.zeros(r)
    for b in blocks(A.n, BLOCK_ITEMS):  # the product of all rows would take as much memory as A
        inner += H[b].multiply(links[b] @ H).sum(axis=0)
    squares = H.power(2).sum(axis=0) ** 2 - H.power(4).sum(axis=0)
    H.data *= np.sqrt(np.divide(inner, squares, out=np.zeros(r), where=inner > 0))[H.indices]
    return H.astype(A.dtype)


def coarsen(
    G: Links, volume: Array, target: int, rng: np.random.Generator
) -> tuple[list[tuple[Links, Array, Array]], Links, Array]:
    """Return levels (graph, volumes, group of every node) and the graph of about target nodes."""
    levels, largest = [], volume.sum() / target
    while len(volume) > 1.5 * target:
        groups = renumber(move(G, volume, 1.0, rng, largest=largest, visits=COARSENING_VISITS))
        if groups.max() + 1 > MIN_REDUCTION * len(volume):
            break
        levels.append((G, volume, groups))
        W, volume = aggregate(G, volume, groups)
        G = Links(W.indptr, W.indices, W.data)
    return levels, G, volume


def search_resolution(
    G: Links, volume: Array, sizes: Array, r: int, min_size: float, rng: np.random.Generator
) -> tuple[Array, float]:
    """Bisect the resolution until r groups are found; failing that, the next number above r."""
    low, high, resolution = 0.0, np.inf, 1.0
    best: tuple[bool, float] = (True, np.inf)
    result: tuple[Array, float] = (np.zeros(len(volume), dtype=np.int32), resolution)
    for _ in range(N_STEPS):
        labels = leiden(G, volume, resolution, rng)
        count = int(np.count_nonzero(np.bincount(labels, weights=sizes) >= min_size))
        if (count < r, abs(count - r)) < best:
            best, result = (count < r, abs(count - r)), (labels, resolution)
        if count == r:
            break
        low, high = (resolution, high) if count < r else (low, resolution)
        if high == np.inf:
            resolution *= 2.0
        else:
            resolution = resolution / 2.0 if low == 0 else float(np.sqrt(low * high))
    return result


def leiden(
    G: Links, volume: Array, resolution: float, rng: np.random.Generator, n_iter: int = 2
) -> Array:
    """Return the labels that ``n_iter`` iterations of the Leiden algorithm find."""
    labels, rate = np.arange(len(volume), dtype=np.int32), resolution / volume.sum()
    for _ in range(n_iter):
        # ``node`` is the node of the current level to which each node of G belongs.
        graph, volumes, start, node = G, volume, labels, np.arange(len(volume))
        while True:
            groups = renumber(move(graph, volumes, resolution, rng, start))
            if groups.max() + 1 == len(volumes):
                break
            total = np.bincount(groups, weights=volumes)
            n = len(volumes)
            parts: Array = np.arange(n, dtype=np.int32)
            local_moving.refine_partition(
                graph, volumes, groups, total, rate, rng.permutation(n).astype(np.int32), parts,
                volumes.copy(), np.zeros(n), np.ones(n, dtype=bool), local_moving.workspace(n),
            )  # fmt: skip
            parts = renumber(parts)
            if parts.max() + 1 == len(volumes):
                parts = groups
            start = np.empty(parts.max() + 1, dtype=np.int32)
            start[parts] = groups
            node = parts[node]
            W, volumes = aggregate(graph, volumes, parts)
            graph = Links(W.indptr, W.indices, W.data)
        labels = groups[node]
    return labels


def move(
    G: Links,
    volume: Array,
    resolution: float,
    rng: np.random.Generator,
    labels: Array | None = None,
    largest: float = np.inf,
    groups: int = 0,
    visits: int = VISITS,
) -> Array:
    """Return the labels after local moving, from the given ones or from single nodes."""
    n = len(volume)
    labels = np.arange(n, dtype=np.int32) if labels is None else labels.astype(np.int32)
    total = np.bincount(labels, weights=volume, minlength=groups)
    local_moving.move_nodes(
        G, volume, labels, total, resolution / volume.sum(), largest,
        rng.permutation(n).astype(np.int32), np.ones(n, dtype=bool), visits,
        local_moving.workspace(len(total)),
    )  # fmt: skip
    return labels


def aggregate(
    G: Links, volume: Array, labels: Array, count: int = 0
) -> tuple[sparse.csr_array, Array]:
    """Return the links between the groups, at least ``count``, and the volumes of the groups."""
    total = np.bincount(labels, weights=volume, minlength=count)
    # Of the type of the indices, which SciPy would widen otherwise.
    indptr = np.empty(len(total) + 1, dtype=G.indptr.dtype)
    capacity = min(len(G.indices), len(total) ** 2)
    indices, data = np.empty(capacity, dtype=np.int32), np.empty(capacity)
    sizes = np.bincount(labels, minlength=count)
    start, last = np.cumsum(sizes) - sizes, np.full(len(total), -1)
    members = np.empty(len(labels), dtype=np.int32)
    end = local_moving.aggregate(G, labels, start, members, last, indptr, indices, data)
    for array in (indices, data):  # in place: a copy would double the memory of a level
        array.resize(end, refcheck=False)
    return sparse.csr_array((data, indices, indptr), shape=(len(total), len(total))), total


def renumber(labels: Array) -> Array:
    """Return the labels as 0, ..., k - 1."""
    numbers = np.cumsum(np.bincount(labels) > 0, dtype=np.int32) - np.int32(1)
    return np.asarray(numbers[labels])


def merge_pairs(W: sparse.csr_array, volume: Array, r: int, rate: float) -> Array:
    """Merge the pairs of nodes with the largest gain until r remain; return their labels.

    The pairs of one pass are disjoint; a pass merges a quarter of the nodes above r.
    """
    labels: Array = np.arange(len(volume))
    while len(volume) > r:
        pairs = sparse.triu(W, k=1).tocoo()
        # Of the pairs without links, those of least volume lose least.
        by_volume = np.argsort(volume, kind="stable")
        first = np.concatenate([pairs.row, by_volume[:-1]])
        second = np.concatenate([pairs.col, by_volume[1:]])
        weight = np.concatenate([pairs.data, np.zeros(len(volume) - 1)])
        gain = weight - rate * volume[first] * volume[second]
        n_merges = max(1, (len(volume) - r) // 4)
        into: Array = np.arange(len(volume))
        used = np.zeros(len(volume), dtype=bool)
        for p in np.argsort(-gain, kind="stable"):
            a, b = first[p], second[p]
            if not (used[a] or used[b]):
                used[a] = used[b] = True
                into[b] = a
                n_merges -= 1
                if n_merges == 0:
                    break
        into = renumber(into)
        Z = sparse.csr_array((np.ones(len(into)), (np.arange(len(into)), into)))
        W, volume, labels = (Z.T @ W @ Z).tocsr(), Z.T @ volume, into[labels]
    return labels


def join_groups(W: sparse.csr_array, volume: Array, group: Array) -> None:
    """Assign nodes without a group to the group they have most links to, until none is linked.

    Components that remain, the largest first, then join the group of least volume, where modularity
    decreases least.
    """
    links, r = W.tocoo(), int(group.max(initial=-1)) + 1
    while True:
        joins = (group[links.row] < 0) & (group[links.col] >= 0) & (links.data > 0)
        if not joins.any():
            break
        nodes, place = np.unique(links.row[joins], return_inverse=True)
        shape = (len(nodes), r)
        T = sparse.csr_array((links.data[joins], (place, group[links.col[joins]])), shape=shape)
        group[nodes] = np.asarray(T.argmax(axis=1)).ravel()  # a column in SciPy 1.12
    ungrouped, known = np.flatnonzero((group < 0) & (volume > 0)), group >= 0
    if not (len(ungrouped) and known.any()):
        return
    count, component = connected_components(W[ungrouped][:, ungrouped], directed=False)
    sizes = np.bincount(component, weights=volume[ungrouped])
    total = np.bincount(group[known], weights=volume[known])
    heap = list(zip(total.tolist(), range(len(total)), strict=True))
    heapify(heap)
    joins = np.empty(count, dtype=np.int32)
    for c in np.argsort(-sizes, kind="stable"):
        smallest, l = heap[0]
        joins[c] = l
        heapreplace(heap, (smallest + sizes[c], l))
    group[ungrouped] = joins[component]


def block_model_labels(G: Links, degrees: Array, labels: Array, r: int) -> Array:
    """Return the labels of greatest likelihood in a degree-corrected block model, all at once.

    The model is that of `odsymnmf.memberships.refine_labels`; links count in units of their mean.
    Items without a group have the label r.
    """
    W, volume = aggregate(G, degrees, labels, r + 1)
    unit = G.data.sum(dtype=np.float64) / len(G.data)
    W, v = W[:r, :r], volume[:r] / unit
    W.sort_indices()
    total, root = v.sum(), v / np.sqrt(v.sum())
    rows = np.repeat(np.arange(r), np.diff(W.indptr))
    expected = root[rows] * root[W.indices] + 1.0
    log_omega = np.log((W.data / unit + 1.0) / expected)
    sums = np.bincount(rows, weights=W.data / unit / expected * v[W.indices], minlength=r)
    for b in blocks(r, max(1, 2**20 // r)):
        sums[b] += (v / (root[b, None] * root + 1.0)).sum(axis=1)
    model = Links(W.indptr, W.indices, log_omega)
    root, new, work = np.append(root, 0.0), np.empty_like(labels), local_moving.workspace(r + 1)
    local_moving.block_model_moves(G, labels, degrees, model, root, sums / total, new, work)
    return new
