"""Algorithms 5 and 6: the greedy start."""

import numpy as np
import pytest

from odsymnmf.paper import algorithm_5, algorithm_6
from odsymnmf.paper.algorithm_5 import optimize_hk
from odsymnmf.paper.objective import off_diagonal_error

BOTH = pytest.mark.parametrize("greedy_init", [algorithm_5.greedy_init, algorithm_6.greedy_init])


def cliques(sizes):
    H = np.repeat(np.eye(len(sizes)), sizes, axis=0)
    return H @ H.T, H


def random_similarity(rng, n, binary):
    A = rng.integers(0, 2, (n, n)).astype(float) if binary else rng.random((n, n))
    return np.triu(A, 1) + np.triu(A, 1).T


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("self_similarity", [0.0, 1.0, 2.0, None])
@pytest.mark.parametrize("upper", [1.0, 0.5, np.inf])
def test_algorithms_5_and_6_agree_while_scores_are_fresh(p, self_similarity, upper):
    # i < 2r refreshes every score if 2r > n.
    rng = np.random.default_rng(0)
    for case in range(12):
        n = int(rng.integers(1, 8))
        A = random_similarity(rng, n, binary=case % 2 == 0)
        # Binary scores tie, and for p = 2 rounding would decide: give the items an order.
        A += 1e-3 * np.add.outer(x := rng.random(n), x) * (p == 2)
        r = n // 2 + 1 + case % 2
        options = {"self_similarity": self_similarity, "upper": upper}
        np.testing.assert_allclose(
            algorithm_6.greedy_init(A, r, p, **options),
            algorithm_5.greedy_init(A, r, p, **options),
            atol=1e-9,
        )


@BOTH
@pytest.mark.parametrize("p", [1, 2])
def test_cliques_are_found_at_once_the_largest_first(greedy_init, p):
    A, H_star = cliques([2, 5, 3])
    H = greedy_init(A, 3, p)
    np.testing.assert_array_equal(H, H_star[:, [1, 2, 0]])
    assert off_diagonal_error(A, H, p) == 0


def test_the_picks_follow_the_largest_score():
    # Algorithm 5 for p = 2 and one column, by hand. Row sums with a diagonal of 4: 11, 9, 8, 6.
    A = np.array([[0.0, 4, 2, 1], [4, 0, 1, 0], [2, 1, 0, 1], [1, 0, 1, 0]])
    # First item 0, value 1; w = (4, 4, 2, 1): A w = (37, 34, 21, 10), so item 1 comes next with
    # 4 / 1; then item 2 with (2 * 1 + 1 * 4) / (1 + 16) and item 3 from all three.
    h_2 = 6 / 17
    h_3 = (1 + h_2) / (17 + h_2**2)
    H = algorithm_5.greedy_init(A, 1, 2, upper=np.inf)
    np.testing.assert_allclose(H[:, 0], [1, 4, h_2, h_3])


def test_later_columns_are_fitted_to_the_residual():
    # Two cliques share item 2. The first column takes the larger; the second must not be
    # drawn to it again, and finds the other with the shared item.
    H_star = np.array([[1, 0], [1, 0], [1, 0], [1, 1], [0, 1], [0, 1]], dtype=float)
    A = np.minimum(H_star @ H_star.T, 1)
    for greedy in (algorithm_5, algorithm_6):
        np.testing.assert_array_equal(greedy.greedy_init(A, 2, 1), H_star)


@BOTH
@pytest.mark.parametrize("p", [1, 2])
def test_the_stored_diagonal_is_replaced(greedy_init, p):
    rng = np.random.default_rng(6)
    A = random_similarity(rng, 6, binary=True)
    other = A + np.diag([0, 5, -3, 1, 0, 100])
    np.testing.assert_array_equal(greedy_init(A, 2, p), greedy_init(other, 2, p))
    assert other[5, 5] == 100  # the argument is left alone


@BOTH
@pytest.mark.parametrize("p", [1, 2])
def test_no_similarity_at_all(greedy_init, p):
    # All items score 0 and nothing joins the first of a column. R_00 = -1 then keeps the second
    # column away from item 0: the diagonal has its say.
    assert greedy_init(np.zeros((3, 3)), 2, p).tolist() == [[1, 0], [0, 1], [0, 0]]
    assert greedy_init([[0]], 1, p).tolist() == [[1]]


def test_optimize_hk():
    assert optimize_hk([1.0, 0.0, 0.0], [1.0, 1.0, 0.5], p=1) == 0
    assert optimize_hk([1.0, 0.5, 0.0], [1.0, 1.0, 0.5], p=1) == 0.5
    assert optimize_hk([2.0, 0.0], [2.0, 1.0], p=2) == 0.8
    assert optimize_hk([-2.0, 0.0], [2.0, 1.0], p=2) == 0
    assert optimize_hk([9.0], [2.0], p=2) == 1
    assert optimize_hk([9.0], [2.0], p=2, upper=np.inf) == 4.5
    assert optimize_hk([9.0], [0.0], p=2) == 0
