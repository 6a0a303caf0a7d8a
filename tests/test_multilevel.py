import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import normalized_mutual_info_score as nmi

from odsymnmf.datasets import planted_partition
from odsymnmf.init.multilevel import (
    Graph,
    Partition,
    aggregate,
    block_model_labels,
    coarsen,
    columns,
    leiden,
    merge_pairs,
    move,
)
from odsymnmf.kernels import local_moving
from odsymnmf.memberships import refine_labels
from odsymnmf.similarity import as_similarity


def weighted_graph(n=60, density=0.1, seed=0):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), k=1)
    return A + A.T


def cliques(*sizes):
    A = sparse.csr_array(sparse.block_diag([np.ones((k, k)) - np.eye(k) for k in sizes]))
    A.eliminate_zeros()
    return A


def as_graph(A):
    return Graph(sparse.csr_array(A))


def modularity(A, labels, resolution):
    """Return modularity by its definition, times the total weight."""
    d = A.sum(axis=1)
    same = (labels[:, None] == labels) & (labels >= 0)
    return float(((A - resolution * np.outer(d, d) / d.sum()) * same).sum())


@pytest.mark.parametrize("resolution", [0.5, 1.0, 3.0])
def test_modularity_matches_its_definition(resolution):
    A = weighted_graph()
    labels = np.random.default_rng(1).integers(-1, 5, 60).astype(np.int32)
    value = as_graph(A).quality(Partition(labels, resolution))[1]
    assert value * A.max() == pytest.approx(modularity(A, labels, resolution))


