"""f_1 and f_2: their values, what a column is worth, and what a membership is worth.

f_p(H) = sum over i != j of w_ij |A_ij - h_i . h_j|^p. All pairs have the background weight w0 in a
closed form over what A stores; the exceptions are added one by one.
"""

import numpy as np

from odsymnmf import kernels
from odsymnmf.arrays import Array, blocks
from odsymnmf.engine.losses.protocol import Scales, Worth
from odsymnmf.kernels.rounding import CANCELLED
from odsymnmf.problem import Similarity
from odsymnmf.problem.blocking import rows_of
from odsymnmf.problem.closed_forms import TOO_MANY
from odsymnmf.problem.rounds import LARGEST, tiles

# Entries of the rows that a thread holds at a time.
HELD = 2**20
# Screening leaves about one multiply-add in so many of a row.
SPARED = 4
# Rows of A that are looked at pair by pair at a time.
FEW = 128


def total_error(A: Similarity, H: Array, scales: Scales) -> float:
    """Return l1 f_1(H) + l2 f_2(H)."""
    value = 0.0
    if scales.l1 > 0:
        value += scales.l1 * _error(A, H, 1)
    if scales.l2 > 0:
        value += scales.l2 * _error(A, H, 2)
    return value


def _error(A: Similarity, H: Array, power: int) -> float:
    w0 = A.weights.background
    value = 0.0
    if w0 > 0:
        value = w0 * (A.squared_error(H) if power == 2 else A.absolute_error(H))
    if A.weights.exceptions is not None:
        value += float(np.sum(listed_errors(A, np.arange(len(H)), H, power)))
    return 0.0 if value < 0.0 else value


def zero_error(A: Similarity, power: int) -> float:
    """Return f_p(0); pair by pair where the exceptions leave little more of it than rounding."""
    value = _error(A, np.zeros((A.n, 1), dtype=A.dtype), power)
    if A.weights.exceptions is None or float(A.n) ** 2 > TOO_MANY:
        return value
    w0, P = A.weights.background, A.weights.pattern
    listed = float(P.data @ A.weights.exceptions.a**power)
    if value >= CANCELLED * abs(listed):
        return value
    rows = (np.arange(b.start, b.stop) for b in blocks(A.n, FEW))
    return float(
        sum(np.sum((w0 + P[some].toarray()) * np.abs(A.full_rows(some)) ** power) for some in rows)
    )


def listed_errors(A: Similarity, items: Array, H: Array, power: int) -> Array:
    """Return for each item the sum of v_ij |A_ij - h_i . h_j|^power over its exceptions."""
    errors = np.empty(len(items))
    kernels.weights.error(items, A.weights.exceptions, H, power, errors)
    return errors


def swept(H: Array, items: Array) -> Array:
    """Return the rows of the items; not copied where these are all, which is most often so."""
    return H if len(items) == len(H) else H[items]


def relative_to(furthest: float, H: Array) -> float:
    """Return the largest change relative to the largest entry; what has become zero, moved by all.

    Without a look at the scale of A, which H knows nothing of when it is zero.
    """
    top = float(H.max(initial=0.0))
    return furthest / top if top > 0 else float(furthest > 0)


def row_tiles(A: Similarity, r: int) -> list[slice]:
    """Cut the items into tiles for rounds, such that the rows of a piece of work can be held."""
    largest = HELD // max(1, A.row_entries)
    return tiles(A.n, r, A.row_entries, min(max(1, largest), LARGEST), SPARED)


def worth(A: Similarity, H: Array, j: int, items: Array, scales: Scales) -> Worth:
    """Say by how much f would rise without column j, whose entries are among the items."""
    parts = [(scale, power) for scale, power in ((scales.l1, 1), (scales.l2, 2)) if scale > 0]
    found = [(scale, _worth(A, H, j, items, power)) for scale, power in parts]
    return Worth(
        sum(scale * part.value for scale, part in found),
        sum(scale * part.size for scale, part in found),
    )


def _worth(A: Similarity, H: Array, j: int, items: Array, power: int) -> Worth:
    found = (_worth_l1 if power == 1 else _worth_l2)(A, H, j, items)
    weights = A.weights
    if weights.exceptions is None:
        return found
    gain, size = kernels.weights.gain(items, weights.exceptions, j, H, power)
    w0 = weights.background
    return Worth(w0 * found.value + gain, w0 * found.size + size)


def _worth_l2(A: Similarity, H: Array, j: int, items: Array) -> Worth:
    """sum_{i != k} 2 R_ik x_ik - x_ik^2, with R = A minus the other columns, x_ik = H_ij H_kj."""
    column = H[:, j].astype(np.float64)
    h, others = column[items], H[items].astype(np.float64)
    others[:, j] = 0.0
    A_xx = A.quadratic(column)
    sums, norms = h @ others, np.einsum("ij,ij->i", others, others)
    explained = float(sums @ sums - h**2 @ norms)
    squares = 2.0 * float(h[1:] ** 2 @ np.cumsum(h**2)[:-1])
    value = 2.0 * (A_xx - explained) - squares
    return Worth(value, 2.0 * (abs(A_xx) + float(sums @ sums)) + squares)


