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


def test_a_graph_gives_what_networkx_makes_of_it(G):
    G.add_edge("a", "b", weight=2.5)
    G.add_edge("e", "e")
    A, names = inputs.similarities(G)
    expected = nx.to_scipy_sparse_array(G).toarray()
    np.fill_diagonal(expected, 0)
    got = A.toarray()
    np.fill_diagonal(got, 0)
    assert_array_equal(got, expected)
    assert names == list(G)


def test_parallel_edges_are_summed():
    G = nx.MultiGraph([("a", "b", {"weight": 2}), ("a", "b", {"weight": 3}), ("a", "c")])
    assert inputs.similarities(G).matrix.toarray().tolist() == [[0, 5, 1], [5, 0, 0], [1, 0, 0]]


def test_another_weight_may_be_chosen(G):
    nx.set_edge_attributes(G, 4, "trips")
    assert inputs.similarities(G, weight="trips").matrix.max() == 4
    assert inputs.similarities(G).matrix.max() == 1


def test_directed_graphs_need_both_directions(G):
    both = G.to_directed()
    assert_array_equal(
        inputs.similarities(both).matrix.toarray(), inputs.similarities(G).matrix.toarray()
    )
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


def test_a_graph_without_nodes_is_an_error():
    with pytest.raises(ValueError, match="empty"):
        od.factorize(nx.Graph(), 2)


def test_nodes_may_be_anything():
    G = nx.grid_2d_graph(3, 3)
    model = ODSymNMF(2).fit(G)
    assert model.item_names_ == list(G)
    assert list(model.membership_frame().index) == list(G)
    assert model.labels_series()[(1, 1)] == model.labels_[4]


def test_names_come_back(G):
    model = ODSymNMF(2, loss="l1").fit(G)
    assert as_sets(model.overlapping_sets()) == SETS
    assert as_sets(model.overlapping_sets(rule="harm")) == SETS
    assert isinstance(model.labels_, np.ndarray)
    assert model.labels_series().index.tolist() == list(G)
    assert_array_equal(model.membership_frame(), model.membership_)
    assert od.factorize(G, 2).names == list(G)
    assert od.factorize(nx.to_numpy_array(G), 2).names is None


def test_memberships_take_graphs(G):
    H = od.factorize(G, 2, loss="l1").H
    A = nx.to_numpy_array(G)
    assert od.objective(G, H) == od.objective(A, H)
    for item in range(5):
        for cluster in range(2):
            got = memberships.supporting_pairs(H, G, item, cluster)
            assert_array_equal(got, memberships.supporting_pairs(H, A, item, cluster))


def test_plots_take_graphs_and_frames(G, frame):
    pytest.importorskip("matplotlib")
    model = ODSymNMF(2).fit(G)
    for A in (G, frame):
        ax = od.plots.plot_graph(A, model.membership_)
        assert [text.get_text() for text in ax.texts] == list(G)
    od.plots.plot_matrix(G, model.membership_)
    ax = od.plots.plot_memberships(model.membership_frame())
    assert {tick.get_text() for tick in ax.get_yticklabels()} == set(G)


def test_annotated_graphs_can_be_written(G, tmp_path):
    model = ODSymNMF(2, loss="l1").fit(G)
    od.graphs.annotate(G, model)
    json.dumps(nx.adjacency_data(G))
    nx.write_gml(G, tmp_path / "g.gml")
    nx.write_graphml(G, tmp_path / "g.graphml")
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
    assert {*other.nodes(data="group_memberships")} == {
        (x, " ".join(f"{l}:{h:g}" for l, h in enumerate(row) if h))
        for x, row in zip(G, model.membership_, strict=True)
    }
    with pytest.raises(ValueError, match="5 nodes"):
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
    assert_array_equal(
        od.factorize(frame, 2, loss="l1").H, od.factorize(frame.values, 2, loss="l1").H
    )


def test_index_and_columns_must_agree(frame):
    shuffled = frame.loc[["b", "a", "c", "d", "e"]]
    for fit in (ODSymNMF(2).fit, lambda A: od.factorize(A, 2)):
        with pytest.raises(ValueError, match=r"'b' and 'a' at position 0.*df\.loc\[df\.columns\]"):
            fit(shuffled)
    with pytest.raises(ValueError, match=r"'e' and 'z' at position 4.*same items"):
        od.factorize(frame.rename(columns={"e": "z"}), 2)
    with pytest.raises(ValueError, match="5 rows and 4 columns"):
        od.factorize(frame.iloc[:, :4], 2)


def test_rows_that_are_only_counted_have_the_names_of_the_columns(frame):
    assert inputs.similarities(frame.reset_index(drop=True)).names == list(frame.columns)


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
    assert sparse.issparse(inputs.similarities(thin).matrix)
    assert as_sets(ODSymNMF(2, loss="l1").fit(thin).overlapping_sets()) == SETS


