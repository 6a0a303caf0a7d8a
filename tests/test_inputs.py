"""Graphs and DataFrames come in with their names, and go out with them."""

import json
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import odsymnmf as od
from odsymnmf import ODSymNMF, inputs, memberships

# Two triangles that share "c".
LINKS = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("c", "e"), ("d", "e")]
SETS = [["a", "b", "c"], ["c", "d", "e"]]


@pytest.fixture
def G():
    return nx.Graph(LINKS)


@pytest.fixture
def frame(G):
    return nx.to_pandas_adjacency(G)


def as_sets(clusters):
    return sorted(sorted(items) for items in clusters)


# networkx


def test_graph_matches_the_matrix_of_networkx(G):
    G.add_edge("a", "b", weight=2.5)
    for graph in (G, G.to_directed(), nx.MultiGraph([*G.edges, ("a", "b", {"weight": 3})])):
        data = inputs.to_similarity_matrix(graph)
        assert_array_equal(data.matrix.toarray(), nx.to_scipy_sparse_array(graph).toarray())
        assert data.names == list(graph)


def test_edge_weight_chooses_an_attribute_and_unused_numbers_are_named(G):
    nx.set_edge_attributes(G, 4, "trips")
    nx.set_edge_attributes(G, "by road", "kind")
    assert inputs.to_similarity_matrix(G, edge_weight="trips").matrix.max() == 4
    assert inputs.to_similarity_matrix(G, edge_weight=None).matrix.max() == 1
    model = ODSymNMF(2, normalize=None)
    assert_allclose(
        model.fit(G, edge_weight="trips").membership_,
        2 * model.fit(G, edge_weight=None).membership_,
    )
    with pytest.warns(UserWarning, match=r"no edge .*'trips' are not used.*='trips' or .*=None"):
        model.fit(G)
    G.add_edge("a", "b", weight=2)
    with pytest.warns(UserWarning, match=r"^the .*'trips' are not used.*='trips' or .*='weight'"):
        model.fit(G)
    for edge_weight in ("weight", "trips", None):
        model.fit(G, edge_weight=edge_weight)  # warns of nothing
    with pytest.raises(ValueError, match=r"no edge has this attribute.*'trips', 'kind'"):
        model.fit(G, edge_weight="tripz")
    with pytest.raises(ValueError, match="ndarray, not a graph"):
        model.fit(np.eye(3), edge_weight="trips")


def test_graphs_without_unused_weights_do_not_warn(G, tmp_path):
    nx.write_gexf(G, tmp_path / "g.gexf")
    nx.set_edge_attributes(G, {edge: k for k, edge in enumerate(G.edges)}, "id")
    nx.write_graphml(G, tmp_path / "g.graphml", edge_id_from_attribute="id")
    nx.write_gml(G, tmp_path / "g.gml")
    nx.set_edge_attributes(G, True, "is_road")
    read = [G, nx.read_gexf(tmp_path / "g.gexf"), nx.read_graphml(tmp_path / "g.graphml")]
    examples = [nx.les_miserables_graph(), nx.karate_club_graph(), nx.florentine_families_graph()]
    for graph in (*read, *examples, nx.read_gml(tmp_path / "g.gml")):
        assert graph.size() == inputs.to_similarity_matrix(graph).matrix.nnz / 2


def test_directed_graphs_need_both_directions():
    with pytest.raises(ValueError, match=r"directed.*A\.maximum\(A\.T\)"):
        od.factorize(nx.DiGraph(LINKS), 2)


def test_bipartite_graphs_are_to_be_projected():
    G = nx.Graph([("u1", "film1"), ("u2", "film1"), ("u2", "film2")])
    ODSymNMF(2, tol=1).fit(G)  # nothing says that it is
    nx.set_node_attributes(G, {node: int(node.startswith("film")) for node in G}, "bipartite")
    with pytest.raises(ValueError, match="weighted_projected_graph"):
        ODSymNMF(2).fit(G)
    G.add_edge("u1", "u2")
    ODSymNMF(2, tol=1).fit(G)


@pytest.mark.parametrize("weight", ["heavy", [1], {}])
def test_weights_that_are_no_numbers_are_named(G, weight):
    G.add_edge("c", "d", weight=weight)
    with pytest.raises(ValueError, match=r"weight of edge \('c', 'd'\) is"):
        od.factorize(G, 2)


@pytest.mark.parametrize("unknown", [np.nan, None])
def test_unknown_pairs_of_a_graph_are_left_out(G, unknown):
    G.add_edge("a", "d", weight=unknown)
    assert as_sets(ODSymNMF(2, loss="l1").fit(G).overlapping_sets()) == SETS


