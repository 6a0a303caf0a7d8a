"""Overlapping sets as a NodeClustering of cdlib."""

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


def test_measures_of_cdlib_apply():
    G = nx.karate_club_graph()
    model = ODSymNMF(2, normalize="degree").fit(G)
    cover = od.graphs.node_clustering(G, model)
    assert isinstance(cover, cdlib.NodeClustering)
    assert cover.overlap
    assert sorted(map(sorted, cover.communities)) == sorted(map(sorted, model.overlapping_sets()))
    truth = {node: G.nodes[node]["club"] for node in G}
    sides = [[x for x in G if truth[x] == side] for side in ("Mr. Hi", "Officer")]
    known = cdlib.NodeClustering(sides, G, "known", overlap=False)
    score = evaluation.overlapping_normalized_mutual_information_MGH(cover, known).score
    assert score > 0.3


def test_thresholds_and_empty_clusters():
    G = nx.Graph([("a", "b"), ("b", "c")])
    H = [[1, 0, 0], [1, 0.4, 0], [0, 1, 0]]
    assert od.graphs.node_clustering(G, H, 0.5, rule="row").communities == [["a", "b"], ["c"]]
    for graph in (G, ig.Graph.TupleList(G.edges)):
        clusters = od.graphs.node_clustering(graph, H, 0.3, rule="row").communities
        assert sorted(map(sorted, clusters)) == [["a", "b"], ["b", "c"]]
    with pytest.raises(ValueError, match="from 0 to 1"):
        od.graphs.node_clustering(G, H, 2)
