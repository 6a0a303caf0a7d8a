"""Sources of g = sum_{j != k} A_kj h_j, and their updates when row k of H changes.

One named tuple for each storage of A, with its own `gather`, `save_row`, `update_products`,
`rounding_scale` and `gross`; Numba selects them by the type of the tuple at compile time. All of
them give the same g up to rounding.
"""

from typing import Any, NamedTuple

from numba.extending import overload

from odsymnmf.kernels.compile import part
from odsymnmf.kernels.prefetch import prefetch


class Neighbours(NamedTuple):
    """A in CSR form: g adds up the rows of H of the neighbours."""

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

    ``gross`` bounds the terms of G, for the rounding of updates inside the block.
    """

    G: Any
    S: Any
    gross: Any


@part
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


@part
def _add_neighbours(source, p, items, M, g):
    """Set g to the weighted sum of rows of M; prefetch those of the next item."""
    indptr, indices = source.indptr, source.indices
    k = items[p]
    for l in range(len(g)):
        g[l] = 0.0
    add_rows(g, indices, source.data, indptr[k], indptr[k + 1], M)
    if p + 1 < len(items):
        for j in range(indptr[items[p + 1]], indptr[items[p + 1] + 1]):
            prefetch(M, indices[j])


def _fetch_rows(source, p, items):
    """Prefetch the entries of the row four steps ahead, one per cache line."""
    if p + 4 < len(items):
        indptr, indices, data = source.indptr, source.indices, source.data
        k = items[p + 4]
        if p + 8 < len(items):
            prefetch(indptr, items[p + 8])
        for j in range(indptr[k], indptr[k + 1], 8):
            prefetch(indices, j)
            prefetch(data, j)


def _fetch_nothing(source, p, items):
    pass


def _gather_neighbours(source, p, items, H, g):
    _add_neighbours(source, p, items, H, g)


def _gather_features(source, p, items, H, g):
    _add_neighbours(source, p, items, source.Z, g)
    own = source.norms[items[p]]
    for l in range(len(g)):
        g[l] -= own * H[items[p], l]


def _gather_block(source, p, items, H, g):
    for l in range(len(g)):
        g[l] = source.G[p, l]


@part
def copy_row(k, H, before):
    """Set before = h_k."""
    for l in range(len(before)):
        before[l] = H[k, l]


def _save_nothing(source, k, H, before):
    pass


def _save_row(source, k, H, before):
    copy_row(k, H, before)


def _update_nothing(source, p, items, before, x, found):
    pass


def _update_features(source, p, items, before, x, found):
    """Z += x_k (x - before)^T, where the row has changed."""
    indptr, indices, data, Z = source.indptr, source.indices, source.data, source.Z
    m = 0
    for l in range(len(x)):
        change = x[l] - before[l]
        x[m], found[m] = change, l  # without a branch to mispredict
        m += change != 0.0
    for j in range(indptr[items[p]], indptr[items[p] + 1]):
        i0, d0 = indices[j], data[j]
        for t in range(m):
            Z[i0, found[t]] += d0 * x[t]


def _update_block(source, p, items, before, x, found):
    """G_b += S_bp (x - before) for the items after p."""
    G, S = source.G, source.S
    for l in range(len(x)):
        x[l] -= before[l]
    for b in range(p + 1, len(items)):
        s = S[b, p]
        if s != 0.0:
            for l in range(len(x)):
                G[b, l] += s * x[l]


def _no_terms(source, k):
    return 0.0


def _norm(source, k):
    return source.norms[k]


def _no_gross(source, p, l):
    return 0.0


def _gross(source, p, l):
    return source.gross[p, l]


CASES: dict[str, dict[type, Any]] = {
    "gather": {
        Neighbours: _gather_neighbours,
        Features: _gather_features,
        Block: _gather_block,
    },
    "look_ahead": {Neighbours: _fetch_rows, Features: _fetch_rows, Block: _fetch_nothing},
    "save_row": {Neighbours: _save_nothing, Features: _save_row, Block: _save_row},
    "update_products": {
        Neighbours: _update_nothing,
        Features: _update_features,
        Block: _update_block,
    },
    "rounding_scale": {Neighbours: _no_terms, Features: _norm, Block: _no_terms},
    "gross": {Neighbours: _no_gross, Features: _no_gross, Block: _gross},
}


def gather(source, p, items, H, g):
    """Set g for item items[p]."""
    CASES["gather"][type(source)](source, p, items, H, g)


def save_row(source, k, H, before):
    """Set before = h_k where `update_products` needs it."""
    CASES["save_row"][type(source)](source, k, H, before)


def update_products(source, p, items, before, x, found):
    """Update the products with A: row items[p] was ``before`` and is x, which is overwritten."""
    CASES["update_products"][type(source)](source, p, items, before, x, found)


def look_ahead(source, p, items):
    """Prefetch what later items need, where their rows are not adjacent in memory."""
    CASES["look_ahead"][type(source)](source, p, items)


def rounding_scale(source, k):
    """Return a bound on the terms of g that cancel: |x_k|^2 of a Gram matrix."""
    return CASES["rounding_scale"][type(source)](source, k)


def gross(source, p, l):
    """Return a bound on the terms of g_l that were updated inside a block."""
    return CASES["gross"][type(source)](source, p, l)


@overload(gather, inline="always")
def _(source, p, items, H, g):
    return CASES["gather"][source.instance_class]


@overload(look_ahead, inline="always")
def _(source, p, items):
    return CASES["look_ahead"][source.instance_class]


@overload(save_row, inline="always")
def _(source, k, H, before):
    return CASES["save_row"][source.instance_class]


@overload(update_products, inline="always")
def _(source, p, items, before, x, found):
    return CASES["update_products"][source.instance_class]


@overload(rounding_scale, inline="always")
def _(source, k):
    return CASES["rounding_scale"][source.instance_class]


@overload(gross, inline="always")
def _(source, p, l):
    return CASES["gross"][source.instance_class]
