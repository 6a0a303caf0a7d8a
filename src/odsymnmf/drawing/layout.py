"""Where the items of a small graph go on paper."""

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.members import Members
from odsymnmf.problem import Similarity

Links = tuple[Array, Array, Array]

# Every step compares all pairs of items.
MOST_ITEMS = 2000
STEPS = 150
GRAVITY = 0.04


def links(A: Similarity) -> Links:
    """Return the pairs i < j with a positive similarity, and their similarities."""
    found = []
    for b in A.item_blocks():
        items = np.arange(b.start, b.stop)
        rows, indptr, indices, data = A.rows(items)
        stored = slice(indptr[rows[0]], indptr[rows[-1] + 1])
        i = np.repeat(items, indptr[rows + 1] - indptr[rows])
        j, value = indices[stored], data[stored]
        keep = (i < j) & (value > 0)
        found.append((i[keep], j[keep], value[keep]))
    i, j, value = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return i, j, value


def layout(pairs: Links, members: Members, seed: int = 0) -> Array:
    """Return a point in the square from -1 to 1 for every item: links pull, all items push.

    The items begin on a ring, cluster after cluster, so that few need to pass through others.
    """
    n = members.n
    if n > MOST_ITEMS:
        raise ValueError(
            f"a drawing of {n} items would be unreadable ({MOST_ITEMS} is the limit); "
            "plot_matrix shows any number of items."
        )
    i, j, value = pairs
    weight = np.sqrt(value / value.max(initial=0.0)) if len(value) else value
    W = sparse.coo_array((weight, (i, j)), shape=(n, n)).tocsr()
    W = W + W.T
    total = np.asarray(W.sum(axis=1))
    # Items with many links push harder: that keeps hubs apart, and leaves near their hub.
    mass = 1 + np.sqrt(total)
    # Neighbours of like mass come to rest about this far apart.
    apart = 2 / np.sqrt(n)
    angle = np.empty(n)
    angle[members.order] = np.linspace(0, 2 * np.pi, n, endpoint=False)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points *= np.random.default_rng(seed).uniform(0.5, 1, (n, 1))
    for step in range(STEPS):
        push = apart**2 * mass[:, None] * _pushes(points, mass)
        pull = W @ points - total[:, None] * points
        # Without gravity, parts that no link holds would drift away.
        force = push + pull - GRAVITY * np.sqrt(n) * mass[:, None] * points
        length = np.linalg.norm(force, axis=1, keepdims=True)
        most = 0.2 * (1 - step / STEPS) ** 1.5
        points = points + force * np.minimum(most / np.maximum(length, 1e-12), 0.1)
    points -= (points.max(axis=0) + points.min(axis=0)) / 2
    return points / max(float(np.abs(points).max()), 1e-9)


def _pushes(points: Array, mass: Array) -> Array:
    """Return sum_j mass_j (x_i - x_j) / |x_i - x_j|^2 for every point x_i."""
    x, y = points.T.astype(np.float32)  # half the memory to go through
    across, up = x[:, None] - x, y[:, None] - y
    share = np.square(across)
    share += np.square(up)
    np.maximum(share, 1e-6, out=share)
    np.divide(mass.astype(np.float32), share, out=share)
    across *= share
    up *= share
    return np.stack([across.sum(axis=1), up.sum(axis=1)], axis=1).astype(np.float64)
