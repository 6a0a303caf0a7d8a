"""The number of clusters: criteria compared with slow oracles, the search on known graphs."""

import warnings
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_similarity

import odsymnmf as od
from odsymnmf.choose import criteria
from odsymnmf.choose.search import GraphSearch
from odsymnmf.progress import Progress


@pytest.fixture(scope="module")
def graph():
    return od.datasets.planted_partition([40] * 5, degree_in=12, degree_out=3, random_state=0)


def random_graph(n, degree, seed, weights=None):
    G = nx.gnm_random_graph(n, int(n * degree / 2), seed)
    A = sparse.triu(nx.to_scipy_sparse_array(G, dtype=float), format="csr")
    if weights is not None:
        A.data = weights(A.nnz)
    return sparse.csr_array(A + A.T)


def graph_without_groups(kind, seed):
    rng = np.random.default_rng(seed)
    if kind == "random":
        return random_graph(250, 2 + seed, seed)
    if kind == "rewired":
        degrees = np.minimum(2 + rng.pareto(1.5, 250).astype(int), 60)
        degrees[0] += degrees.sum() % 2
        G = nx.Graph(nx.configuration_model(degrees.tolist(), seed=seed))
        G.remove_edges_from([*nx.selfloop_edges(G)])
        return sparse.csr_array(nx.to_scipy_sparse_array(G, dtype=float))
    weights = (rng.standard_exponential, lambda n: 1 + rng.pareto(2, n), rng.random)[seed % 3]
    return random_graph(250, 3 + seed / 2, seed, weights)


