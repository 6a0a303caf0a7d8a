"""Section 2 of the paper: Example 1, the exact factorisation, Lemmas 1 and 2, Theorem 1."""

from itertools import combinations, product

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


@pytest.mark.parametrize(("p", "at_least"), [(1, 15), (2, 30)])
def test_example_1_random_starts(p, at_least):
    # l2 finds the clusters from every start, l1 from most: it is the one sensitive to its start.
    # With entries at most 1, zero error leaves no other H than the two clusters.
    starts = (np.random.default_rng(seed).random((3, 2)) for seed in range(30))
    H = [ALGORITHMS[p](EXAMPLE_1, H0, sweeps=50) for H0 in starts]
    exact = [off_diagonal_error(EXAMPLE_1, h, p) < 1e-12 for h in H]
    assert sum(exact) >= at_least
    assert all(same_columns(h, CLUSTERS) for h, e in zip(H, exact, strict=True) if e)


def test_example_1_has_one_negative_eigenvalue():
    # H H^T has no negative eigenvalue, so ||A - H H^T||_F is at least the one of A.
    assert np.linalg.eigvalsh(EXAMPLE_1) == pytest.approx([1 - np.sqrt(2), 1, 1 + np.sqrt(2)])


@pytest.mark.parametrize("r", range(1, 7))
def test_example_1_symnmf_cannot_get_below_the_eigenvalue_bound(r):
    bound = np.sqrt(2) - 1
    errors = []
    for seed in range(4):
        H = symnmf(EXAMPLE_1, np.random.default_rng(seed).random((3, r)), sweeps=30)
        errors.append(np.linalg.norm(EXAMPLE_1 - H @ H.T))
    assert min(errors) > bound - 1e-12
    # The bound is tight from r = 2 on; with one column a second eigenvalue is lost.
    assert min(errors) == pytest.approx(bound if r > 1 else np.hypot(1, bound), abs=1e-6)


@given(st.lists(st.floats(0, 3), min_size=3, max_size=18).filter(lambda x: len(x) % 3 == 0))
@settings(max_examples=100, deadline=None)
def test_example_1_no_matrix_beats_the_eigenvalue_bound(entries):
    H = np.reshape(entries, (3, -1))
    assert np.linalg.norm(EXAMPLE_1 - H @ H.T) >= np.sqrt(2) - 1 - 1e-12


# --- the exact factorisation ---------------------------------------------------------------


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
def test_exact_factorisation_has_zero_error_and_both_algorithms_stay(A):
    H = one_column_per_pair(A)
    for p, algorithm in ALGORITHMS.items():
        assert off_diagonal_error(A, H, p) == 0
        for order in ("columns", "rows"):
            stayed = algorithm(A, H, sweeps=2, order=order, upper=np.inf)
            assert off_diagonal_error(A, stayed, p) < 1e-9
            if A[np.triu_indices(len(A), 1)].any():  # else the one column is free
                np.testing.assert_allclose(stayed, H, atol=1e-9)


# --- Lemmas 1 and 2, Theorem 1 -------------------------------------------------------------
# A graph is a 0/1 row over the pairs i < j; the diagonal plays no part. Both norms count each
# pair twice; once is enough to compare.


def pairs(n):
    return np.triu_indices(n, 1)


def grid(values, n):
    return np.array(list(product(values, repeat=n)), dtype=float)


def graphs(n):
    """Every binary symmetric matrix up to n = 5, and 40 random ones above."""
    m = n * (n - 1) // 2
    if n <= 5:
        return grid([0, 1], m)
    return np.random.default_rng(n).integers(0, 2, (40, m)).astype(float)


def errors(E, h, norm):
    """Error of every h (rows) on every graph (rows of E): an array graphs x h.

    For a binary entry the cost is cost(1 - h_i h_j) if it is 1 and cost(h_i h_j) if it is 0.
    """
    i, j = pairs(h.shape[1])
    product_ = h[:, i] * h[:, j]
    cost = {0: lambda x: (x != 0).astype(float), 1: np.abs}[norm]
    return E @ cost(1 - product_).T + (1 - E) @ cost(product_).T


def matrices(E, n):
    A = np.zeros((len(E), n, n))
    i, j = pairs(n)
    A[:, i, j] = A[:, j, i] = E
    return A


def phi(h):
    """Lemma 1's transformation."""
    return (h != 0).astype(float)