def _worth_l1(A: Similarity, H: Array, j: int, items: Array) -> Worth:
    """sum_{i != k} |R_ik| - |R_ik - x_ik|, which is -x_ik where nothing is stored."""
    h = H[items, j].astype(np.float64)
    everywhere = 2.0 * float(h[1:] @ np.cumsum(h)[:-1])
    pieces = rows_of(A, items)
    stored = float(sum(kernels.l1.stored_gain(some, rows, j, H) for some, rows in pieces))
    return Worth(stored - everywhere, stored + everywhere)


def pair_losses(residuals: Array, scales: Scales) -> Array:
    """Return l1 |e| + l2 e^2 for each residual e."""
    return scales.l1 * np.abs(residuals) + scales.l2 * residuals**2


def harm(A: Similarity, H: Array, scales: Scales) -> tuple[Array, Array]:
    """Return by how much f_i = sum_{j != i} rises without H_il, and f_i at h_i = 0."""
    H = H.astype(np.float64, copy=False)
    rises, alone = np.zeros(H.shape), np.zeros(len(H))
    for b in A.item_blocks():
        items = np.arange(b.start, b.stop)
        for scale, power in ((scales.l1, 1), (scales.l2, 2)):
            if scale > 0:
                rise, energy = _rises(A, H, items, power)
                rises[b] += scale * rise
                alone[b] += scale * energy
    return rises, alone


def _rises(A: Similarity, H: Array, items: Array, power: int) -> tuple[Array, Array]:
    """Return the rises of f_i without H_il, and f_i at h_i = 0, for one power.

    Pairs that are not stored have A_ij = 0. For those together,
    sum_j (h_i . h_j - H_il H_jl)^p - (h_i . h_j)^p has a closed form over all j; each stored pair
    then gets the difference between what it contributes and what that form took it for.
    """
    h = H[items]
    if power == 1:
        background = -h * (H.sum(axis=0) - h)
    else:
        squares, own = h**2, np.einsum("it,it->i", h, h)[:, None]
        with_all = h @ (H.T @ H) - h * own
        background = squares * (np.einsum("jl,jl->l", H, H) - squares) - 2 * h * with_all
    places, columns, values = stored_pairs(A, items)
    one = np.ones(len(values))
    rises, energy = _listed_rises(h, H, places, columns, values, one, power, assumed=True)
    rises += background
    P = A.weights.pattern
    if P is None:
        return rises, energy
    some = P[items]
    listed = np.repeat(np.arange(len(items)), np.diff(some.indptr))
    at = _ranges(P.indptr[items], np.diff(some.indptr))
    a = A.weights.values[at]  # type: ignore[index]
    more, more_energy = _listed_rises(h, H, listed, some.indices, a, some.data, power)
    w0 = A.weights.background
    return w0 * rises + more, w0 * energy + more_energy


def _listed_rises(
    h: Array,
    H: Array,
    places: Array,
    columns: Array,
    values: Array,
    weights: Array,
    power: int,
    assumed: bool = False,
) -> tuple[Array, Array]:
    """Sum the rises over listed pairs; ``assumed``: minus what they would be with A_ij = 0."""

    def total(pairs: Array) -> Array:
        return np.bincount(places, weights=weights * pairs, minlength=len(h))

    # h_i . h_j of the pairs, column after column: no array of pairs x r is made.
    explained = np.zeros(len(values))
    for l in range(H.shape[1]):
        explained += h[places, l] * H[columns, l]
    residual = values - explained
    rises = np.zeros(h.shape)
    for l in range(H.shape[1]):
        part = h[places, l] * H[columns, l]
        rise = np.abs(residual + part) ** power - np.abs(residual) ** power
        if assumed:
            rise -= np.abs(explained - part) ** power - explained**power
        rises[:, l] = total(rise)
    return rises, total(np.abs(values) ** power)


def stored_pairs(A: Similarity, items: Array) -> tuple[Array, Array, Array]:
    """Return the stored pairs of the items: place in ``items``, other item, similarity."""
    which, indptr, indices, data = A.rows(items)
    counts = indptr[which + 1] - indptr[which]
    at = _ranges(indptr[which], counts)
    columns, places = indices[at], np.repeat(np.arange(len(items)), counts)
    others = columns != items[places]
    return places[others], columns[others], data[at][others].astype(np.float64)


def _ranges(starts: Array, counts: Array) -> Array:
    """Return the numbers from each start on, as many as its count says, one after another."""
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)


def tidy(H: Array) -> None:
    """Clear columns with one entry, which explain no pair, and balance those with two.

    Neither changes the objective: a lone entry meets only itself, and (s, t) explains one pair
    by s t, as (sqrt(s t), sqrt(s t)) does. Left alone, both can grow without bound.
    """
    counts = _entries(H)
    H[:, counts == 1] = 0
    for l in np.flatnonzero(counts == 2):
        i, j = np.flatnonzero(H[:, l])
        H[i, l] = H[j, l] = np.sqrt(float(H[i, l]) * float(H[j, l]))


def _entries(H: Array) -> Array:
    """Return how many entries each column has, as products: BLAS counts four times as fast."""
    pieces = (H[b] > 0 for b in blocks(len(H), 2**12))
    # Beyond 2^24, adding 1 changes nothing: many are many.
    return np.asarray(sum(np.ones(len(p), np.float32) @ p.astype(np.float32) for p in pieces))
