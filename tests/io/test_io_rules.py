"""Directions, repeated edges, loops, the diagonal and unknown pairs."""

import networkx
import numpy as np
import pytest
from io_files import delimited, saved_bytes, values
from scipy import sparse
from scipy.io import mmwrite

from odsymnmf import io

NO_HEADER = "no header: the first row is an edge"
UNWEIGHTED = "no weights found: every edge has weight 1"
# 0 -> 1 with 4, 1 -> 0 with 1, 1 -> 2 with 2.
DIRECTED = np.array([[0.0, 4, 0], [1, 0, 2], [0, 0, 0]])
EXPECTED = {
    "max": [[0, 4, 0], [4, 0, 2], [0, 2, 0]],
    "mean": [[0, 2.5, 0], [2.5, 0, 1], [0, 1, 0]],
    "sum": [[0, 5, 0], [5, 0, 2], [0, 2, 0]],
}
ONE_WAY = networkx.DiGraph([("0", "1", {"weight": 4}), ("1", "0", {"weight": 1})])
ONE_WAY.add_edge("1", "2", weight=2)
DIRECTED_FILES = {
    "a.csv": delimited([("0", "1", 4), ("1", "0", 1), ("1", "2", 2)]),
    "a.txt": delimited([("x", "y", "z"), *DIRECTED.tolist()], " "),
    "a.mtx": saved_bytes(lambda f: mmwrite(f, sparse.coo_array(DIRECTED), symmetry="general")),
    "a.npy": saved_bytes(lambda f: np.save(f, DIRECTED)),
    "a.npz": saved_bytes(lambda f: sparse.save_npz(f, sparse.csr_array(DIRECTED))),
    "a.graphml": "\n".join(networkx.generate_graphml(ONE_WAY)).encode(),
    "a.gml": "\n".join(networkx.generate_gml(ONE_WAY)).encode(),
}


# --- directions ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DIRECTED_FILES)
def test_directed_is_refused_unless_symmetrized(read, name):
    options = {"format": "table"} if name == "a.txt" else {}
    remedy = r'; choose how to make it symmetric: symmetrize="max", "mean" or "sum"$'
    with pytest.raises(io.InputError, match=remedy) as caught:
        read(DIRECTED_FILES[name], name, **options)
    if name not in ("a.csv", "a.txt"):
        assert "'0' to '1' is 4, but '1' to '0' is 1 (the largest" in str(caught.value)
    for symmetrize, expected in EXPECTED.items():
        items = read(DIRECTED_FILES[name], name, symmetrize=symmetrize, **options)
        assert values(items) == expected
        assert f"made symmetric: the {symmetrize} of both directions" in items.messages


@pytest.mark.parametrize("symmetrize", [None, *EXPECTED])
def test_symmetric_input_is_not_changed(read, symmetrize):
    for text in ("a,b,4\nb,c,-2\n", "a,b,4\nb,a,4\nb,c,-2\nc,b,-2\n"):
        items = read(text, symmetrize=symmetrize)
        assert values(items) == [[0, 4, 0], [4, 0, -2], [0, -2, 0]]
        assert items.messages == [NO_HEADER]


# --- repeated edges, loops, the diagonal -----------------------------------------------------

