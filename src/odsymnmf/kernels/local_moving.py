"""Partitions of a graph with nonnegative weights: local moving, refinement, aggregation.

The quality of a partition is modularity with a resolution: sum over groups of
(weight inside) - resolution (volume)^2 / (total volume), where the volume of a group is the sum of
its degrees. A graph is `Links`; its diagonal holds the weight inside aggregated nodes and is
skipped. Gains that differ by less than TIE times the volume of the node are equal, so that a
multiple of the graph has the same partitions.
"""

import numpy as np

from odsymnmf.kernels.compile import allocating_kernel
from odsymnmf.kernels.sparse_h import lower_bound

TIE = 1e-10


@allocating_kernel
def move_nodes(G, volume, label, total, rate, largest, order, visits):
    """Move every node to the adjacent group of largest gain until none moves, in place.

    ``total`` holds the volumes of the groups, ``rate`` is resolution / total volume. No node moves
    to a group whose volume would exceed ``largest``. Nodes whose neighbor moved are visited again,
    each at most ``visits`` times on average.
    Costs the links of the nodes that are visited.
    """
    indptr, indices, data = G.indptr, G.indices, G.data
    n = len(volume)
    link, slot = np.empty(n), np.full(len(total), -1, dtype=np.int32)
    adjacent = np.empty(n, dtype=np.int32)
    queue, waiting = order.copy(), np.ones(n, dtype=np.bool_)
    head, size, visits = 0, n, visits * n
    while size > 0 and visits > 0:
        i = queue[head]
        head = head + 1 if head + 1 < n else 0
        size -= 1
        visits -= 1
        waiting[i] = False
        current, v_i = label[i], volume[i]
        adjacent[0], link[0], slot[current], count = current, 0.0, 0, 1
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j != i:
                c = label[j]
                s = slot[c]
                if s < 0:
                    s = count
                    slot[c], adjacent[s], link[s] = s, c, 0.0
                    count += 1
                link[s] += data[p]
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
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if not waiting[j] and label[j] != best:
                    last = head + size
                    queue[last if last < n else last - n] = j
                    size += 1
                    waiting[j] = True


@allocating_kernel
def refine_partition(G, volume, label, total, rate, order):
    """Return a partition of every group into well connected parts (Leiden, greedy variant).

    Nodes that are still single join the part of largest gain in their group, if both the node and
    the part are well connected to the rest of the group. Costs O(links).
    """
    indptr, indices, data = G.indptr, G.indices, G.data
    n = len(volume)
    part, inside, alone = np.arange(n).astype(np.int32), volume.copy(), np.ones(n, dtype=np.bool_)
    link, slot = np.empty(n), np.full(n, -1, dtype=np.int32)
    adjacent, outward = np.empty(n, dtype=np.int32), np.zeros(n)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] != i and label[indices[p]] == label[i]:
                outward[i] += data[p]
    for i in order:
        group_volume, v_i = total[label[i]], volume[i]
        if not alone[i] or outward[i] < v_i * (group_volume - v_i) * rate:
            continue
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j != i and label[j] == label[i]:
                c = part[j]
                s = slot[c]
                if s < 0:
                    s = count
                    slot[c], adjacent[s], link[s] = s, c, 0.0
                    count += 1
                link[s] += data[p]
        best, best_gain, joined = i, TIE * v_i, 0.0
        for s in range(count):
            c = adjacent[s]
            slot[c] = -1
            gain = link[s] - v_i * inside[c] * rate
            if gain > best_gain and outward[c] >= inside[c] * (group_volume - inside[c]) * rate:
                best, best_gain, joined = c, gain, link[s]
        if best != i:
            part[i] = best
            inside[best] += v_i
            outward[best] += outward[i] - 2.0 * joined
            alone[i] = alone[best] = False
    return part


@allocating_kernel
def aggregate(G, label, indptr, indices, data):
    """Write the graph of the groups; its diagonal holds twice the weight inside.

    ``indices`` and ``data`` have capacity for the entries of G. Return the number of entries.
    Costs O(links).
    """
    n, k = len(label), len(indptr) - 1
    first = np.zeros(k + 1, dtype=np.int64)
    for i in range(n):
        first[label[i] + 1] += 1
    for c in range(k):
        first[c + 1] += first[c]
    member, next_position = np.empty(n, dtype=np.int32), first[:-1].copy()
    for i in range(n):
        member[next_position[label[i]]] = i
        next_position[label[i]] += 1
    at, end = np.full(k, -1, dtype=np.int64), 0
    for c in range(k):
        begin = indptr[c] = end
        for q in range(first[c], first[c + 1]):
            i = member[q]
            for p in range(G.indptr[i], G.indptr[i + 1]):
                b = label[G.indices[p]]
                if at[b] < begin:
                    at[b], indices[end], data[end] = end, b, 0.0
                    end += 1
                data[at[b]] += G.data[p]
    indptr[k] = end
    return end


@allocating_kernel
def inner_sums(G, label, x, sums):
    """sums_l += sum of x_i A_ij x_j over the pairs of group l; labels below zero are in none.

    Costs O(links).
    """
    for i in range(len(label)):
        l, products = label[i], 0.0
        if l >= 0:
            for p in range(G.indptr[i], G.indptr[i + 1]):
                if label[G.indices[p]] == l:
                    products += G.data[p] * x[G.indices[p]]
            sums[l] += x[i] * products


@allocating_kernel
def block_model_moves(G, degrees, label, model, root, expected, new):
    """Set new_i to the group where a degree-corrected block model makes item i most likely.

    Only the groups of its neighbors are compared; the item stays where there is a tie. ``model``
    has log(omega_ab) for the pairs of groups with links, sorted; without links it is
    -log(1 + root_a root_b). ``expected[a]`` is sum_b omega_ab v_b / sum(v). Costs the links,
    and for each item the square of the number of adjacent groups.
    """
    k = len(expected)
    link, adjacent, slot = np.empty(k), np.empty(k, dtype=np.int32), np.full(k, -1, dtype=np.int32)
    for i in range(len(label)):
        count, current = 0, label[i]
        for p in range(G.indptr[i], G.indptr[i + 1]):
            c = label[G.indices[p]]
            if c >= 0:
                s = slot[c]
                if s < 0:
                    s = count
                    slot[c], adjacent[s], link[s] = s, c, 0.0
                    count += 1
                link[s] += G.data[p]
        best, best_gain = current, -np.inf if degrees[i] > 0.0 else np.inf
        for s in range(count):
            a = adjacent[s]
            slot[a] = -1
            gain = (TIE * (a == current) - expected[a]) * degrees[i]
            for t in range(count):
                b = adjacent[t]
                end = model.indptr[a + 1]
                p = lower_bound(model.indices, model.indptr[a], end, b)
                if p < end and model.indices[p] == b:
                    gain += link[t] * model.data[p]
                else:
                    gain -= link[t] * np.log(1.0 + root[a] * root[b])
            if gain > best_gain:
                best, best_gain = a, gain
        new[i] = best
