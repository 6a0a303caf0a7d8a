"""The same graph in every format that is read gives the same labels."""

import csv
import gzip

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from cli_problems import run
from scipy import io, sparse

from odsymnmf.cli.cluster import FORMATS

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
    return [(j, i, A[i, j]) for i in range(N) for j in range(i) if A[i, j]]


def edge_lines(mark: str, header: bool) -> str:
    lines = [mark.join(["source", "target", "weight"])] if header else []
    lines += [mark.join([f'"{NAMES[i]}"', f'"{NAMES[j]}"', f"{w:g}"]) for i, j, w in pairs()]
    return "\n".join(lines) + "\n"


def as_networkx() -> nx.Graph:
    G = nx.Graph()
    G.add_nodes_from(NAMES)
    G.add_weighted_edges_from((NAMES[i], NAMES[j], float(w)) for i, j, w in pairs())
    return G


def write_table(path):
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["", *NAMES])
        table.writerows([name, *row] for name, row in zip(NAMES, graph().tolist(), strict=True))


def write_cluto(path):
    A = graph()
    rows = [" ".join(f"{j + 1} {row[j]:g}" for j in np.flatnonzero(row)) for row in A]
    path.write_text("\n".join([f"{N} {N} {np.count_nonzero(A)}", *rows]) + "\n")
    path.with_suffix(".mat.rlabel").write_text("\n".join(NAMES) + "\n")
    path.with_suffix(".mat.rclass").write_text("".join(f"g{i // GROUP}\n" for i in range(N)))


def write_parquet(path):
    columns = zip(*((NAMES[i], NAMES[j], float(w)) for i, j, w in pairs()), strict=True)
    pd.DataFrame(dict(zip(("source", "target", "weight"), columns, strict=True))).to_parquet(path)


WRITERS = {
    "header.csv": lambda path: path.write_text(edge_lines(",", True)),
    "semicolon.csv": lambda path: path.write_text(edge_lines(";", False)),
    "tabs.tsv": lambda path: path.write_text(edge_lines("\t", True)),
    "blanks.edges": lambda path: path.write_text("# a comment\n" + edge_lines(" ", False)),
    "packed.csv.gz": lambda path: path.write_bytes(gzip.compress(edge_lines(",", True).encode())),
    "windows.csv": lambda path: path.write_bytes(
        edge_lines(",", True).replace("\n", "\r\n").encode()
    ),
    "table.csv": write_table,
    "numbers.tsv": lambda path: np.savetxt(path, graph(), fmt="%g", delimiter="\t"),
    "matrix.mtx": lambda path: io.mmwrite(path, sparse.coo_array(graph())),
    "full.npy": lambda path: np.save(path, graph()),
    "sparse.npz": lambda path: sparse.save_npz(path, sparse.csr_array(graph())),
    "graph.graphml": lambda path: nx.write_graphml(as_networkx(), path),
    "graph.gml": lambda path: nx.write_gml(as_networkx(), path),
    "matrix.mat": write_cluto,
    "graph.gexf": lambda path: nx.write_gexf(as_networkx(), path),
    "graph.net": lambda path: nx.write_pajek(as_networkx(), path),
    "links.parquet": write_parquet,
    "networkx.edgelist": lambda path: nx.write_edgelist(as_networkx(), path, delimiter="\t"),
}


def found(path, folder, *options):
    result = run("cluster", path, "-r", 3, "-o", folder, *options)
    assert result.exit_code == 0, result.stderr
    with open(folder / "labels.csv", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return {row[0]: row[1] for row in rows}, result


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    home = tmp_path_factory.mktemp("expected")
    WRITERS["full.npy"](home / "full.npy")
    labels, _ = found(home / "full.npy", home / "run")
    assert sorted(labels.values()) == ["0"] * 8 + ["1"] * 8 + ["2"] * 8
    return labels


@pytest.mark.parametrize("name", WRITERS)
def test_same_labels(tmp_path, expected, name):
    WRITERS[name](tmp_path / name)
    labels, _ = found(tmp_path / name, tmp_path / "run")
    numbers = {key.removeprefix("item "): label for key, label in labels.items()}
    assert numbers == expected


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("header.csv", "edges"),
        ("table.csv", "table"),
        ("matrix.mtx", "mtx"),
        ("full.npy", "npy"),
        ("sparse.npz", "npz"),
        ("graph.graphml", "graphml"),
        ("graph.gml", "gml"),
        ("matrix.mat", "cluto"),
        ("graph.gexf", "gexf"),
        ("graph.net", "pajek"),
        ("links.parquet", "parquet"),
    ],
)
def test_the_format_can_be_forced(tmp_path, expected, name, format):
    WRITERS[name](tmp_path / name)
    (tmp_path / name).rename(tmp_path / "data")
    labels, _ = found(tmp_path / "data", tmp_path / "run", "--format", format)
    assert [*labels.values()] == [*expected.values()]


def test_adjacency_lists_have_links_of_weight_one(tmp_path):
    A = (graph() > 0).astype(float)
    lines = [
        "\t".join([NAMES[i], *(NAMES[j] for j in range(i + 1, N) if A[i, j])]) for i in range(N)
    ]
    (tmp_path / "graph.adjlist").write_text("\n".join(lines) + "\n")
    np.save(tmp_path / "full.npy", A)
    labels, _ = found(tmp_path / "graph.adjlist", tmp_path / "run", "--format", "adjlist")
    expected, _ = found(tmp_path / "full.npy", tmp_path / "expected")
    assert [labels[name] for name in NAMES] == [*expected.values()]


def test_every_format_is_tried():
    assert len(FORMATS) == 12


def test_known_groups_are_scored(tmp_path):
    write_cluto(tmp_path / "matrix.mat")
    _, result = found(tmp_path / "matrix.mat", tmp_path / "run")
    assert (
        "compared with the known groups: accuracy 1.0000, nmi 1.0000, ari 1.0000" in result.stdout
    )


def test_links_given_twice_are_said(tmp_path):
    path = tmp_path / "graph.csv"
    path.write_text("a,b,1\nb,c,1\na,c,1\na,b,2\n")
    _, result = found(path, tmp_path / "run")
    assert "note: " in result.stderr
    assert "sum" in result.stderr
