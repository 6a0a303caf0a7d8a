"""Section 2 of the paper: Example 1, the exact factorization, Lemma 2."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odsymnmf.paper import algorithm_5, algorithm_6
from odsymnmf.paper.algorithm_2 import odsymnmf_l2
from odsymnmf.paper.algorithm_3 import rank_one_l1
from odsymnmf.paper.algorithm_4 import odsymnmf_l1
from odsymnmf.paper.objective import off_diagonal_error
from odsymnmf.paper.symnmf import symnmf

EXAMPLE_1 = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
CLUSTERS = np.array([[1.0, 0], [1, 1], [0, 1]])
ALGORITHMS = {1: odsymnmf_l1, 2: odsymnmf_l2}


def same_columns(H, H_star):
    """Whether H equals H_star up to the order of its two columns."""
    return any(np.allclose(H[:, P], H_star, atol=1e-6) for P in ([0, 1], [1, 0]))


# --- Example 1 -----------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("greedy", [algorithm_5, algorithm_6])
@pytest.mark.parametrize("order", ["columns", "rows"])
def test_example_1_greedy_start_recovers_both_clusters(p, greedy, order):
    H = ALGORITHMS[p](EXAMPLE_1, greedy.greedy_init(EXAMPLE_1, 2, p), sweeps=100, order=order)
    assert off_diagonal_error(EXAMPLE_1, H, p) < 1e-20
    assert same_columns(H, CLUSTERS)


@pytest.mark.parametrize("r", range(1, 7))
def test_example_1_symnmf_cannot_get_below_the_eigenvalue_bound(r):
    # H H^T has no negative eigenvalue; that of A is 1 - sqrt(2).
    bound = np.sqrt(2) - 1
    errors = []
    for seed in range(4):
        H = symnmf(EXAMPLE_1, np.random.default_rng(seed).random((3, r)), sweeps=30)
        errors.append(np.linalg.norm(EXAMPLE_1 - H @ H.T))
    assert min(errors) > bound - 1e-12
    # The bound is tight from r = 2 on; with one column a second eigenvalue is lost.
    assert min(errors) == pytest.approx(bound if r > 1 else np.hypot(1, bound), abs=1e-6)


# --- the exact factorization ---------------------------------------------------------------


def one_column_per_pair(A):
    """The paper's H: for each pair with A_pq != 0 a column with 1 in row p and A_pq in row q."""
    pairs = [(p, q) for p, q in combinations(range(len(A)), 2) if A[p, q] != 0]
    H = np.zeros((len(A), max(1, len(pairs))))
    for l, (p, q) in enumerate(pairs):
        H[p, l] = 1
        H[q, l] = A[p, q]
    return H


@st.composite
def similarities(draw, low=0.0):
    """Symmetric matrices, sparse ones and equal entries among them; any diagonal."""
    n = draw(st.integers(1, 6))
    entry = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(low, 4).map(lambda x: round(x, 2)))
    A = np.zeros((n, n))
    A[np.tril_indices(n)] = draw(
        st.lists(entry, min_size=n * (n + 1) // 2, max_size=n * (n + 1) // 2)
    )
    return A + np.tril(A, -1).T


@given(similarities())
@settings(max_examples=60, deadline=None)
def test_exact_factorization_has_zero_error_and_both_algorithms_stay(A):
    H = one_column_per_pair(A)
    for p, algorithm in ALGORITHMS.items():
        assert off_diagonal_error(A, H, p) == 0
        for order in ("columns", "rows"):
            stayed = algorithm(A, H, sweeps=2, order=order, upper=np.inf)
            assert off_diagonal_error(A, stayed, p) < 1e-9
            if A[np.triu_indices(len(A), 1)].any():  # else the one column is free
                np.testing.assert_allclose(stayed, H, atol=1e-9)


# --- Lemma 2 -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(1, 11))
def test_algorithm_3_is_the_transformation_of_lemma_2(n):
    # On binary A the weighted median, clipped at 1, is 0 or 1; upper = 1 is what makes it so.
    rng = np.random.default_rng(n)
    for _ in range(40):
        A = np.triu(rng.integers(0, 2, (n, n)), 1)
        A, h = A + A.T, rng.random(n)
        binary = rank_one_l1(A, h)
        assert np.isin(binary, [0, 1]).all()
        error = off_diagonal_error(A, h[:, None], 1)
        assert off_diagonal_error(A, binary[:, None], 1) <= error + 1e-12
