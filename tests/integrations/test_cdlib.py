"""Sets as cdlib's NodeClustering: its own measures can be taken of them."""

import warnings

import networkx as nx
import pytest

import odsymnmf as od
from odsymnmf import ODSymNMF

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import cdlib
    from cdlib import evaluation

    ig = pytest.importorskip("igraph")

pytestmark = pytest.mark.filterwarnings("ignore:::cdlib")


def test_sets_are_cdlibs():
    G = nx.karate_club_graph()
    model = ODSymNMF(2, normalize="degree").fit(G)
    found = od.graphs.node_clustering(G, model)
    assert isinstance(found, cdlib.NodeClustering)
    assert found.overlap
    assert sorted(map(sorted, found.communities)) == sorted(map(sorted, model.overlapping_sets()))
    truth = {node: G.nodes[node]["club"] for node in G}
    sides = [[x for x in G if truth[x] == side] for side in ("Mr. Hi", "Officer")]
    known = cdlib.NodeClustering(sides, G, "known", overlap=False)
    score = evaluation.overlapping_normalized_mutual_information_MGH(found, known).score
    assert score > 0.3
    assert 0 < found.average_internal_degree().score < 34


def test_thresholds_and_empty_clusters():
    G = nx.Graph([("a", "b"), ("b", "c")])
    H = [[1, 0, 0], [1, 0.4, 0], [0, 1, 0]]
    assert od.graphs.node_clustering(G, H, 0.5, rule="row").communities == [["a", "b"], ["c"]]
    # cdlib puts the largest first, and sorts within.
    assert sorted(map(sorted, od.graphs.node_clustering(G, H, 0.3, rule="row").communities)) == [
        ["a", "b"],
        ["b", "c"],
    ]
    with pytest.raises(ValueError, match="from 0 to 1"):
        od.graphs.node_clustering(G, H, 2)


def test_graphs_of_igraph_too():
    G = ig.Graph.TupleList([("a", "b"), ("b", "c")])
    found = od.graphs.node_clustering(G, [[1, 0], [1, 0.5], [0, 1]])
    assert sorted(map(sorted, found.communities)) == [["a", "b"], ["b", "c"]]
