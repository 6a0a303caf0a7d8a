"""symNMF, the baseline of Vandaele et al."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from odsymnmf.paper.symnmf import minimize_quartic, symnmf


@given(st.floats(-9, 9), st.floats(-9, 9), st.sampled_from([0.5, 2.0, np.inf]))
@settings(max_examples=150, deadline=None)
@example(0.0, 0.0, np.inf)
@example(-1.0, 0.0, np.inf)  # 0 is a maximum
@example(-3.0, 2.0, np.inf)  # falls again after a double root at 1, but 0 stays lower
@example(-4.0, 0.1, np.inf)  # two local minima, 0 and a lower one
@example(0.0, -8.0, np.inf)
def test_the_quartic_against_a_fine_grid(a, b, upper):
    def f(x):
        return x**4 / 4 + a * x**2 / 2 + b * x

    x = minimize_quartic(a, b, upper)
    assert 0 <= x <= upper
    # All roots of x^3 + a x + b lie below 1 + max(|a|, |b|) <= 10 (Cauchy's bound).
    grid = np.linspace(0, min(upper, 10), 20_001)
    assert f(x) <= f(grid).min() + 1e-9
    assert f(x) >= f(grid).min() - 1e-3


def test_symnmf_changes_zeros_and_reads_the_diagonal():
    # ODsymNMF-l2 cannot do the first, and must not do the second.
    np.testing.assert_allclose(symnmf(np.ones((3, 3)), np.zeros((3, 1)), sweeps=60), 1, atol=1e-6)
    assert not symnmf(np.ones((3, 3)) - np.eye(3), np.zeros((3, 1))).any()
