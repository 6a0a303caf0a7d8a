import sys
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from odsymnmf.datasets import adversarial, cliques, flip, les_miserables, planted_partition
from odsymnmf.datasets._planted import _pairs_across, _pairs_inside, _successes

sizes = st.lists(st.integers(1, 6), min_size=1, max_size=5)
seeds = st.integers(0, 2**32 - 1)
probabilities = st.floats(0, 1)
BAD_SIZES = [[], [3, 0], [3, -1], [2.5], [2.0], [True], ["3"], 3, [[1, 2]], [[1], [2, 3]], None]


def assert_binary_symmetric(A):
    assert A.dtype == np.float64
    assert set(np.unique(A)) <= {0, 1}
    assert np.array_equal(A, A.T)


def off_diagonal(A):
    return A[~np.eye(len(A), dtype=bool)]


class TestCliques:
    @given(sizes)
    def test_blocks_of_ones(self, sizes):
        A, H = cliques(sizes)
        group = [g for g, size in enumerate(sizes) for _ in range(size)]
        assert A.dtype == H.dtype == np.float64
        assert np.array_equal(A, [[float(a == b) for b in group] for a in group])
        assert np.array_equal(H, [[float(a == l) for l in range(len(sizes))] for a in group])

    @pytest.mark.parametrize("bad", BAD_SIZES)
    def test_bad_sizes(self, bad):
        with pytest.raises(ValueError, match=r"sizes.*pass one positive integer per group"):
            cliques(bad)

    def test_bad_size_is_named(self):
        with pytest.raises(ValueError, match=r"sizes\[1\] is -4"):
            cliques([3, -4])

    def test_array_of_sizes(self):
        assert np.array_equal(cliques(np.array([2, 3], dtype=np.uint8))[0], cliques([2, 3])[0])


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
    def test_never_and_always(self, sizes):
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

    def test_pairs_flip_independently(self):
        A = np.zeros((3, 3))
        rng = np.random.default_rng(0)
        outcomes = Counter(tuple(flip(A, 0.5, rng)[np.triu_indices(3, 1)]) for _ in range(4000))
        assert len(outcomes) == 8
        assert all(abs(count - 500) < 5 * np.sqrt(4000 * 7 / 64) for count in outcomes.values())

    def test_nan_on_the_diagonal_is_no_obstacle(self):
        A, _ = cliques([2, 2])
        expected = flip(A, 0.5, 1)
        np.fill_diagonal(A, np.nan)
        got = flip(A, 0.5, 1)
        assert np.isnan(np.diag(got)).all()
        assert np.array_equal(off_diagonal(got), off_diagonal(expected))

    @pytest.mark.parametrize(
        ("given", "returned"),
        [(np.float32, np.float32), (np.float64, np.float64), (np.int8, np.float64), (bool, float)],
    )
    def test_dtypes(self, given, returned):
        A = np.ones((3, 3), dtype=given)
        assert flip(A, 0.5, 0).dtype == returned

    @pytest.mark.parametrize("delta", [-0.1, 1.1, np.nan, np.inf, "0.1", None, 0.5j])
    def test_bad_delta(self, delta):
        with pytest.raises(ValueError, match="delta must be a number from 0 to 1, got"):
            flip(np.eye(2), delta)

    @pytest.mark.parametrize(
        ("A", "message"),
        [
            (np.ones((2, 3)), r"square, got shape \(2, 3\)"),
            (np.ones(4), r"square, got shape \(4,\)"),
            ([[0, 2], [2, 0]], r"binary off the diagonal, but A\[0, 1\] is 2"),
            ([[0, 1], [0.5, 0]], r"binary off the diagonal, but A\[1, 0\] is 0\.5"),
            ([[0, np.nan], [np.nan, 0]], r"A\[0, 1\] is nan"),
            ([[0, 1], [0, 0]], r"symmetric, but A\[0, 1\] is 1\.0 and A\[1, 0\] is 0\.0"),
            ([["a", "b"], ["b", "a"]], "dense array of zeros and ones"),
            (csr_array(np.eye(2)), r"\.toarray\(\)"),
        ],
    )
    def test_bad_matrix(self, A, message):
        with pytest.raises(ValueError, match=message):
            flip(A, 0.1)


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

    def test_defaults_are_the_paper(self):
        A, H = adversarial()
        assert A.shape == (30, 30)
        assert np.array_equal(A, cliques([10, 10] + [1] * 10)[0])
        assert H.sum() == 20

    def test_connections_are_uniform_and_independent(self):
        rng = np.random.default_rng(0)
        rounds = 3000
        outcomes = Counter()
        for _ in range(rounds):
            A, _ = adversarial(3, 1, 1, rng)
            outcomes[tuple(A[6, :6].nonzero()[0])] += 1
        assert set(outcomes) == {(a, b) for a in range(3) for b in range(3, 6)}
        assert all(abs(c - rounds / 9) < 5 * np.sqrt(rounds * 8 / 81) for c in outcomes.values())

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"size": 0}, "size must be a whole number >= 1; got 0"),
            ({"size": 2.5}, "size must be a whole number >= 1; got 2.5"),
            ({"size": True}, "size must be a whole number >= 1; got True"),
            ({"isolated": -1}, "isolated must be a whole number >= 0; got -1"),
            ({"connections": -1}, "connections must be a whole number >= 0; got -1"),
            ({"size": 4, "connections": 5}, "connections=5 is more than the 4 items of a clique"),
        ],
    )
    def test_bad_input(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            adversarial(**arguments)


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
        np.fill_diagonal(blocks, 0)
        ones = 1 - np.eye(len(blocks))
        for p_in, p_out, expected in (
            (1, 0, blocks),
            (0, 1, ones - blocks),
            (1, 1, ones),
            (0, 0, 0 * ones),
        ):
            assert np.array_equal(planted_partition(sizes, p_in, p_out)[0].toarray(), expected)

    @given(sizes)
    def test_numbering_meets_every_pair_once(self, sizes):
        group = np.repeat(np.arange(len(sizes)), sizes)
        every = [(j, i) for i, j in combinations(range(len(group)), 2)]
        inside = [(i, j) for i, j in every if group[i] == group[j]]
        across = [(i, j) for i, j in every if group[i] != group[j]]
        counts = np.array(sizes, dtype=np.int64)
        for number, pairs in ((_pairs_inside, inside), (_pairs_across, across)):
            i, j = number(np.arange(len(pairs)), counts)
            assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == sorted(pairs)

    @given(st.integers(1, 3 * 10**9), st.data())
    def test_numbering_of_huge_groups_is_exact(self, i, data):
        # Beyond 2^53 a double cannot hold the number of a pair.
        j = data.draw(st.integers(0, i - 1))
        for t, pair in (
            (i * (i - 1) // 2 + j, (i, j)),
            (i * (i - 1) // 2, (i, 0)),
            (i * (i + 1) // 2 - 1, (i, i - 1)),
        ):
            got = _pairs_inside(np.array([t]), np.array([3 * 10**9 + 1]))
            assert tuple(int(x[0]) for x in got) == pair

    def test_more_successes_than_were_drawn_for(self):
        class Lucky:
            def random(self, count):
                return np.zeros(count)

        assert np.array_equal(_successes(500, 0.01, Lucky()), np.arange(500))

    @pytest.mark.parametrize(("p_in", "p_out"), [(0.7, 0.2), (0.05, 0.95)])
    def test_every_graph_has_its_probability(self, p_in, p_out):
        # Groups {0, 1, 2} and {3}: 3 pairs inside, 3 across, 64 graphs.
        rng = np.random.default_rng(0)
        rounds = 5000
        i, j = np.triu_indices(4, 1)
        outcomes = Counter()
        for _ in range(rounds):
            A, _ = planted_partition([3, 1], p_in, p_out, rng)
            outcomes[tuple(A.toarray()[i, j].astype(int))] += 1
        p = np.where(j < 3, p_in, p_out)
        for code in range(64):
            graph = np.array([code >> k & 1 for k in range(6)])
            q = np.where(graph, p, 1 - p).prod()
            sigma = np.sqrt(rounds * q * (1 - q))
            assert abs(outcomes[tuple(graph.tolist())] - rounds * q) < 5 * sigma + 3

    def test_expected_degrees(self):
        sizes = [400] * 20 + [100] * 20
        A, labels = planted_partition(sizes, random_state=0, degree_in=12, degree_out=3)
        i, j = A.nonzero()
        inside = np.count_nonzero(labels[i] == labels[j])
        for stored, degree in ((inside, 12), (A.nnz - inside, 3)):
            edges = degree * len(labels) / 2
            assert abs(stored / 2 - edges) < 5 * np.sqrt(edges)

    def test_edges_spread_evenly(self):
        A, labels = planted_partition([500, 1500], 0.02, 0.02, 3)
        edges = A.toarray()
        first, second = labels == 0, labels == 1
        for block, pairs in (
            (edges[np.ix_(first, first)] / 2, 500 * 499 / 2),
            (edges[np.ix_(second, second)] / 2, 1500 * 1499 / 2),
            (edges[np.ix_(first, second)], 500 * 1500),
        ):
            assert abs(block.sum() - 0.02 * pairs) < 5 * np.sqrt(0.02 * pairs)
        degrees = edges.sum(axis=1)
        assert abs(degrees - 0.02 * 1999).max() < 6 * np.sqrt(0.02 * 1999)

    def test_many_groups_of_one(self):
        A, labels = planted_partition([1] * 10_000, degree_in=0, degree_out=4, random_state=0)
        assert np.array_equal(labels, np.arange(10_000))
        assert abs(A.nnz / 2 - 20_000) < 5 * np.sqrt(20_000)

    def test_a_probability_too_small_to_matter(self):
        A, _ = planted_partition([1000] * 3, 1e-300, 5e-324, 0)
        assert A.nnz == 0

    def test_pairs_far_beyond_memory(self):
        # 5 * 10^11 pairs: fails at once if anything is stored per pair.
        A, _ = planted_partition([1000] * 1000, degree_in=0.01, degree_out=0.01, random_state=0)
        assert abs(A.nnz - 20_000) < 10 * np.sqrt(20_000)

    @pytest.mark.parametrize("bad", BAD_SIZES)
    def test_bad_sizes(self, bad):
        with pytest.raises(ValueError, match=r"sizes.*pass one positive integer per group"):
            planted_partition(bad, 0.5, 0.5)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"p_in": 1.5, "p_out": 0}, "p_in must be a number from 0 to 1, got 1.5"),
            ({"p_in": 0, "p_out": np.nan}, "p_out must be a number from 0 to 1, got nan"),
            ({"p_in": 0.5}, "exactly one of p_out and degree_out"),
            ({"p_out": 0.5}, "exactly one of p_in and degree_in"),
            ({"p_in": 0.5, "degree_in": 1, "p_out": 0}, "exactly one of p_in and degree_in"),
            ({"degree_in": -1, "p_out": 0}, "degree_in must be a finite number >= 0, got -1"),
            ({"degree_in": np.inf, "p_out": 0}, "degree_in must be a finite number >= 0, got inf"),
            ({"degree_in": 2.5, "p_out": 0}, "degree_in=2.5 is more than the 2 other items"),
            ({"p_in": 0, "degree_out": 4}, "degree_out=4 is more than the 3 other items"),
        ],
    )
    def test_bad_input(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            planted_partition([3, 3], **arguments)


GENERATORS = {
    "flip": lambda state: flip(np.zeros((20, 20)), 0.5, state),
    "adversarial": lambda state: adversarial(8, 8, 4, state)[0],
    "planted_partition": lambda state: planted_partition([20, 20], 0.5, 0.3, state)[0].toarray(),
}


@pytest.mark.parametrize("generate", GENERATORS.values(), ids=GENERATORS.keys())
class TestRandomState:
    @pytest.mark.parametrize("make", [int, np.random.RandomState, np.random.default_rng])
    def test_same_seed_same_bits(self, generate, make):
        assert np.array_equal(generate(make(5)), generate(make(5)))
        assert not np.array_equal(generate(make(5)), generate(make(6)))

    @pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
    def test_a_generator_is_advanced(self, generate, make):
        state = make(5)
        assert not np.array_equal(generate(state), generate(state))

    def test_an_int_is_a_seeded_random_state(self, generate):
        assert np.array_equal(generate(5), generate(np.random.RandomState(5)))

    def test_none_is_the_global_state(self, generate):
        everybodys = check_random_state(None)
        before = everybodys.get_state()
        try:
            everybodys.seed(7)
            assert np.array_equal(generate(None), generate(7))
        finally:
            everybodys.set_state(before)

    @pytest.mark.parametrize("bad", ["7", 1.5, -1])
    def test_bad_state(self, generate, bad):
        with pytest.raises(ValueError, match=f"random_state={bad!r} cannot seed a generator"):
            generate(bad)


class TestLesMiserables:
    def test_graph(self):
        A, names = les_miserables()
        assert isinstance(A, csr_array)
        assert A.dtype == np.float64
        assert A.shape == (77, 77)
        assert A.has_canonical_format
        assert len(names) == len(set(names)) == 77
        assert (A != A.T).nnz == 0
        assert not A.diagonal().any()
        assert A.max() == A[names.index("Valjean"), names.index("Cosette")] == 31

    def test_without_networkx_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "networkx", None)
        with pytest.raises(ImportError, match=r'pip install "odsymnmf\[graphs\]"'):
            les_miserables()