@pytest.mark.parametrize("kind", ["names", "positions"])
def test_results_have_the_names_of_items(G, kind):
    if kind == "positions":
        G = nx.relabel_nodes(G, {node: (k, k % 2) for k, node in enumerate(G)})
    model = ODSymNMF(2, loss="l1").fit(G)
    index = {node: k for k, node in enumerate(G)}
    sets = memberships.overlapping_sets(model.membership_)
    assert [[index[node] for node in items] for items in model.overlapping_sets()] == sets
    assert model.item_names_ == list(G)
    assert model.labels_series()[list(G)[1]] == model.labels_[1]
    assert list(model.membership_frame().index) == list(G)
    assert_array_equal(model.membership_frame(), model.membership_)
    assert od.factorize(G, 2).names == list(G)
    assert od.factorize(nx.to_numpy_array(G), 2).names is None
    if kind == "names":
        assert as_sets(model.overlapping_sets()) == SETS
        assert as_sets(model.overlapping_sets(rule="loss")) == SETS


@pytest.mark.filterwarnings("ignore:.*no clear structure")
def test_a_dataset_is_accepted_wherever_similarities_are():
    plt = pytest.importorskip("matplotlib.pyplot")
    data = od.datasets.les_miserables()
    model, plain = ODSymNMF(6).fit(data), ODSymNMF(6).fit(data.matrix)
    assert_array_equal(model.labels_, plain.labels_)
    assert model.labels_series().index.tolist() == data.names
    assert {*model.overlapping_sets()[0]} < {*data.names}
    assert model.score(data) == plain.score(data.matrix)
    assert_array_equal(model.predict(data), plain.predict(data.matrix))
    f = od.factorize(data, 6, weights=data)
    assert f.names == data.names
    assert od.objective(data, f.H) == od.objective(data.matrix, f.H)
    assert od.choose.n_clusters(data, [2, 3]).n_clusters in (2, 3)
    # Each draws the names that are in the result.
    for result in (model, f):
        for ax in (od.plots.plot_graph(data, result), od.plots.plot_memberships(result)):
            shown = [text.get_text() for text in [*ax.texts, *ax.get_yticklabels()]]
            assert {*shown} >= {*data.names}
        assert od.plots.plot_matrix(data, result).images
        plt.close("all")
    frame = od.plots.plot_memberships(model.membership_frame())
    assert {text.get_text() for text in frame.get_yticklabels()} == {*data.names}


def test_results_are_read_with_their_names_and_refined_labels(G):
    model = ODSymNMF(2, loss="l1").fit(G)
    assert memberships.overlapping_sets(model) == model.overlapping_sets()
    assert memberships.frame(od.factorize(G, 2)).index.tolist() == list(G)
    model.labels_ = 1 - model.labels_
    assert_array_equal(memberships.labels(model), model.labels_)
    assert od.plots.matrix_picture(G, model).edges[1] == (model.labels_ == 0).sum()


@pytest.mark.filterwarnings("ignore:0 groups found")
@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.zeros((4, 4)), "0: every item is unassigned"),
        (np.diag([1.0, 2, 3]), "0: every item is unassigned"),
        (sparse.csr_array((5, 5)), "0: every item is unassigned"),
        (nx.empty_graph(4), "0: every item is unassigned"),
        (np.full((4, 4), np.nan), "unknown .*every item is unassigned"),
        (np.eye(4) - 1, "positive: every item is unassigned.*exp"),
        (np.ones((2, 2)), "3 clusters for 2 items: at least 1"),
        (np.subtract.outer(np.arange(8.0), np.arange(8)) ** 2, "looks like distances.*exp"),
    ],
)
def test_input_without_a_useful_result_warns(A, message):
    for fit in (ODSymNMF(3, tol=1).fit, lambda A: od.factorize(A, 3, tol=1)):
        with pytest.warns(UserWarning, match=message):
            fit(A)


@pytest.mark.parametrize("n", [2, 3, 8])
def test_as_many_clusters_as_items_warn(n):
    with pytest.warns(UserWarning, match="no cluster has two items"):
        assert (ODSymNMF(n).fit(np.ones((n, n))).labels_ == -1).all()


@pytest.mark.filterwarnings("error")
def test_similarities_without_a_diagonal_are_not_taken_for_distances():
    groups = np.repeat([0, 1], 5)
    A = np.where(groups[:, None] == groups, 0.9, 0.2)
    np.fill_diagonal(A, 0)
    for similarity in (A, 1 - np.eye(6)):
        ODSymNMF(2, tol=1).fit(similarity)