PARALLEL = networkx.MultiGraph([("a", "b"), ("a", "b"), ("b", "a"), ("b", "c")])
PATH = networkx.Graph([("a", "b"), ("b", "c", {"weight": 2})])
REPEATED = "edges given more than once are summed: 2"
DIAGONAL = "the diagonal is ignored: its values are left out"
ENTRIES = "entries given more than once are summed: "
SYMMETRIC = "%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n2 1 1\n2 1 2\n"
TWICE = sparse.csr_array(([1.0, 2, 3], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
LOOPS = [[np.nan, 1, 1], [1, 5, 1], [1, 1, np.inf]]
ONES = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
BOTH = "'b' and 'c' are linked in both directions, but other pairs"

RULES = [
    ("a.csv", "a,b,1\nb,c,2\na,b,3\na,b,0.5\n", [[0, 4.5, 0], [4.5, 0, 2], [0, 2, 0]], REPEATED),
    ("a.graphml", networkx.generate_graphml(PARALLEL), [[0, 3, 0], [3, 0, 1], [0, 1, 0]], REPEATED),
    ("a.gml", networkx.generate_gml(PARALLEL), [[0, 3, 0], [3, 0, 1], [0, 1, 0]], REPEATED),
    ("a.mtx", SYMMETRIC, [[0, 3], [3, 0]], ENTRIES),
    ("a.npz", saved_bytes(lambda f: sparse.save_npz(f, TWICE)), [[0, 3], [3, 0]], ENTRIES),
    ("a.csv", "a,a,nan\nb,c,1\n", [[0, 0, 0], [0, 0, 1], [0, 1, 0]], "self-loops are left out: 1"),
    ("a.csv", "x,y,z\nnan,1,1\n1,5,1\n1,1,inf\n", ONES, DIAGONAL),
    ("a.npy", saved_bytes(lambda f: np.save(f, LOOPS)), ONES, DIAGONAL),
    ("a.csv", ",x,y,z\nx,,1,2\ny,1,,3.5\nz,2,3.5,\n", [[0, 1, 2], [1, 0, 3.5], [2, 3.5, 0]], None),
    ("a.csv", "a,b,0.1\nb,a,0.1000000000002\n", [[0, 0.1000000000001], [0.1000000000001, 0]], None),
    ("a.gexf", networkx.generate_gexf(PATH), [[0, 1, 0], [1, 0, 2], [0, 2, 0]], None),
    ("a.graphml", networkx.generate_graphml(PATH), "the weight of 'a' to 'b' is None; give", None),
    ("a.csv", "# x\na,b,1\nb,c,1\nc,b,1\nc,d,1\n", rf"{BOTH} \(2\) in one only: the graph", None),
    ("a.csv", "a,b,1\nb,a,-1\n", "'a' to 'b' is 1, but 'b' to 'a' is -1", None),
    ("a.csv", "a,b,0\nb,a,1\n", "'b' to 'a' is 1, but 'a' to 'b' is 0|'a' to 'b' is 0", None),
    ("a.csv", "b,c,1\nc,b,-1\na,d,1\n", BOTH, None),
]


@pytest.mark.parametrize(("name", "data", "expected", "message"), RULES)
def test_rules_for_edges_and_the_diagonal(read, name, data, expected, message):
    if not isinstance(data, str | bytes):
        data = "\n".join(data)
    if isinstance(expected, str):
        with pytest.raises(io.InputError, match=expected):
            read(data, name)
        return
    items = read(data, name)
    np.testing.assert_allclose(values(items), expected, rtol=1e-12)
    assert (values(items) == np.transpose(values(items))).all()
    assert message is None or message in "\n".join(items.messages)


# --- unknown pairs ---------------------------------------------------------------------------

NAN = float("nan")
UNKNOWN = [[0, 1, NAN, NAN], [1, 0, 2, NAN], [NAN, 2, 0, 3], [NAN, NAN, 3, 0]]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b",a,b,c,d\na,1,1,,\nb,1,1,2,\nc,,2,1,3\nd,,,3,1\n"),
        ("a.csv", b",a,b,c,d\na,,1,,NA\nb,1,,2,nan\nc,,2,NaN,3\nd,,,3,\n"),
        ("a.csv", b",1,,\n1,,2,\n,2,,3\n,,3,\n"),
        ("a.csv", b"a,b,c,d\n,1,,\n,,2,\n,,,3\n,,,\n"),
        ("a.txt", b"0 1 nan nan\n1 0 2 nan\nnan 2 0 3\nnan nan 3 0\n"),
        ("a.edges", b"a b 1\na c nan\na d NaN\nb c 2\nb d nan\nc d 3\n"),
        (
            "a.edges",
            b"a b 1\nb a 1\na c nan\nc a nan\na d nan\nd b nan\nb d nan\nd a nan\n"
            b"b c 2\nc b 2\nc d nan\nd c 3\n",
        ),
        ("a.npy", saved_bytes(lambda f: np.save(f, UNKNOWN))),
        ("a.npz", saved_bytes(lambda f: sparse.save_npz(f, sparse.csr_array(np.array(UNKNOWN))))),
        ("a.mtx", saved_bytes(lambda f: mmwrite(f, np.array(UNKNOWN)))),
    ],
)
def test_pairs_without_a_value_are_unknown(read, name, data):
    items = read(data, name)
    np.testing.assert_array_equal(np.array(values(items)), UNKNOWN)
    assert "pairs without a value are unknown: 3" in items.messages


@pytest.mark.parametrize("symmetrize", EXPECTED)
def test_unknown_direction_is_filled_from_the_other(read, symmetrize):
    table = ",a,b,c\na,0,4,\nb,1,0,\nc,,2,0\n"
    expected = {"max": [4, 2], "mean": [2.5, 2], "sum": [5, 4]}[symmetrize]
    for text in (table, "a,b,4\nb,a,1\na,c,nan\nb,c,nan\nc,b,2\n"):
        items = read(text, symmetrize=symmetrize)
        matrix = np.array(values(items))
        np.testing.assert_array_equal(matrix, matrix.T)
        assert [matrix[0, 1], matrix[1, 2]] == expected
        assert np.isnan(matrix[0, 2])
        assert "pairs without a value are unknown: 1" in items.messages