def chosen(A, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return od.choose.n_clusters(A, *args, **options)


def test_the_true_groups_have_the_shortest_description(graph):
    A, groups = graph
    true = od.choose.description_length(A, groups)
    rng = np.random.default_rng(0)
    others = [groups // 2, groups * 2 + rng.integers(2, size=200), rng.permutation(groups)]
    assert all(true < od.choose.description_length(A, other) for other in others)
    assert_allclose(true, od.choose.description_length(7 * A, groups + 3))


def test_adjusted_rand_index_matches_scikit_learn():
    rng = np.random.default_rng(0)
    for a, b in [(1, 1), (1, 5), (3, 4), (20, 20)]:
        first, second = rng.integers(a, size=60), rng.integers(b, size=60)
        expected = adjusted_rand_score(first, second)
        assert criteria.adjusted_rand_index(first, second) == pytest.approx(expected)
    items = np.arange(60)
    assert criteria.adjusted_rand_index(items, items[::-1]) == 1


def test_agreement_is_the_best_of_all_matchings():
    rng = np.random.default_rng(0)
    H, K = rng.uniform(size=(9, 4)), rng.uniform(size=(9, 3))
    K[:, 1] = 2 * H[:, 3]
    cosines = cosine_similarity(H.T, K.T)
    best = list(max(permutations(range(4), 3), key=lambda ls: cosines[ls, range(3)].sum()))
    expected = np.zeros(4)
    expected[best] = cosines[best, range(3)]
    assert_allclose(od.choose.agreement(H, K), expected, rtol=1e-12)
    assert_allclose(od.choose.agreement(sparse.csr_array(H), K), expected, rtol=1e-12)
    assert_allclose(od.choose.agreement(np.zeros((3, 2)), np.eye(3)), 0.0)
    with pytest.raises(ValueError, match=r"got shapes \(9, 4\) and \(5, 4\)"):
        od.choose.agreement(H, H[:5])


@pytest.mark.parametrize("make", [sparse.csr_array, np.array])
def test_planted_groups_are_found(graph, make):
    A, groups = graph
    search = od.choose.n_clusters(make(A.toarray()))
    assert (search.n_clusters, search.evidence) == (5, "clear")
    assert search.table["n_clusters"][search.row] == 5
    assert adjusted_rand_score(search.partitions[search.row], groups) > 0.9
    assert search.resolution == search.table["resolution"][search.row]
    assert "5 clusters: resolution" in str(search)
    assert "array" not in repr(search)


def test_table_has_coarser_and_finer_partitions(graph):
    A, _ = graph
    found = od.choose.n_clusters(A)
    table = found.table
    assert table["n_clusters"].min() == 1
    assert table["n_clusters"].max() >= 20
    assert (np.diff(table["resolution"]) > 0).all()
    assert (np.diff(table["n_clusters"]) >= 0).all()
    # Modularity at resolution 1 is that of the partitions.
    for row in np.flatnonzero(table["n_clusters"] == 5):
        Z = np.eye(5)[found.partitions[row]]
        W, d = Z.T @ A @ Z, Z.T @ A.sum(axis=1)
        expected = np.trace(W) / d.sum() - (d @ d) / d.sum() ** 2
        assert table["modularity"][row] == pytest.approx(expected)


def test_the_shortest_of_the_most_stable_candidates_is_chosen(graph):
    rows = [[2, 0.99, 9, 0.2], [1, 0.99, 0, 0.6], [3, 0.88, 1, 0.6], [4, 0.94, 4, 0.6]]
    names = "n_clusters", "stability", "description_length", "modularity"
    table = dict(zip(names, np.array([*rows, [5, 0.91, 3, 0.6]]).T, strict=True))
    search = GraphSearch(graph[0], 0, Progress("", "", 0))
    assert search.choose(table | {"resolution": np.ones(5)}, np.ones(5), np.ones(5))[0] == 4


def test_coarse_graphs_give_the_same_number():
    # A node of the coarse graph mixes groups, so that independent coarse graphs differ.
    A, groups = od.datasets.planted_partition([500] * 20, 0.022, 0.0005, random_state=0)
    model = od.ODSymNMF("auto").fit(A)
    assert (model.n_clusters_, model.n_clusters_search_.evidence) == (20, "clear")
    assert adjusted_rand_score(model.labels_, groups) > 0.95


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["random", "rewired", "weighted"])
def test_graphs_without_groups_give_one_cluster(kind, seed):
    with pytest.warns(UserWarning, match="n_clusters=1: there is no clear structure"):
        search = od.choose.n_clusters(graph_without_groups(kind, seed))
    assert (search.n_clusters, search.evidence, search.row) == (1, "none", None)


def test_stable_groups_of_a_small_graph_are_weak_evidence():
    data = od.datasets.les_miserables()
    search, same = od.ODSymNMF("auto").fit(data).n_clusters_search_, od.choose.n_clusters(data)
    assert (search.n_clusters, search.evidence) == (6, "weak")
    assert_array_equal(search.table["stability"], same.table["stability"])
    assert search.table["modularity"][0] == 0


DEGENERATE = {
    "empty": np.zeros((4, 4)),
    "one item": np.zeros((1, 1)),
    "two items": np.ones((2, 2)),
    "clique": np.ones((12, 12)),
    "negative": -np.ones((12, 12)),
    "sparse clique": sparse.csr_array(np.ones((12, 12)) - np.eye(12)),
}


@pytest.mark.parametrize("kind", DEGENERATE)
def test_degenerate_graphs_give_one_cluster_and_a_warning(kind):
    with pytest.warns(UserWarning, match="n_clusters=1:"):
        search = od.choose.n_clusters(DEGENERATE[kind])
    assert (search.n_clusters, search.evidence) == (1, "none")
    if DEGENERATE[kind].shape[0] > 1:
        with pytest.warns(UserWarning, match="n_clusters=1:"):
            assert od.ODSymNMF("auto").fit(DEGENERATE[kind]).n_clusters_ == 1


def test_small_components_are_left_out(graph):
    A = sparse.csr_array(sparse.block_diag([graph[0], np.zeros((3, 3))]))
    search = od.choose.n_clusters(A)
    assert search.n_clusters == 5
    labels = search.partitions[search.row]
    assert (labels[200:] == -1).all()
    assert (labels[:200] >= 0).all()


def test_higher_resolutions_give_more_clusters(graph):
    resolutions = [0.05, 0.7, 3.0, 6.0]
    searches = [chosen(graph[0], resolution=t) for t in resolutions]
    assert [f.resolution for f in searches] == resolutions
    numbers = [f.n_clusters for f in searches]
    assert numbers == sorted(set(numbers))
    assert numbers[:2] == [1, 5]
    model = od.ODSymNMF("auto", resolution=3.0, random_state=0).fit(graph[0])
    assert model.n_clusters_ == model.n_clusters_search_.n_clusters == numbers[2]
    # Graphs that a search coarsens are partitioned as they are; there is no warning.
    A, _ = od.datasets.planted_partition([50] * 70, 0.4, 0.002, random_state=0)
    assert od.choose.n_clusters(A, resolution=1.0).n_clusters == 70
    assert od.choose.n_clusters(graph[0], resolution=20.0).reason == "resolution 20; as given"


@pytest.mark.parametrize("kind", ["graph", "kernel"])
def test_same_seed_same_result(graph, kind):
    X = np.random.default_rng(0).random((40, 4))
    A = graph[0] if kind == "graph" else X @ X.T
    first, again = (chosen(A, random_state=3, n_jobs=jobs) for jobs in (None, 2))
    for name, column in first.table.items():
        assert_array_equal(column, again.table[name])
    assert_array_equal(first.partitions, again.partitions)


def test_candidates_limit_the_choice(graph):
    assert od.choose.n_clusters(graph[0], range(2, 41)).n_clusters == 5
    assert chosen(graph[0], [2, 3]).n_clusters == 3
    assert chosen(graph[0], [6, 30]).n_clusters == 6
    assert chosen(random_graph(250, 4, 0), [7]).n_clusters == 7


def test_clusters_of_kernels_and_documents_are_found():
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(4, 12), 25, axis=0) * 3 + rng.uniform(size=(100, 12))
    for A in (np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4), od.similarity.cosine(X)):
        search = od.choose.n_clusters(A, range(2, 8))
        assert (search.n_clusters, search.evidence) == (4, "clear")
        assert (np.diff(search.table["explained"]) > 0).all()
        assert_array_equal(search.table["n_clusters"], range(2, 8))
    noise = np.corrcoef(rng.standard_normal((120, 50)))
    assert od.choose.n_clusters(noise, range(2, 8)).evidence == "weak"


def test_errors(graph):
    A, _ = graph
    for given, resolution, message in [
        ([], None, "candidates must be numbers"),
        ([0, 2], None, "candidates must be a whole number >= 1"),
        ([300], None, "begin with 300, but there are 200 items only"),
        ([2, 3], 1.0, "candidates were given"),
        (None, 0, "resolution must be a number > 0; got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            od.choose.n_clusters(A, given, resolution=resolution)
    with pytest.raises(ValueError, match="no candidates; A is not a graph"):
        od.choose.n_clusters(np.exp(-A.toarray()), resolution=1.0)
    for r in (5, [4, 5]):
        with pytest.raises(ValueError, match=r"resolution=1.0 determines the number of clusters"):
            od.ODSymNMF(r, resolution=1.0).fit(A)