@pytest.mark.parametrize("resolution", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("given", [False, True])
def test_no_single_move_increases_modularity(resolution, given):
    A, rng = weighted_graph(), np.random.default_rng(0)
    graph = as_graph(A)
    first = rng.integers(7, size=60) if given else None
    labels = move(graph.links, graph.degrees, resolution, rng, first)
    reached = modularity(A, labels, resolution)
    assert reached > modularity(A, np.arange(60) if first is None else first, resolution)
    # A node is visited again when a neighbor moves, not when a group changes its volume.
    for _ in range(5):
        labels = move(graph.links, graph.degrees, resolution, rng, labels)
    assert modularity(A, labels, resolution) >= reached
    reached = modularity(A, labels, resolution)
    for i in range(60):
        for group in np.unique(labels[A[i] > 0]):
            other = labels.copy()
            other[i] = group
            assert modularity(A, other, resolution) <= reached + 1e-6


def test_groups_stay_below_the_largest_volume():
    graph = as_graph(weighted_graph())
    largest = graph.degrees.sum() / 10
    labels = move(graph.links, graph.degrees, 0.1, np.random.default_rng(0), largest=largest)
    volume = np.bincount(labels, weights=graph.degrees)
    assert volume.max() <= largest
    assert len(np.unique(labels)) < 30
    assert coarsen(graph.links, graph.degrees, 10, np.random.default_rng(0))[2].max() <= largest


def test_aggregate_sums_links_between_groups():
    A, labels = weighted_graph(), np.random.default_rng(1).integers(5, size=60).astype(np.int32)
    graph = as_graph(A)
    graph.links.data[::3] = 0.0
    coarse, volume = aggregate(graph.links, graph.degrees, labels)
    Z = np.eye(5)[labels]
    links = sparse.csr_array((graph.links.data, graph.links.indices, graph.links.indptr))
    np.testing.assert_allclose(coarse.toarray(), Z.T @ links @ Z)
    assert len(coarse.indices) == 25
    np.testing.assert_allclose(volume, Z.T @ graph.degrees)


def test_refined_parts_are_connected_and_inside_groups():
    A, rng = weighted_graph(200, 0.03), np.random.default_rng(2)
    graph = as_graph(A)
    labels = rng.integers(4, size=200).astype(np.int32)
    total, order = np.bincount(labels, weights=graph.degrees), rng.permutation(200)
    rate, parts = 1 / graph.degrees.sum(), np.arange(200, dtype=np.int32)
    local_moving.refine_partition(
        graph.links, graph.degrees, labels, total, rate, order.astype(np.int32), parts,
        graph.degrees.copy(), np.zeros(200), np.ones(200, dtype=bool), local_moving.workspace(200),
    )  # fmt: skip
    assert 4 < len(np.unique(parts)) < 200
    for part in np.unique(parts):
        items = np.flatnonzero(parts == part)
        assert len(np.unique(labels[items])) == 1
        assert connected_components(A[np.ix_(items, items)])[0] == 1


def test_leiden_finds_the_best_partition_of_a_ring_of_cliques():
    A = cliques(*[5] * 8).toarray()
    for k in range(8):
        i, j = 5 * k + 4, (5 * k + 5) % 40
        A[i, j] = A[j, i] = 1
    graph = as_graph(A)
    labels = leiden(graph.links, graph.degrees, 1.0, np.random.default_rng(0))
    assert nmi(labels, np.repeat(np.arange(8), 5)) == 1


def test_pairs_of_largest_gain_are_merged():
    W = np.array([[0, 1, 5, 0], [1, 0, 0, 2], [5, 0, 0, 1], [0, 2, 1, 0]], dtype=float)
    volume = np.array([10.0, 8.0, 9.0, 7.0])
    assert merge_pairs(sparse.csr_array(W), volume, 3, 0.01).tolist() == [0, 1, 0, 2]
    assert merge_pairs(sparse.csr_array(W), volume, 2, 0.01).tolist() == [0, 1, 0, 1]
    # Without links, the two of least volume lose least.
    empty = sparse.csr_array((4, 4))
    assert merge_pairs(empty, volume, 3, 0.01).tolist() == [0, 2, 1, 2]


def test_block_model_labels_match_the_rule_of_refine_labels():
    A, groups = planted_partition([40, 60, 80], degree_in=9, degree_out=4, random_state=0)
    graph, rng = as_graph(A), np.random.default_rng(0)
    labels = np.where(rng.random(180) < 0.3, rng.integers(3, size=180), groups).astype(np.int32)
    for _ in range(10):
        labels = block_model_labels(graph.links, graph.degrees, labels, 3)
    rng = np.random.default_rng(0)
    H = np.eye(3)[np.where(rng.random(180) < 0.3, rng.integers(3, size=180), groups)]
    np.testing.assert_array_equal(labels, refine_labels(H, A))


def test_groups_that_become_empty_are_kept_in_refinement():
    graph = Graph(cliques(5, 5))
    partition = graph.refine(Partition(np.repeat([0, 1, 2], [5, 4, 1]), 1.0))
    assert partition.labels.tolist() == [0] * 5 + [1] * 5


def test_columns_are_the_best_multiples_of_the_degrees():
    A, labels = weighted_graph(), np.random.default_rng(1).integers(-1, 4, 60)
    H = columns(as_similarity(A), labels, 5).toarray()
    d = A.sum(axis=1)
    np.testing.assert_array_equal(H[labels < 0], 0)
    np.testing.assert_array_equal(H[:, 4], 0)
    for l in range(4):
        items = np.flatnonzero(labels == l)
        outer = np.outer(d[items], d[items]) * (1 - np.eye(len(items)))
        block = A[np.ix_(items, items)]
        best = np.sqrt((block * outer).sum() / (outer**2).sum())
        np.testing.assert_allclose(H[items, l], best * d[items])


@pytest.mark.parametrize(("n", "groups"), [(1000, 10), (20_000, 20)])
def test_planted_groups_are_found(n, groups):
    # The larger graph is coarsened first.
    A, truth = planted_partition([n // groups] * groups, degree_in=16, degree_out=4, random_state=0)
    partition = Graph(A).partition(groups)
    assert partition.labels.max() == groups - 1
    assert nmi(partition.labels, truth) > 0.98


def test_same_seed_same_labels():
    A, _ = planted_partition([100] * 30, degree_in=8, degree_out=6, random_state=0)
    first, again, other = (Graph(A).partition(30, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.labels, again.labels)
    assert (first.labels != other.labels).any()


@pytest.mark.parametrize("r", [2, 4, 8])
def test_components_are_split_only_into_more_groups_than_components(r):
    parts = [
        planted_partition([25, 25], degree_in=8, degree_out=1, random_state=s) for s in range(4)
    ]
    A = sparse.csr_array(sparse.block_diag([A for A, _ in parts]))
    component = connected_components(A)[1]
    labels = Graph(A).partition(r).labels
    assert np.unique(labels).tolist() == list(range(r))
    groups = [len(np.unique(labels[component == c])) for c in range(component.max() + 1)]
    assert groups == [max(1, r // 4)] * 4


def test_a_clique_is_not_split():
    assert Graph(cliques(12, 11, 10)).partition(5).labels.max() == 2


def test_items_of_small_components_are_assigned():
    A = sparse.block_diag([cliques(30, 30, 30), cliques(*[2] * 20), np.zeros((3, 3))], format="csr")
    labels = Graph(sparse.csr_array(A)).partition(3).labels
    assert np.unique(labels[:90]).tolist() == [0, 1, 2]
    assert (labels[90:130] >= 0).all()
    assert (labels[90:130:2] == labels[91:130:2]).all()
    assert np.bincount(labels[90:130]).tolist() == [14, 14, 12]
    assert (labels[130:] == -1).all()


@pytest.mark.parametrize("n", [2, 3, 10])
@pytest.mark.parametrize("r", [1, 2, 10])
def test_groups_hold_at_least_two_items(n, r):
    labels = Graph(cliques(n)).partition(r).labels
    assert (labels >= 0).all()
    assert np.bincount(labels).min() >= 2
    assert labels.max() < r


def test_no_links_no_groups():
    graph = Graph(sparse.csr_array((4, 4)))
    partition = graph.partition(2)
    assert partition.labels.tolist() == [-1] * 4
    assert graph.refine(partition).labels.tolist() == [-1] * 4
    assert columns(as_similarity(sparse.csr_array((4, 4))), partition.labels, 2).nnz == 0


def test_thousands_of_groups():
    A = cliques(*[4] * 5000)
    graph = Graph(A)
    partition = graph.partition(5000)
    truth = np.repeat(np.arange(5000), 4)
    assert nmi(partition.labels, truth) == 1
    assert nmi(graph.refine(partition).labels, truth) == 1
    fewer = graph.partition(4000).labels
    assert np.unique(fewer).tolist() == list(range(4000))


def test_stored_zeros_are_not_links():
    A, groups = planted_partition([100] * 6, degree_in=20, degree_out=4, random_state=0)
    rows, others = A.nonzero()
    A.data[(rows + others) % 5 == 0] = 0.0
    A.data[(rows < 10) | (others < 10)] = 0.0
    graph = Graph(A)
    partition = graph.refine(graph.partition(6))
    assert nmi(partition.labels, groups) > 0.9
    assert np.flatnonzero(partition.labels < 0).tolist() == list(range(10))
    assert columns(as_similarity(A), partition.labels, 6).shape == (600, 6)