def test_weights_must_be_of_the_same_items(frame):
    weights = frame * 0 + 1
    assert_array_equal(od.factorize(frame, 2, weights=weights).H, od.factorize(frame, 2).H)
    with pytest.raises(ValueError, match="weights and A are of different items: 'e' and 'a'"):
        ODSymNMF(2).fit(frame, weights=weights.iloc[::-1, ::-1])
    with pytest.raises(ValueError, match="weights and A are of different items"):
        od.factorize(frame, 2, weights=weights.iloc[::-1, ::-1])


def test_features_keep_their_index(frame):
    X = pd.DataFrame(frame.to_numpy() + np.eye(5), index=[10, 20, 30, 40, 50])
    model = ODSymNMF(2, affinity="cosine").fit(X)
    assert model.labels_series().index.tolist() == [10, 20, 30, 40, 50]
    assert ODSymNMF(2, affinity="cosine").fit(X.to_numpy()).item_names_ is None
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


def test_text_is_no_matrix():
    with pytest.raises(ValueError, match=r"'graph\.csv'.*odsymnmf\.io\.read"):
        ODSymNMF(2).fit("graph.csv")


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


# Top features


def test_top_features_speak_for_their_cluster_only():
    X = np.array([[5, 0, 3, 0], [4, 1, 3, 0], [0, 6, 3, 0], [0, 5, 3, 0.0]])
    H = np.array([[1, 0], [1, 0], [0, 1], [0, 1.0]])
    names = ["ship", "cow", "the", "never"]
    for form in (np.asarray, sparse.csr_array):
        top = memberships.top_features(form(H), form(X), names)
        assert [words[0][0] for words in top] == ["ship", "cow"]
        assert all(weight > 0 for words in top for _, weight in words)
        assert "never" not in {word for words in top for word, _ in words}
    assert memberships.top_features(H, pd.DataFrame(X, columns=names), n_top=1) == [
        words[:1] for words in top
    ]
    assert memberships.top_features(H, X)[0][0][0] == 0


def test_top_features_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    H, X = rng.uniform(size=(20, 3)), rng.uniform(size=(20, 7))
    p = H.T @ X
    p /= p.sum(axis=1, keepdims=True)
    expected = p * np.log(p / p.mean(axis=0))
    for l, words in enumerate(memberships.top_features(H, X)):
        assert_allclose([weight for _, weight in words], [expected[l, t] for t, _ in words])
        assert len(words) == (expected[l] > 0).sum()


def test_top_features_of_an_empty_cluster_are_none():
    assert memberships.top_features([[1, 0], [1, 0]], [[1, 2], [2, 1]])[1] == []


@pytest.mark.parametrize(
    ("X", "names", "problem"),
    [
        ([[1, 2]], None, r"shape \(1, 2\), but H has 2 rows"),
        ([[1], [2]], ["a", "b"], "2 names were given for the 1 columns"),
        ([[1], [-2]], None, "negative"),
    ],
)
def test_top_features_refuse(X, names, problem):
    with pytest.raises(ValueError, match=problem):
        memberships.top_features([[1], [1]], X, names)


@pytest.mark.parametrize(
    ("edges", "remedy"),
    [
        ([("ann", "bob"), ("bob", "cleo")], "add_edges_from"),
        ([["ann", "bob", 2], ["bob", "cleo", 1]], "add_weighted_edges_from"),
        (pd.DataFrame({"Source": ["a", "b"], "Target": ["b", "c"], "w": [1, 2]}), "'Target'"),
        (pd.DataFrame({"from": [0, 1, 2], "to": [1, 2, 3]}), "from_pandas_edgelist"),
    ],
)
def test_a_list_of_edges_is_no_similarity(edges, remedy):
    with pytest.raises(ValueError, match=f"list of edges.*networkx.*{remedy}"):
        od.ODSymNMF(2).fit(edges)


def test_a_frame_of_items_called_source_and_target_is_one():
    names = ["source", "target"]
    A = pd.DataFrame([[0, 1], [1, 0]], index=names, columns=names)
    assert inputs.similarities(A).names == names


def test_what_is_no_similarity_names_the_remedy(tmp_path):
    G = nx.karate_club_graph()
    model = ODSymNMF(2).fit(G)
    for call, remedy in [
        (lambda: ODSymNMF(2).fit(tmp_path / "graph.csv"), "odsymnmf.io.read"),
        (lambda: ODSymNMF(2).fit(["one text", "another"]), "TfidfVectorizer"),
        (lambda: ODSymNMF(2, affinity="cosine").fit(["one text", "another"]), "TfidfVectorizer"),
        (lambda: ODSymNMF(2).fit(list(G.edges)), "networkx.Graph"),
        (lambda: od.factorize(list(G.edges), 2), "networkx.Graph"),
        (lambda: model.predict(G), "one row per new item"),
        (lambda: memberships.labels(model), "model.membership_"),
        (lambda: od.plots.plot_matrix(G, model), "model.membership_"),
        (lambda: od.choose.n_clusters(G, "2-6"), "range"),
    ]:
        with pytest.raises(ValueError, match=remedy):
            call()
