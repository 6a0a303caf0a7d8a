"""The same graph, written in every format, reads to the same matrix and names."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from io_files import (
    ADJACENCY,
    NAMES,
    PAJEK,
    WITH_NAMES,
    WITHOUT_NAMES,
    A,
    delimited,
    format_of,
    saved_bytes,
    values,
)
from scipy import sparse
from scipy.io import mmwrite

from odsymnmf import io

NUMBERS = ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize(
    ("name", "data", "names"),
    [(name, data, NAMES) for name, data in WITH_NAMES.items()]
    + [(name, data, NUMBERS) for name, data in WITHOUT_NAMES.items()],
)
def test_every_format(read, name, data, names, forced):
    dataset = read(data, name, format=format_of(name) if forced else None)
    assert (dataset.format, dataset.names) == (format_of(name), names)
    assert isinstance(dataset.matrix, np.ndarray | sparse.csr_array)
    np.testing.assert_array_equal(values(dataset), A)


@pytest.mark.parametrize("name", ADJACENCY)
def test_adjacency_lists(read, name):
    dataset = read(ADJACENCY[name], name)
    assert (dataset.format, sorted(dataset.names)) == ("adjlist", NAMES)
    assert dataset.messages == ["no weights found: every edge has weight 1"]
    order = [dataset.names.index(node) for node in NAMES]
    np.testing.assert_array_equal(np.array(values(dataset))[np.ix_(order, order)], A != 0)


@pytest.mark.parametrize(
    "name", ["general.mtx", "csr.npz", "array.npy", "graph.graphml", "graph.gml", "both.net"]
)
def test_content_decides_before_the_name(read, name):
    data = (WITH_NAMES | WITHOUT_NAMES)[name]
    assert values(read(data, "misnamed.txt")) == A.tolist()


SQUARE = st.integers(2, 6).flatmap(
    lambda n: arrays(np.float64, (n, n), elements=st.floats(-1e300, 1e300))
)


@given(SQUARE)
@pytest.mark.parametrize("ending", ["npy", "npz", "csv", "mtx"])
def test_round_trip(tmp_path_factory, ending, square):
    square = np.triu(square, 1)
    square += square.T
    rows = [[repr(x) for x in row] for row in square.tolist()]
    names = [f"item {k}" for k in range(len(square))]
    table = [("", *names), *((name, *row) for name, row in zip(names, rows, strict=True))]
    data = {
        "npy": lambda: saved_bytes(lambda f: np.save(f, square)),
        "npz": lambda: saved_bytes(lambda f: sparse.save_npz(f, sparse.csr_array(square))),
        "csv": lambda: delimited(table),
        "mtx": lambda: saved_bytes(lambda f: mmwrite(f, sparse.coo_array(square), precision=17)),
    }[ending]()
    path = tmp_path_factory.mktemp("trip") / f"a.{ending}"
    path.write_bytes(data)
    dataset = io.read(path)
    # pandas before 3.1 may be off by one in the last digit.
    np.testing.assert_allclose(values(dataset), square, rtol=1e-15 if ending == "csv" else 0)
    assert dataset.names == (names if ending == "csv" else [str(k) for k in range(len(rows))])


@pytest.mark.parametrize("dtype", [bool, np.int16, np.float16, np.float32, ">f8"])
def test_types_of_numbers(read, dtype):
    matrix = read(saved_bytes(lambda f: np.save(f, abs(A).astype(dtype))), "a.npy").matrix
    assert matrix.dtype == (np.float32 if dtype in (np.float16, np.float32) else np.float64)
    np.testing.assert_array_equal(matrix, abs(A).astype(dtype))


# --- nodes and edges of graph files ----------------------------------------------------------


def test_labels_and_classes_of_nodes(read):
    G = networkx.Graph()
    for node, name, group in (("n0", "Ann", "x"), ("n1", "Bob", "y"), ("n2", "Cid", "x")):
        G.add_node(node, name=name, group=group)
    G.add_edges_from([("n0", "n1", {"value": 2}), ("n1", "n2", {"value": 1})])
    dataset = read("\n".join(networkx.generate_graphml(G)), "a.graphml")
    assert (dataset.names, dataset.target) == (["Ann", "Bob", "Cid"], ["x", "y", "x"])
    assert values(dataset) == [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    G.nodes["n1"]["name"] = "Ann"
    assert read("\n".join(networkx.generate_graphml(G)), "a.graphml").names == ["n0", "n1", "n2"]


def test_an_edge_attribute_by_name(read):
    G = networkx.Graph([("a", "b", {"kind": "x", "strength": 5})])
    text = "\n".join(networkx.generate_graphml(G))
    assert values(read(text, "a.graphml", weight_column="strength")) == [[0, 5], [5, 0]]
    ignored = "edge attributes ignored: 'strength' (choose one with weight_column=)"
    assert read(text, "a.graphml").messages[0] == ignored
    networkx.set_edge_attributes(G, {("a", "b"): {"value": 2, "id": 1}})
    text = "\n".join(networkx.generate_gml(G))
    assert read(text, "a.gml").messages[0] == ignored
    assert read(text, "a.gml", weight_column="value").messages == []
    with pytest.raises(io.InputError, match="no edge has an attribute 'x'"):
        read(text, "a.graphml", weight_column="x")


def test_gml_with_utf8_and_without_or_with_repeated_labels(read):
    nodes = 'node [ id 0 label "é&amp;" ] node [ id 1 label "b" ]'
    edges = "edge [ source 0 target 1 ] edge [ source 1 target 0 ]"
    dataset = read(f"graph [ {nodes} {edges} ]", "a.gml")
    assert (dataset.names, values(dataset)) == (["é&", "b"], [[0, 2], [2, 0]])
    for labels in (("", ""), ('label "x"', 'label "x"')):
        nodes = " ".join(f"node [ id {k + 7} {label} ]" for k, label in enumerate(labels))
        dataset = read(f"graph [ {nodes} edge [ source 7 target 8 ] ]", "a.gml")
        assert dataset.names == ["7", "8"]


def test_pajek_vertices_without_labels_and_lists_of_links(read):
    dataset = read("*Vertices 3\n2 two\n*Edges\n1 2\n2 3 5\n", "a.net")
    assert (dataset.names, values(dataset)) == (
        ["1", "two", "3"],
        [[0, 1, 0], [1, 0, 5], [0, 5, 0]],
    )
    for section in ("*Edgeslist", "*arcslist"):
        with pytest.raises(io.InputError, match=rf"\{section} is not supported: write its links"):
            read(f"{PAJEK}{section}\n1 2 3\n", "a.net")
    with pytest.raises(io.InputError, match="labels are repeated"):
        read('*Vertices 2\n1 "a"\n2 "a"\n*Edges\n1 2\n', "a.net")