def test_annotated_graphs_can_be_written(G, tmp_path):
    model = ODSymNMF(2, loss="l1").fit(G)
    od.graphs.annotate(G, model)
    json.dumps(nx.adjacency_data(G))
    nx.write_gml(G, tmp_path / "g.gml")
    again = nx.read_gml(tmp_path / "g.gml")
    assert dict(again.nodes(data="cluster")) == model.labels_series().to_dict()
    assert_allclose(
        [[again.nodes[x][f"cluster_{l}"] for l in range(2)] for x in G], model.membership_
    )
    other = nx.Graph(LINKS)
    od.graphs.annotate(other, sparse.csr_array(model.membership_), key="group")
    assert dict(other.nodes(data="group")) == dict(G.nodes(data="cluster"))
    # Not one attribute for every cluster: there may be thousands.
    assert {*other.nodes["c"]} == {"group", "group_memberships"}
    assert other.nodes["a"]["group_memberships"] == " ".join(
        f"{l}:{h:g}" for l, h in enumerate(model.membership_[0]) if h
    )
    with pytest.raises(ValueError, match="5 items, but H has 4 rows"):
        od.graphs.annotate(G, np.ones((4, 2)))
    with pytest.raises(ValueError, match="ndarray"):
        od.graphs.annotate(np.ones((2, 2)), np.ones((2, 2)))


# pandas


def test_a_frame_gives_index_and_values(frame):
    model = ODSymNMF(2, loss="l1").fit(frame)
    assert as_sets(model.overlapping_sets()) == SETS
    assert model.item_names_ == list(frame.index)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    out = ODSymNMF(2, loss="l1").set_output(transform="pandas").fit_transform(frame)
    pd.testing.assert_frame_equal(out, model.membership_frame())
    assert list(out.columns) == ["cluster_0", "cluster_1"]
    assert_array_equal(
        od.factorize(frame, 2, loss="l1").H, od.factorize(frame.values, 2, loss="l1").H
    )


def test_index_and_columns_must_agree(frame):
    counted = frame.reset_index(drop=True)
    assert inputs.to_similarity_matrix(counted).names == list(frame.columns)
    for wrong, message in [
        (
            frame.loc[["b", "a", "c", "d", "e"]],
            r"'b' and 'a' at position 0.*df\.loc\[df\.columns\]",
        ),
        (frame.rename(columns={"e": "z"}), "'e' and 'z' at position 4.*same names"),
        (frame.iloc[:, :4], "5 rows and 4 columns"),
    ]:
        with pytest.raises(ValueError, match=message):
            od.factorize(wrong, 2)


def test_names_in_a_column_are_pointed_out(frame):
    with pytest.raises(ValueError, match=r"column 'index'.*set_index"):
        od.factorize(frame.reset_index(), 2)
    text = frame.astype(object)
    text.iloc[0, 1] = "one"
    with pytest.raises(ValueError, match=r"not numbers; column 'a' is of type object"):
        od.factorize(text, 2)


def test_missing_and_sparse_values_of_pandas(frame):
    unknown = frame.astype("Float64")
    unknown.iloc[0, 3] = unknown.iloc[3, 0] = pd.NA
    expected = frame.to_numpy(copy=True)
    expected[0, 3] = expected[3, 0] = np.nan
    assert_array_equal(od.factorize(unknown, 2).H, od.factorize(expected, 2).H)
    thin = frame.astype(pd.SparseDtype(float, 0))
    assert sparse.issparse(inputs.to_similarity_matrix(thin).matrix)
    assert as_sets(ODSymNMF(2, loss="l1").fit(thin).overlapping_sets()) == SETS


def test_weights_must_be_of_the_same_items(frame):
    weights = frame * 0 + 1
    assert_array_equal(od.factorize(frame, 2, weights=weights).H, od.factorize(frame, 2).H)
    for fit in (ODSymNMF(2).fit, lambda A, weights: od.factorize(A, 2, weights=weights)):
        with pytest.raises(ValueError, match="weights and A are of different items: 'e' and 'a'"):
            fit(frame, weights=weights.iloc[::-1, ::-1])


def test_features_keep_their_names(frame):
    values, names = frame.to_numpy() + np.eye(5), [10, 20, 30, 40, 50]
    for X in (pd.DataFrame(values, index=names), od.io.Dataset(values, names)):
        model = ODSymNMF(2, affinity="cosine").fit(X)
        assert model.labels_series().index.tolist() == model.item_names_ == names
        assert_array_equal(model.predict(X), model.predict(values))
    assert ODSymNMF(2, affinity="cosine").fit(values).item_names_ is None
    with pytest.raises(ValueError, match="no features"):
        ODSymNMF(2, affinity="cosine").fit(nx.Graph(LINKS))


