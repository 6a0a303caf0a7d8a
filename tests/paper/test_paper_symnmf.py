"""symNMF, the baseline of Vandaele et al."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odsymnmf.paper.symnmf import minimize_quartic, symnmf

ORDERS = ["columns", "rows"]


def random_problem(seed, n=5, r=2):
    rng = np.random.default_rng(seed)
    A = rng.normal(0.5, 1, (n, n))
    return (A + A.T) / 2, rng.random((n, r))


def error(A, H):
    return np.sum((A - H @ H.T) ** 2)


@given(st.floats(-9, 9), st.floats(-9, 9), st.sampled_from([0.5, 2.0, np.inf]))
@settings(max_examples=150, deadline=None)
def test_the_quartic_against_a_fine_grid(a, b, upper):
    def f(x):
        return x**4 / 4 + a * x**2 / 2 + b * x

    x = minimize_quartic(a, b, upper)
    assert 0 <= x <= upper
    # All roots of x^3 + a x + b lie below 1 + max(|a|, |b|) <= 10 (Cauchy's bound).
    grid = np.linspace(0, min(upper, 10), 20_001)
    assert f(x) <= f(grid).min() + 1e-9
    assert f(x) >= f(grid).min() - 1e-3


@pytest.mark.parametrize(
    ("a", "b", "x"),
    [
        (0, 0, 0),
        (1, 1, 0),  # rising from 0 on
        (-1, 0, 1),  # 0 is a maximum
        (-3, 2, 0),  # falls again after a double root at 1, but 0 stays lower
        (-4, 0.1, 1.987),  # two local minima, 0 and a lower one
        (0, -8, 2),
    ],
)
def test_the_quartic_by_hand(a, b, x):
    assert minimize_quartic(a, b) == pytest.approx(x, abs=1e-3)


@pytest.mark.parametrize("order", ORDERS)
def test_a_sweep_minimizes_over_each_entry_in_turn(order):
    # A slow sweep that knows no formula, diagonal included.
    A, H0 = random_problem(1, n=3)
    expected = H0.copy()
    visits = [(k, l) for l in range(2) for k in range(3)]
    for k, l in visits if order == "columns" else sorted(visits):
        x = np.linspace(0, 3, 30_001)
        trial = np.repeat(expected[None], len(x), axis=0)
        trial[:, k, l] = x
        f = ((A - trial @ trial.transpose(0, 2, 1)) ** 2).sum((1, 2))
        expected[k, l] = x[np.argmin(f)]
    np.testing.assert_allclose(symnmf(A, H0, sweeps=1, order=order), expected, atol=1e-3)


def test_it_leaves_a_zero_start_and_reads_the_diagonal():
    # ODsymNMF-l2 cannot do the first, and must not do the second.
    np.testing.assert_allclose(symnmf(np.ones((3, 3)), np.zeros((3, 1)), sweeps=60), 1, atol=1e-6)
    assert not symnmf(np.ones((3, 3)) - np.eye(3), np.zeros((3, 1))).any()
