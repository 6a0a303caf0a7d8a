"""Files of several formats, headers and columns; tests/io has all of them."""

import html
import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from cli_problems import rows, run

N, GROUP = 24, 8
NAMES = [f"item {i}" for i in range(N)]


def graph() -> np.ndarray:
    """Three groups with weighted links, and fewer links between them."""
    rng = np.random.default_rng(1)
    inside = np.arange(N)[:, None] // GROUP == np.arange(N) // GROUP
    links = rng.uniform(size=(N, N)) < np.where(inside, 0.9, 0.08)
    A = np.tril(links * rng.integers(1, 9, size=(N, N)) / 4, -1)
    return A + A.T


def pairs() -> list[tuple[int, int, float]]:
    A = graph()
    return [(j, i, float(A[i, j])) for i in range(N) for j in range(i) if A[i, j]]


def write_graphml(path):
    G = nx.Graph()
    for i, name in enumerate(NAMES):
        G.add_node(name, group=f"g{i // GROUP}")
    G.add_weighted_edges_from((NAMES[i], NAMES[j], w) for i, j, w in pairs())
    nx.write_graphml(G, path)


WRITERS = {
    "edges": lambda path: path.write_text(
        "".join(f"{NAMES[i]};{NAMES[j]};{w:g}\n" for i, j, w in pairs())
    ),
    "npy": lambda path: np.save(path, graph()),
    "graphml": write_graphml,
}


def found(path, folder, *options):
    """Return the label of each item of a run, and what was printed."""
    result = run("cluster", path, "-r", 3, "-o", folder, *options)
    assert result.exit_code == 0, result.stderr
    return {row[0]: row[1] for row in rows(Path(folder, "labels.csv"))[1:]}, result


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("format", WRITERS)
def test_formats_give_the_same_labels(tmp_path, format, given):
    path = tmp_path / f"graph.{format}"
    WRITERS[format](path)
    if given:
        path = path.rename(tmp_path / "graph")
    labels, result = found(path, tmp_path / "run", *(["--format", format] if given else []))
    numbers = {name.removeprefix("item "): label for name, label in labels.items()}
    of_group = [numbers[str(i)] for i in range(0, N, GROUP)]
    assert sorted(of_group) == ["0", "1", "2"]
    assert [numbers[str(i)] for i in range(N)] == np.repeat(of_group, GROUP).tolist()
    scores = "compared with the known groups: accuracy 1.0000, nmi 1.0000, ari 1.0000"
    assert (scores in result.stdout) == (format == "graphml")


def test_what_was_assumed_of_header_and_columns_is_stated_everywhere(tmp_path):
    path, folder = tmp_path / "graph.csv", tmp_path / "run"
    path.write_text("u,v,likes,year\n" + "".join(f"{i},{j},{w},7\n" for i, j, w in pairs()))
    np.save(tmp_path / "full.npy", graph())
    expected, _ = found(tmp_path / "full.npy", tmp_path / "expected")
    memberships = []
    for k, options in enumerate((["--weight-column", "likes"], ["--columns", "u,v,likes"])):
        labels, result = found(path, f"{folder}{k}", "--format", "edges", *options)
        assert labels == expected
        assert "columns ignored: 'year' " in result.stderr
        memberships.append(rows(Path(f"{folder}{k}", "membership.csv")))
    assert memberships[0] == memberships[1]
    record = json.loads(Path(f"{folder}1", "run.json").read_text())["input"]
    header, ignored = record["messages"][:2]
    assert header == "the first row is taken as a header: 'u', 'v', 'likes', 'year'"
    assert ignored.startswith("columns ignored: 'year' ")
    page = html.unescape(Path(f"{folder}1", "report.html").read_text())
    for text in (result.stderr, result.stdout, page):
        assert header in text
        assert ignored in text
    assert record["options"] == {"format": "edges", "columns": ["u", "v", "likes"]}


def test_header_and_no_header_decide(tmp_path):
    path = tmp_path / "graph.csv"
    path.write_text("a,b\nb,c\nc,d\n")
    assert {*found(path, tmp_path / "all")[0]} == {*"abcd"}
    assert {*found(path, tmp_path / "less", "--header")[0]} == {*"bcd"}
    path.write_text("u,v\nb,c\nc,d\n")
    assert {*found(path, tmp_path / "names")[0]} == {*"bcd"}
    assert {*found(path, tmp_path / "more", "--no-header")[0]} == {*"uvbcd"}
    result = run("cluster", path, "--text", "--header")
    assert result.exit_code == 2
    assert "--text cannot be combined with --header" in result.stderr