def test_memberships_of_a_frame_are_named():
    H = pd.DataFrame([[1.0, 0.0], [1.0, 0.6], [0.0, 0.0]], index=["x", "y", "z"])
    assert memberships.labels(H).to_dict() == {"x": 0, "y": 0, "z": -1}
    assert memberships.overlapping_sets(H, rule="row") == [["x", "y"], ["y"]]
    assert memberships.overlapping_sets(H) == [["x", "y"], []]  # no other item is in the second
    assert memberships.strength(H).index.tolist() == ["x", "y", "z"]
    assert_array_equal(memberships.strength(H), memberships.strength(H.to_numpy()))
    again = memberships.frame(sparse.csr_array(H.to_numpy()), H.index)
    assert_array_equal(again.to_numpy(), H.to_numpy())
    assert again.index.tolist() == ["x", "y", "z"]


def test_without_pandas_it_says_what_to_install(monkeypatch):
    G = nx.Graph(LINKS)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"odsymnmf\[frames\]"):
        memberships.frame([[1.0]])
    monkeypatch.setitem(sys.modules, "cdlib", None)
    with pytest.raises(ImportError, match="pip install cdlib"):
        od.graphs.node_clustering(G, np.ones((5, 1)))


def test_new_items_must_be_compared_with_the_fitted_ones(G, frame):
    new = pd.DataFrame([[1, 1, 0, 0, 0.0]], columns=list(G))
    plain = ODSymNMF(2, loss="l1").fit(frame.to_numpy())
    expected = plain.predict_membership(new.to_numpy())
    for given in (G, frame):
        model = ODSymNMF(2, loss="l1").fit(given)
        assert_array_equal(model.predict_membership(new), expected)
        with pytest.raises(ValueError, match=r"'b' and 'a' at position 0.*X\[model\.item_names_\]"):
            model.predict(new[["b", "a", "c", "d", "e"]])
    model = ODSymNMF(2).fit(G)
    assert_array_equal(model.labels_series(), model.labels_)
    unnamed = pd.DataFrame(new.to_numpy())
    assert_array_equal(model.predict(unnamed), model.predict(new.to_numpy()))


@pytest.mark.parametrize(
    ("edges", "remedy"),
    [
        ([("ann", "bob"), ("bob", "cleo")], r"Graph\(edges\)"),
        ([["ann", "bob", 2], ["bob", "cleo", 1]], r"or G\.add_weighted_edges_from"),
        (pd.DataFrame({"Source": ["a", "b"], "Target": ["b", "c"], "w": [1, 2]}), "'Target'"),
        (pd.DataFrame({"from": [0, 1, 2], "to": [1, 2, 3]}), "from_pandas_edgelist"),
    ],
)
def test_a_list_of_edges_is_no_similarity(edges, remedy):
    with pytest.raises(ValueError, match=f"list of edges.*networkx.*{remedy}"):
        od.ODSymNMF(2).fit(edges)
    names = ["source", "target"]  # items that are called so
    A = pd.DataFrame([[0, 1], [1, 0]], index=names, columns=names)
    assert inputs.to_similarity_matrix(A).names == names
    assert ODSymNMF(1, affinity="cosine").fit(pd.concat([A, A])).item_names_ == 2 * names


def test_what_is_no_similarity_names_the_remedy(tmp_path):
    G = nx.karate_club_graph()
    model, points = ODSymNMF(2).fit(G), ODSymNMF(2, affinity="rbf").fit(np.eye(3))
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04 broken")
    for call, remedy in [
        (lambda: points.fit(tmp_path / "graph.csv"), "odsymnmf.io.read"),
        (lambda: ODSymNMF(2, affinity="cosine").fit(pd.Series(["a", np.nan])), "TfidfVectorizer"),
        (lambda: points.predict(pd.DataFrame({"t": ["a", "b"]})), "column 't'"),
        (lambda: ODSymNMF(2).fit(model.similarity_), "pass the features"),
        (lambda: ODSymNMF(2).fit(np.array(["one text", "another"], object)), "TfidfVectorizer"),
        (lambda: od.factorize(list(G.edges), 2), "networkx.Graph"),
        (lambda: model.predict(G), "one row per new item"),
        (lambda: od.factorize({"a": 1}, 2), "got dict; .* or a graph"),
        (lambda: od.factorize(od.datasets.cliques([3, 2]), 2), "tuple.*the matrix alone"),
        (lambda: od.factorize(["one text", None], 2), "TfidfVectorizer"),
        (lambda: od.io.read(tmp_path / "book.xlsx"), "spreadsheet; save the sheet as CSV"),
        (lambda: od.choose.n_clusters(G, "2-6"), "range"),
    ]:
        with pytest.raises(ValueError, match=remedy):
            call()


@pytest.mark.parametrize("call", [ODSymNMF(2).fit, lambda A: od.factorize(A, 2)])
def test_warnings_name_the_line_of_the_user(call):
    with pytest.warns(UserWarning, match="all similarities of different items are 0") as record:
        call(np.zeros((4, 4)))
    assert {warning.filename for warning in record} == {__file__}
