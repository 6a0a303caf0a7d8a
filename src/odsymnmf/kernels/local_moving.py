"""Partitions of a graph with nonnegative weights: local moving, refinement, aggregation.

The quality of a partition is modularity with a resolution: sum over groups of
(weight inside) - resolution (volume)^2 / (total volume), where the volume of a group is the sum of
its degrees. A graph is `Links`; its diagonal holds the weight inside aggregated nodes and is
skipped. Gains that differ by less than TIE times the volume of the node are equal, so that a
multiple of the graph has the same partitions.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import inlined_helper, kernel
from odsymnmf.kernels.sparse_h import lower_bound

TIE = 1e-10


class Adjacent(NamedTuple):
    """Workspace: adjacent groups, the links to them, and their positions (-1: not adjacent)."""

    group: Any
    link: Any
    slot: Any


def workspace(k: int) -> Adjacent:
    """Return workspace for k groups."""
    return Adjacent(np.empty(k, np.int32), np.empty(k), np.full(k, -1, np.int32))


@inlined_helper
def _sum_links(i, G, label, work, count):
    """Sum the links of node i to each group, after the ``count`` groups that are listed already.

    Return the number of groups.
    """
    indices, data, group, link, slot = G.indices, G.data, work.group, work.link, work.slot
    for p in range(G.indptr[i], G.indptr[i + 1]):
        j = indices[p]
        if j != i:
            c = label[j]
            s = slot[c]
            if s < 0:
                s = count
                slot[c], group[s], link[s] = s, c, 0.0
                count += 1
            link[s] += data[p]
    return count


@kernel
def move_nodes(G, volume, label, total, rate, largest, queue, waiting, visits, work):
    """Move every node to the adjacent group of largest gain until none moves, in place.

    ``total`` holds the volumes of the groups, ``rate`` is resolution / total volume. No node moves
    to a group whose volume would exceed ``largest``. Nodes whose neighbor moved are visited again,
    each at most ``visits`` times on average. ``queue`` is the order of the first visits, and all
    nodes are ``waiting``; both are overwritten. Costs the links of the nodes that are visited.
    """
    adjacent, link, slot = work.group, work.link, work.slot
    n = len(volume)
    head, size, visits = 0, n, visits * n
    while size > 0 and visits > 0:
        i = queue[head]
        head = head + 1 if head + 1 < n else 0
        size -= 1
        visits -= 1
        waiting[i] = False
        current, v_i = label[i], volume[i]
        adjacent[0], link[0], slot[current] = current, 0.0, 0
        count = _sum_links(i, G, label, work, 1)
        best, best_gain = current, link[0] - v_i * (total[current] - v_i) * rate + TIE * v_i
        slot[current] = -1
        for s in range(1, count):
            c = adjacent[s]
            slot[c] = -1
            gain = link[s] - v_i * total[c] * rate
            if gain > best_gain and total[c] + v_i <= largest:
                best, best_gain = c, gain
        if best != current:
            total[current] -= v_i
            total[best] += v_i
            label[i] = best
            for p in range(G.indptr[i], G.indptr[i + 1]):
                j = G.indices[p]
                if not waiting[j] and label[j] != best:
                    last = head + size
                    queue[last if last < n else last - n] = j
                    size += 1
                    waiting[j] = True


@kernel
def refine_partition(G, volume, label, total, rate, order, part, inside, outward, alone, work):
    """Divide every group into well connected parts (Leiden, greedy variant).

    At first, each node is a part of its own: ``part`` is its number, ``inside`` its volume,
    ``outward`` (here zero) its links to the group, and it is ``alone``. Single nodes join the part
    of largest gain in their group, if both the node and the part are well connected to the rest of
    the group. Costs O(links).
    """
    adjacent, link, slot = work.group, work.link, work.slot
    for i in range(len(volume)):
        for p in range(G.indptr[i], G.indptr[i + 1]):
            if G.indices[p] != i and label[G.indices[p]] == label[i]:
                outward[i] += G.data[p]
    for i in order:
        group_volume, v_i = total[label[i]], volume[i]
        if not alone[i] or outward[i] < v_i * (group_volume - v_i) * rate:
            continue
        best, best_gain, joined = i, TIE * v_i, 0.0
        for s in range(_sum_links(i, G, part, work, 0)):
            c = adjacent[s]
            slot[c] = -1
            gain = link[s] - v_i * inside[c] * rate
            rest = inside[c] * (group_volume - inside[c]) * rate
            if gain > best_gain and label[c] == label[i] and outward[c] >= rest:
                best, best_gain, joined = c, gain, link[s]
        if best != i:
            part[i] = best
            inside[best] += v_i
            outward[best] += outward[i] - 2.0 * joined
            alone[i] = alone[best] = False


@kernel
def aggregate(G, label, start, members, last, indptr, indices, data):
    """Write the graph of the groups; its diagonal holds twice the weight inside.

    ``start`` is the first position of every group in ``members``, the nodes by group; both are
    overwritten. ``indices`` and ``data`` have capacity for the entries of G, and ``last`` is -1 for
    every group. Return the number of entries. Costs O(links).
    """
    for i in range(len(label)):
        members[start[label[i]]] = i
        start[label[i]] += 1
    c, begin, end = -1, 0, 0
    for i in members:
        while c < label[i]:
            c += 1
            begin = indptr[c] = end
        for p in range(G.indptr[i], G.indptr[i + 1]):
            b = label[G.indices[p]]
            if last[b] < begin:
                last[b], indices[end], data[end] = end, b, 0.0
                end += 1
            data[last[b]] += G.data[p]
    for b in range(c + 1, len(indptr)):
        indptr[b] = end
    return end


@kernel
def inside_weight(G, label):
    """Return the sum of A_ij over the pairs inside groups; labels below zero are in none."""
    total = 0.0
    for i in range(len(label)):
        if label[i] >= 0:
            for p in range(G.indptr[i], G.indptr[i + 1]):
                if label[G.indices[p]] == label[i]:
                    total += G.data[p]
    return total


@kernel
def block_model_moves(G, label, degrees, model, root, expected, new, work):
    """Set new_i to the group where a degree-corrected block model makes item i most likely.

    Only the groups of its neighbors are compared; the item stays where there is a tie. The last
    group holds the items without a group; its root is zero. ``model`` has log(omega_ab) for the
    pairs of other groups with links, sorted; without links it is -log(1 + root_a root_b).
    ``expected[a]`` is sum_b omega_ab v_b / sum(v). Costs the links, and for each item the square of
    the number of adjacent groups.
    """
    adjacent, link, slot = work.group, work.link, work.slot
    for i in range(len(label)):
        best, best_gain = label[i], -np.inf
        count = _sum_links(i, G, label, work, 0)
        for s in range(count):
            a = adjacent[s]
            slot[a] = -1
            if a == len(root) - 1:
                continue
            gain = (TIE * (a == label[i]) - expected[a]) * degrees[i]
            for t in range(count):
                b = adjacent[t]
                end = model.indptr[a + 1]
                p = lower_bound(model.indices, model.indptr[a], end, b)
                if p < end and model.indices[p] == b:
                    gain += link[t] * model.data[p]
                else:
                    gain -= link[t] * np.log(1.0 + root[a] * root[b])
            if gain > best_gain and degrees[i] > 0.0:
                best, best_gain = a, gain
        new[i] = best