def lemma_2(A, h):
    """Lemma 2's transformation: each entry in turn becomes 0 or 1, whichever costs less.

    A is a stack of matrices, h of vectors.
    """
    h = h.copy()
    for i in range(h.shape[-1]):
        others = np.arange(h.shape[-1]) != i
        at_0 = np.abs(A[..., i, others]).sum(-1)
        at_1 = np.abs(A[..., i, others] - h[..., others]).sum(-1)
        binary = (h[..., i] == 0) | (h[..., i] == 1)
        h[..., i] = np.where(binary, h[..., i], at_1 < at_0)
    return h


def norm_1(A, h):
    residual = np.abs(A - h[..., :, None] * h[..., None, :])
    return np.triu(residual, 1).sum((-1, -2))


SIZES = range(1, 11)


def test_errors_of_this_file_are_the_papers_norm():
    # The brute force below and the executable paper must mean the same thing.
    E, h = graphs(4), np.random.default_rng(0).random((5, 4))
    table = errors(E, h, 1)
    for g, A in enumerate(matrices(E, 4)):
        for x in range(5):
            expected = off_diagonal_error(A, h[x][:, None], 1)
            assert 2 * table[g, x] == pytest.approx(expected)
            assert 2 * norm_1(A, h[x]) == pytest.approx(expected)


@pytest.mark.parametrize("n", SIZES)
def test_lemma_1(n):
    # 1/2 * 2 = 1 and (-1)(-1) = 1: products of entries that are not binary can fit exactly.
    rng = np.random.default_rng(n)
    h = grid([-1, 0, 0.5, 1, 2], n) if n <= 5 else rng.choice([-1, 0, 0.5, 1, 2], (500, n))
    h = np.vstack([h, rng.normal(size=(50, n)) * rng.integers(0, 2, (50, n))])
    E = graphs(n)
    assert (errors(E, phi(h), 0) <= errors(E, h, 0)).all()


@pytest.mark.parametrize("n", SIZES)
def test_lemma_2(n):
    rng = np.random.default_rng(n)
    E = graphs(n)
    A = np.repeat(matrices(E, n), 30, axis=0)
    h = rng.random((len(A), n))
    special = rng.random(h.shape) < 0.3
    h[special] = rng.choice([0, 0.5, 1], special.sum())
    binary = lemma_2(A, h)
    assert np.isin(binary, [0, 1]).all()
    assert (norm_1(A, binary) <= norm_1(A, h) + 1e-12).all()


@pytest.mark.parametrize("n", SIZES)
def test_algorithm_3_is_the_transformation_of_lemma_2(n):
    # On binary A the weighted median, clipped at 1, is 0 or 1; upper = 1 is what makes it so.
    rng = np.random.default_rng(n)
    for A in matrices(graphs(n), n):
        h = rng.random(n)
        binary = rank_one_l1(A, h)
        assert np.isin(binary, [0, 1]).all()
        assert norm_1(A, binary) <= norm_1(A, h) + 1e-12


@pytest.mark.parametrize("n", SIZES)
def test_theorem_1(n):
    rng = np.random.default_rng(n)
    E = graphs(n)
    binary = grid([0, 1], n)
    e = errors(E, binary, 0)
    # On binary vectors the two norms are one.
    np.testing.assert_array_equal(e, errors(E, binary, 1))
    best = e.min(axis=1, keepdims=True)

    # No other vector does better, in either norm: so a binary optimum of one problem is an
    # optimum of the other.
    h_0 = grid([0, 0.5, 1, 2], n) if n <= 5 else rng.choice([0, 0.5, 1, 2], (2000, n))
    e_0 = errors(E, h_0, 0)
    assert (e_0 >= best).all()
    h_1 = grid([0, 0.25, 0.5, 0.75, 1], n) if n <= 5 else rng.random((2000, n))
    h_1 = np.vstack([h_1, binary, rng.random((50, n))])
    e_1 = errors(E, h_1, 1)
    assert (e_1 >= best - 1e-12).all()

    # Any optimum of the l0 problem becomes a binary optimum of both by Lemma 1 ...
    g, x = np.nonzero(e_0 == best)
    assert g.size > 0 or n > 5
    as_index = phi(h_0) @ 2 ** np.arange(n)[::-1]
    assert (e[g, as_index[x].astype(int)] == best[g, 0]).all()
    # ... and any optimum of the l1 problem by Lemma 2.
    g, x = np.nonzero(e_1 <= best + 1e-12)
    assert np.unique(g).size == len(E)
    for part in np.array_split(np.arange(g.size), max(1, g.size // 20_000)):
        transformed = lemma_2(matrices(E[g[part]], n), h_1[x[part]])
        as_index = (transformed @ 2 ** np.arange(n)[::-1]).astype(int)
        assert (e[g[part], as_index] == best[g[part], 0]).all()
