"""Options of the reader and weights of pairs; tests/io has all formats."""

import html
import json

import networkx as nx
import numpy as np
from cli_problems import rows, run

import odsymnmf as od
from odsymnmf import io


def labels(path, folder, *options):
    """Return the label of each item of a run, and the result of the command."""
    result = run("cluster", path, "-r", 3, "-o", folder, *options)
    assert result.exit_code == 0, result.stderr
    return {row[0]: row[1] for row in rows(folder / "labels.csv")[1:]}, result


def test_graph_files_give_the_same_labels_and_are_compared_with_their_groups(edges, tmp_path):
    data, path = io.read(edges), tmp_path / "graph"
    G = nx.from_scipy_sparse_array(data.matrix)
    groups = {k: f"g{int(name.removeprefix('item ')) // 8}" for k, name in enumerate(data.names)}
    nx.set_node_attributes(G, groups, "group")
    nx.write_graphml(G, path)
    expected, _ = labels(edges, tmp_path / "expected")
    found, result = labels(path, tmp_path / "run", "--format", "graphml")
    assert list(found.values()) == list(expected.values())
    scores = "compared with the known groups: accuracy 1.0000, nmi 1.0000, ari 1.0000"
    assert scores in result.stdout


def test_what_was_assumed_of_header_and_columns_is_stated_everywhere(edges, tmp_path):
    path, folder = tmp_path / "messages.csv", tmp_path / "run"
    _, *lines = edges.read_text().splitlines()
    path.write_text("u,v,likes,year\n" + "".join(f"{line},7\n" for line in lines))
    expected, _ = labels(edges, tmp_path / "expected")
    assert labels(path, tmp_path / "other", "--weight-column", "likes")[0] == expected
    clusters, result = labels(path, folder, "--format", "edges", "--columns", "u,v,likes")
    assert clusters == expected
    record = json.loads((folder / "run.json").read_text())["input"]
    header, ignored = record["messages"][:2]
    assert header == "the first row is taken as a header: 'u', 'v', 'likes', 'year'"
    assert ignored.startswith("columns ignored: 'year' ")
    page = html.unescape((folder / "report.html").read_text())
    for text in (result.stderr, result.stdout, page):
        assert header in text
        assert ignored in text
    assert record["options"] == {"format": "edges", "columns": ["u", "v", "likes"]}


def test_header_and_no_header_decide(tmp_path):
    path = tmp_path / "graph.csv"
    for header, option, names in [("a,b", "--header", "bcd"), ("u,v", "--no-header", "uvbcd")]:
        path.write_text(f"{header}\nb,c\nc,d\n")
        assert {*labels(path, tmp_path / option, option)[0]} == {*names}


def test_weights_of_pairs_are_those_of_the_library(edges, tmp_path):
    path, folder = tmp_path / "weights.csv", tmp_path / "run"
    path.write_text("item 0,item 1,0\nitem 3,item 2,2.5\nitem 20,item 1,0\n")
    labels(edges, folder, "--weights", path)
    data, fit = io.read(edges), od.ODSymNMF(3, random_state=0).fit
    expected = fit(data, weights=io.read_weights(path, data.names)).membership_
    H = np.array([row[1:] for row in rows(folder / "membership.csv")[1:]], dtype=float)
    assert np.array_equal(H, expected)
    assert not np.array_equal(H, fit(data).membership_)
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert record["input"]["weights"] == f"{path}, 3 pairs"
    assert "weights.csv, 3 pairs" in (folder / "report.html").read_text(encoding="utf-8")
