"""Sources of g = sum_{j != k} A_kj h_j, and their updates when row k of H changes.

One named tuple for each storage of A; Numba selects the functions for it at compile time. All
storages give the same g up to rounding.
"""

from typing import Any, NamedTuple

from numba.extending import overload

from odsymnmf.kernels.compile import inline, inlined_helper, prefetch


class Neighbors(NamedTuple):
    """A in CSR form: g adds up the rows of H of the neighbors."""

    indptr: Any
    indices: Any
    data: Any


class Features(NamedTuple):
    """A = X X^T, X in CSR form: g = Z^T x_k - |x_k|^2 h_k, with Z = X^T H kept up to date."""

    indptr: Any
    indices: Any
    data: Any
    Z: Any
    norms: Any


class Block(NamedTuple):
    """G = A[items] @ H, computed by BLAS; S = A[items, items] with a zero diagonal.

    ``gross`` bounds the absolute terms of G, for the rounding of updates inside the block.
    """

    G: Any
    S: Any
    gross: Any


@inlined_helper
def add_rows(total, rows, weights, first, last, M):
    """Add weights[j] times row rows[j] of M for first <= j < last, four per pass over the total."""
    r = len(total)
    j = first
    while j + 4 <= last:
        i0, i1, i2, i3 = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
        d0, d1, d2, d3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        for l in range(r):
            s = (total[l] + d0 * M[i0, l]) + d1 * M[i1, l]
            total[l] = (s + d2 * M[i2, l]) + d3 * M[i3, l]
        j += 4
    while j < last:
        i0, d0 = rows[j], weights[j]
        for l in range(r):
            total[l] += d0 * M[i0, l]
        j += 1


@inline
def _add_neighbors(source, p, items, M, g):
    """Set g to the weighted sum of rows of M; prefetch those of the next item."""
    indptr, indices = source.indptr, source.indices
    k = items[p]
    for l in range(len(g)):
        g[l] = 0.0
    add_rows(g, indices, source.data, indptr[k], indptr[k + 1], M)
    if p + 1 < len(items):
        for j in range(indptr[items[p + 1]], indptr[items[p + 1] + 1]):
            prefetch(M, indices[j])


def _prefetch_row(source, p, items):
    """Prefetch the entries of the row four steps ahead, one per cache line."""
    if p + 4 < len(items):
        indptr, indices, data = source.indptr, source.indices, source.data
        k = items[p + 4]
        if p + 8 < len(items):
            prefetch(indptr, items[p + 8])
        for j in range(indptr[k], indptr[k + 1], 8):
            prefetch(indices, j)
            prefetch(data, j)


def _prefetch_nothing(source, p, items):
    pass


def _gather_neighbors(source, p, items, H, g):
    _add_neighbors(source, p, items, H, g)


def _gather_features(source, p, items, H, g):
    _add_neighbors(source, p, items, source.Z, g)
    norm = source.norms[items[p]]
    for l in range(len(g)):
        g[l] -= norm * H[items[p], l]


def _gather_block(source, p, items, H, g):
    for l in range(len(g)):
        g[l] = source.G[p, l]


@inline
def copy_row(k, H, before):
    """Set before = h_k."""
    for l in range(len(before)):
        before[l] = H[k, l]


def _save_nothing(source, k, H, before):
    pass


def _save_row(source, k, H, before):
    copy_row(k, H, before)


def _update_nothing(source, p, items, before, x, support):
    pass


def _update_features(source, p, items, before, x, support):
    """Z += x_k (x - before)^T, where the row has changed."""
    indptr, indices, data, Z = source.indptr, source.indices, source.data, source.Z
    m = 0
    for l in range(len(x)):
        change = x[l] - before[l]
        x[m], support[m] = change, l  # without a branch to mispredict
        m += change != 0.0
    for j in range(indptr[items[p]], indptr[items[p] + 1]):
        i0, d0 = indices[j], data[j]
        for t in range(m):
            Z[i0, support[t]] += d0 * x[t]


def _update_block(source, p, items, before, x, support):
    """G_b += S_bp (x - before) for the items after p."""
    G, S = source.G, source.S
    for l in range(len(x)):
        x[l] -= before[l]
    for b in range(p + 1, len(items)):
        s = S[b, p]
        if s != 0.0:
            for l in range(len(x)):
                G[b, l] += s * x[l]


def _no_scale(source, k):
    return 0.0


def _norm(source, k):
    return source.norms[k]


def _no_gross(source, p, l):
    return 0.0


def _gross(source, p, l):
    return source.gross[p, l]


def _by_storage(neighbors: Any, features: Any, block: Any) -> Any:
    """Return a function that calls one of three, by the type of its first argument."""
    functions = {Neighbors: neighbors, Features: features, Block: block}

    def call(source, *args):
        return functions[type(source)](source, *args)

    @overload(call, inline="always", strict=False)
    def _(source, *args):
        return functions[source.instance_class]

    return call


# Set g for item items[p]: gather(source, p, items, H, g).
gather = _by_storage(_gather_neighbors, _gather_features, _gather_block)
# Prefetch the rows of later items where they are not adjacent: prefetch_row(source, p, items).
prefetch_row = _by_storage(_prefetch_row, _prefetch_row, _prefetch_nothing)
# Set before = h_k where `update_products` needs it: save_row(source, k, H, before).
save_row = _by_storage(_save_nothing, _save_row, _save_row)
# Update the products with A: row items[p] was ``before`` and is x, which is overwritten.
update_products = _by_storage(_update_nothing, _update_features, _update_block)
# A bound on the terms of g that cancel, |x_k|^2 of a Gram matrix: rounding_scale(source, k).
rounding_scale = _by_storage(_no_scale, _norm, _no_scale)
# A bound on the terms of g_l that were updated inside a block: gross(source, p, l).
gross = _by_storage(_no_gross, _no_gross, _gross)
