import sys
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from odsymnmf.datasets import (
    adversarial,
    cliques,
    flip,
    les_miserables,
    planted_partition,
)

sizes = st.lists(st.integers(1, 6), min_size=1, max_size=5)
seeds = st.integers(0, 2**32 - 1)
probabilities = st.floats(0, 1)


def assert_binary_symmetric(A):
    assert A.dtype == np.float64
    assert set(np.unique(A)) <= {0, 1}
    assert np.array_equal(A, A.T)


def off_diagonal(A):
    return A[~np.eye(len(A), dtype=bool)]


@given(sizes)
def test_cliques_are_blocks_of_ones(sizes):
    A, H = cliques(sizes)
    group = np.repeat(np.arange(len(sizes)), sizes)
    assert A.dtype == H.dtype == np.float64
    assert np.array_equal(A, group[:, None] == group)
    assert np.array_equal(H, group[:, None] == np.arange(len(sizes)))


class TestFlip:
    @given(sizes, probabilities, seeds)
    def test_symmetric_binary_diagonal_untouched(self, sizes, delta, seed):
        A, _ = cliques(sizes)
        np.fill_diagonal(A, np.arange(len(A)) + 0.5)
        before = A.copy()
        noisy = flip(A, delta, seed)
        assert np.array_equal(A, before)
        assert np.array_equal(np.diag(noisy), np.diag(A))
        np.fill_diagonal(noisy, 0)
        assert_binary_symmetric(noisy)

    @given(sizes)
    def test_probability_0_and_1(self, sizes):
        A, _ = cliques(sizes)
        assert np.array_equal(flip(A, 0), A)
        assert flip(A, 0) is not A
        assert np.array_equal(off_diagonal(flip(A, 1)), 1 - off_diagonal(A))

    def test_every_pair_flips_with_probability_delta(self):
        A, _ = cliques([3, 2])
        rng = np.random.default_rng(0)
        rounds, delta = 4000, 0.3
        flips = sum(np.abs(flip(A, delta, rng) - A) for _ in range(rounds))
        # Five standard deviations.
        assert np.abs(off_diagonal(flips) / rounds - delta).max() < 5 * np.sqrt(0.21 / rounds)


class TestAdversarial:
    @given(st.integers(1, 6), st.integers(0, 5), st.data(), seeds)
    def test_structure(self, size, isolated, data, seed):
        connections = data.draw(st.integers(0, size))
        A, H = adversarial(size, isolated, connections, seed)
        clean, H_cliques = cliques([size, size] + [1] * isolated)
        assert_binary_symmetric(A)
        assert np.array_equal(H, H_cliques[:, :2])
        assert np.array_equal(A[: 2 * size, : 2 * size], clean[: 2 * size, : 2 * size])
        assert np.array_equal(A[2 * size :, 2 * size :], np.eye(isolated))
        for clique in (A[2 * size :, :size], A[2 * size :, size : 2 * size]):
            assert np.array_equal(clique.sum(axis=1), np.full(isolated, connections))


class TestPlantedPartition:
    @given(sizes, probabilities, probabilities, seeds)
    def test_form(self, sizes, p_in, p_out, seed):
        A, labels = planted_partition(sizes, p_in, p_out, seed)
        assert isinstance(A, csr_array)
        assert_binary_symmetric(A.toarray())
        assert not A.diagonal().any()
        assert A.has_canonical_format
        assert A.indices.dtype == A.indptr.dtype == np.int32
        assert (A.data == 1).all()
        assert np.array_equal(labels, cliques(sizes)[1].argmax(axis=1))

    @given(sizes)
    def test_certain_edges(self, sizes):
        blocks = cliques(sizes)[0]
        for p_in, p_out in ((1, 0), (0, 1), (1, 1), (0, 0)):
            expected = p_in * blocks + p_out * (1 - blocks)
            np.fill_diagonal(expected, 0)
            assert np.array_equal(planted_partition(sizes, p_in, p_out)[0].toarray(), expected)

    @pytest.mark.parametrize(("p_in", "p_out"), [(0.7, 0.2), (0.05, 0.95)])
    def test_every_graph_has_its_probability(self, p_in, p_out):
        # Groups {0, 1, 2} and {3}: 3 pairs inside, 3 across, 64 graphs.
        rng, rounds = np.random.default_rng(0), 5000
        i, j = np.triu_indices(4, 1)
        graphs = [planted_partition([3, 1], p_in, p_out, rng)[0].toarray() for _ in range(rounds)]
        outcomes = Counter(tuple(A[i, j]) for A in graphs)
        p = np.where(j < 3, p_in, p_out)
        for graph in product((0, 1), repeat=6):
            q = np.where(graph, p, 1 - p).prod()
            sigma = np.sqrt(rounds * q * (1 - q))
            assert abs(outcomes[graph] - rounds * q) < 5 * sigma + 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cliques([]), "sizes is empty; pass one positive integer per group"),
        (lambda: cliques([3, 0]), r"sizes\[1\] must be a whole number >= 1; got 0"),
        (lambda: flip(np.eye(2), 1.1), "delta must be a number from 0 to 1, got 1.1"),
        (lambda: flip(np.ones((2, 3)), 0.1), r"square array of .* got ndarray of shape \(2, 3\)"),
        (lambda: flip(csr_array(np.eye(2)), 0.1), r"\.toarray\(\)"),
        (lambda: flip([[0, 2], [2, 0]], 0.1), r"symmetric off the diagonal, but A\[0, 1\] is 2"),
        (lambda: flip([[0, 1], [0, 0]], 0.1), r"A\[0, 1\] is 1\.0 and A\[1, 0\] is 0\.0"),
        (lambda: adversarial(size=2.5), "size must be a whole number >= 1; got 2.5"),
        (lambda: adversarial(4, connections=5), "connections=5 is more than the 4 items"),
        (lambda: planted_partition([3], p_in=1.5, p_out=0), "p_in must be a number from 0 to 1"),
        (lambda: planted_partition([3], p_in=0.5), "pass either p_out or degree_out, got None and"),
        (lambda: planted_partition([3], 0.5, 0, degree_in=1), "pass either p_in or degree_in"),
        (
            lambda: planted_partition([3, 3], degree_in=2.5, p_out=0),
            "degree_in must be a number from 0 to 2, got 2.5",
        ),
        (lambda: flip(np.eye(2), 0.5, "7"), "random_state='7' cannot seed a generator"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


GENERATORS = {
    "flip": lambda state: flip(np.zeros((20, 20)), 0.5, state),
    "adversarial": lambda state: adversarial(8, 8, 4, state)[0],
    "planted_partition": lambda state: planted_partition([20, 20], 0.5, 0.3, state)[0].toarray(),
}


@pytest.mark.parametrize("generate", GENERATORS.values(), ids=GENERATORS.keys())
@pytest.mark.parametrize("make", [int, np.random.RandomState, np.random.default_rng])
def test_the_seed_decides_and_generators_advance(generate, make):
    state = make(5)
    first = generate(state)
    assert np.array_equal(first, generate(make(5)))
    assert not np.array_equal(first, generate(make(6)))
    assert np.array_equal(first, generate(state)) == (make is int)


def test_les_miserables_needs_networkx(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r'pip install "odsymnmf\[graphs\]"'):
        les_miserables()
