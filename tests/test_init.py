"""Initializations: definitions, bounds, scale and order of the items."""

import numpy as np
import pytest
from problems import (
    EACH_FORM,
    INPUTS,
    as_input,
    assert_close,
    documents,
    pairwise,
    quiet,
    symmetric,
)
from scipy import sparse

import odsymnmf as od
from odsymnmf.init import greedy, spectral
from odsymnmf.init.arrays import single_entries
from odsymnmf.paper.algorithm_6 import greedy_init
from odsymnmf.similarity import as_similarity
from odsymnmf.solvers.losses import make_solver


def greedy_of(A, r, loss, upper=np.inf):
    return greedy.greedy(make_solver(loss, as_similarity(A), upper), r)


def paper_greedy(A, r, p, scale=None, upper=np.inf):
    """Algorithm 6 for a largest similarity of 1: A / scale, and sqrt(scale) times its result."""
    largest = symmetric(A).max(initial=0.0)
    scale = scale or largest
    if scale == 0:
        return np.zeros((len(A), r))
    diagonal = greedy.SELF_SIMILARITY * scale / largest
    H = greedy_init(A / scale, r, p, self_similarity=diagonal, upper=upper / np.sqrt(scale))
    return H * np.sqrt(scale)


@EACH_FORM
@pytest.mark.parametrize("upper", [0.5, np.inf])
def test_greedy_l1_is_algorithm_6_bit_for_bit_on_binary_data(form, upper):
    # Many ties: the first item is chosen.
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, r = int(rng.integers(1, 12)), int(rng.integers(1, 6))
        A = symmetric((rng.random((n, n)) < rng.random()).astype(float))
        H = greedy_of(form(A), r, "l1", upper)
        np.testing.assert_array_equal(H, paper_greedy(A, r, 1, upper=upper))


@pairwise({"kind": INPUTS, "p": [1, 2], "r": [1, 4, 30], "upper": [0.5, np.inf], "c": [1, 0.5, 8]})
def test_greedy_is_algorithm_6(kind, p, r, upper, c):
    X = c * documents(3, n=30, m=20, duplicate=False)
    dense = as_input("dense", X)
    # The largest entry of a Gram matrix is bounded by its largest diagonal entry.
    scale = float(c**2) if "gram" in kind else symmetric(dense).max()
    H = greedy_of(as_input(kind, X), r, f"l{p}", c * upper)
    assert_close(H, paper_greedy(dense, r, p, scale, c * upper), 1e-10)


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("init", ["greedy", "spectral"])
def test_initializations_of_block_matrices(loss, init):
    truth = np.kron(np.eye(4), np.ones((6, 1)))
    A = sparse.csr_array(truth @ truth.T)
    f = od.factorize(A, 4, loss=loss, init=init, random_state=0, upper=1.0)
    order = np.argsort(np.argmax(f.H, axis=0))
    np.testing.assert_allclose(f.H[:, order], truth, atol=1e-6)
    assert f.objective == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("n", [25, 150])
@EACH_FORM
def test_spectral_of_graphs_with_few_eigenvalues_is_reproducible(n, form):
    # Larger than what is decomposed completely; Lanczos breaks down and continues at random.
    for A in (
        np.zeros((n, n)),
        symmetric(np.eye(n, k=n - 1)),
        np.kron(np.eye(5), np.ones(2 * [n // 5])),
    ):
        first, second = (
            od.factorize(form(A), 5, init="spectral", random_state=1).H for _ in range(2)
        )
        assert np.isfinite(first).all()
        if spectral.EIGSH_SEED:
            np.testing.assert_array_equal(first, second)
        assert first[first > 0].min(initial=1.0) > 1e-6


def test_random_init_has_the_best_scale():
    A = symmetric(np.random.default_rng(0).random((25, 25)))
    H = od.factorize(A, 3, init="random", random_state=0, max_iter=0).H
    best = od.objective(A, H)
    assert best < od.objective(A, 1.01 * H)
    assert best < od.objective(A, 0.99 * H)
    drawn = np.random.RandomState(0).uniform(size=(25, 3))
    np.testing.assert_allclose(H / drawn, (H / drawn)[0, 0])


@pytest.mark.parametrize("r", [3, 9])
def test_zero_init_starts_from_one_item_in_each_column(r):
    star = np.zeros((6, 6))
    star[0, 1:] = star[1:, 0] = 4.0
    H = single_entries(make_solver("l2", as_similarity(star), np.inf), r)
    np.testing.assert_array_equal(np.count_nonzero(H, axis=0), [1] * min(r, 6) + [0] * (r - 6))
    np.testing.assert_array_equal(H.max(axis=0)[:6], 2.0)
    assert H[0, 0] == 2.0
    assert np.count_nonzero(H.sum(axis=1)) == min(r, 6)


@pytest.mark.parametrize("init", ["greedy", "zero"])
def test_deterministic_initializations_draw_no_random_numbers(init):
    state = np.random.RandomState(0)
    quiet(symmetric(np.ones((9, 9))), 3, init=init, random_state=state, max_iter=2)
    assert state.randint(2**31) == np.random.RandomState(0).randint(2**31)
