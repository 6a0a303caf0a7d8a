"""The weighted median by selection against brute force."""

import numpy as np

from odsymnmf import kernels

from .lines import Line


def brute_force(points, weights, target):
    """Return the smallest point at which the weight up to it reaches the target."""
    for x in sorted(set(points.tolist())):
        if weights[points <= x].sum() >= target:
            return x
    return points.max()


def once(seed, k):
    """Whole weights, so that sums are exact in any order; many ties."""
    rng = np.random.default_rng([seed, k])
    m = int(rng.integers(1, 30))
    points = rng.integers(0, rng.integers(1, 40), m) / 8.0
    weights = rng.integers(1, rng.integers(2, 20), m) + 0.0
    target = float(rng.integers(1, 2 * weights.sum() + 2)) / 2
    expected = brute_force(points, weights, target)
    room = [np.append(points, np.nan), np.append(weights, np.nan)]
    assert kernels.weighted_median.select(*room, m, target) == expected
    assert sorted(room[0][:m]) == sorted(points)
    return None


LINES = {"medians": Line("weighted median against brute force", 1_000_000, once)}
