"""Graphs of igraph as input and output."""

import igraph as ig
import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import odsymnmf as od
from odsymnmf import ODSymNMF, inputs

LINKS = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("c", "e"), ("d", "e")]


@pytest.fixture
def G():
    return ig.Graph.TupleList(LINKS)


def test_same_matrix_as_networkx():
    weighted = nx.les_miserables_graph()
    G = ig.Graph.from_networkx(weighted)
    theirs, ours = inputs.to_similarity_matrix(weighted), inputs.to_similarity_matrix(G)
    assert_array_equal(theirs.matrix.toarray(), ours.matrix.toarray())
    assert ours.names == theirs.names
    parallel = ig.Graph.from_networkx(nx.MultiGraph(weighted))  # numbers the edges of a pair
    assert_array_equal(inputs.to_similarity_matrix(parallel).matrix.data, ours.matrix.data)
    G.vs["name"] = [name.upper() for name in theirs.names]
    assert inputs.to_similarity_matrix(G).names == G.vs["name"]


def test_annotated_graphs_can_be_written_and_read(G, tmp_path):
    model = ODSymNMF(2, loss="l1").fit(G)
    assert sorted(map(sorted, model.overlapping_sets())) == [["a", "b", "c"], ["c", "d", "e"]]
    od.graphs.annotate(G, model)
    assert G.vs["cluster"] == model.labels_.tolist()
    expected = {"cluster": int(model.labels_[2]), "cluster_0": 1.0, "cluster_1": 1.0}
    assert G.vs.find(name="c").attributes() == {"name": "c", **expected}
    G.write_gml(str(tmp_path / "g.gml"))
    again = ig.Graph.Read_GML(str(tmp_path / "g.gml"))
    assert [int(x) for x in again.vs["cluster"]] == model.labels_.tolist()


def test_parallel_edges_and_weights():
    G = ig.Graph(
        [(0, 1), (0, 1), (1, 2)], edge_attrs={"weight": [2, 3, np.nan], "years": [1, 1, 7]}
    )
    with pytest.warns(UserWarning, match="'years' are not used.*='weight'"):
        data = inputs.to_similarity_matrix(G)
    assert data.matrix[0, 1] == 5
    assert data.names is None
    assert np.isnan(data.matrix[2, 1])
    assert inputs.to_similarity_matrix(G, edge_weight="years").matrix[2, 1] == 7
    del G.es["weight"]
    with pytest.warns(UserWarning, match="'years' are not used"):
        assert inputs.to_similarity_matrix(G).matrix.max() == 2
    with pytest.raises(ValueError, match="'miles', but no edge has"):
        ODSymNMF(2).fit(G, edge_weight="miles")


def test_directed_and_bipartite_graphs_are_refused_with_a_remedy():
    with pytest.raises(ValueError, match=r"get_adjacency_sparse.*G\.as_undirected"):
        od.factorize(ig.Graph([(0, 1), (1, 2)], directed=True), 2)
    both = ig.Graph([(0, 1), (1, 0)], directed=True)
    assert inputs.to_similarity_matrix(both).matrix.toarray().tolist() == [[0, 1], [1, 0]]
    with pytest.raises(ValueError, match="bipartite_projection"):
        od.factorize(ig.Graph.Full_Bipartite(2, 3), 2)
