"""The appendix's weighted median against brute force."""

import numpy as np
import pytest

from odsymnmf.paper.weighted_median import constrained_weighted_median, weighted_median

# Weights 0 to 4 and whole targets: 12 b / a is a whole number, so brute force is exact and a
# tie is a tie.
SCALE = 12


def smallest_minimizer(a, b, low, high):
    """Brute force in whole numbers: SCALE times the smallest minimizer over [low, high].

    A convex, piecewise linear function has a minimum at a breakpoint or at a bound.
    """
    breakpoints = SCALE * b[a > 0] // a[a > 0]
    bounds = [v for v in (low, high) if np.isfinite(v)]
    x = np.unique(np.clip(np.append(breakpoints, bounds), low, high)).astype(int)
    f = np.abs(np.outer(x, a) - SCALE * b).sum(axis=1)
    return x[np.argmin(f)]  # argmin takes the first, x is sorted


def cases(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = rng.integers(0, 10)
        yield (
            rng.integers(0, rng.integers(1, 6), n),
            rng.integers(-rng.integers(1, 9), rng.integers(1, 9), n),
            rng,
        )


def test_constrained_against_brute_force():
    seen = {"empty": 0, "zero": 0, "upper": 0, "inside": 0, "zeros in a": 0}
    for a, b, rng in cases(4000, seed=1):
        upper = rng.choice([0.5, 1.0, 2.5, np.inf])
        empty = rng.choice([0.0, 0.25, 1.0])
        x = constrained_weighted_median(a, b, upper=upper, empty=empty)
        if not a.any():
            assert x == min(empty, upper)
            seen["empty"] += 1
            continue
        assert x == smallest_minimizer(a, b, 0, SCALE * upper) / SCALE
        seen["zero" if x == 0 else "upper" if x == upper else "inside"] += 1
        seen["zeros in a"] += (a == 0).any()
    assert min(seen.values()) > 100


def test_unconstrained_against_brute_force():
    for a, b, _ in cases(3000, seed=2):
        if a.any():
            assert weighted_median(a, b) == smallest_minimizer(a, b, -np.inf, np.inf) / SCALE


@pytest.mark.parametrize("a", [[], [0], [0.0, 0.0]])
def test_empty_takes_the_value_it_is_given(a):
    b = np.ones(len(a))
    assert constrained_weighted_median(a, b) == 1
    assert constrained_weighted_median(a, b, empty=0) == 0
    assert constrained_weighted_median(a, b, upper=0.5) == 0.5
    with pytest.raises(ValueError, match="weights must be >= 0"):
        weighted_median(a, b)
