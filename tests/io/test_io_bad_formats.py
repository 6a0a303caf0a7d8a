"""Bad files of one format: one line says what is wrong, where, and what to do about it."""

import re

import numpy as np
import pytest
from io_bad import ARRAY, MTX, PARQUET, SOUND, npy_with, npz_with, refused, zip_of
from io_files import WITH_NAMES, WITHOUT_NAMES, A, joined, parquet, saved

from odsymnmf import io

# --- what can befall one format --------------------------------------------------------------

BAD = [
    # edge lists
    ("a.csv", b"a,b,1\nb,c,abc\n", r", line 2: 'abc' is not a number; "),
    ("a.csv", b"a,b,1\nb,c,\n", r", line 2: '' is not a number; "),
    ("a.csv", b"a;b;0,5\nb;c;1,5\n", r", line 2: '1,5' is not a number; .*decimal point"),
    ("a.csv", b"a,b,1_0\n", r", line 1: '1_0' is not a number; "),
    ("a.csv", b"# x\n\na,b,1\nb,c,1 2\n", r", line 4: '1 2' is not a number; "),
    ("a.csv", b"a,b,1\nb,c\n", r", line 2: 2 fields where the lines above have 3; "),
    ("a.csv", b"a,b\nb,c,1\n", r", line 2: 3 fields where the line above has 2; "),
    ("a.csv", b"# x\na b\nb c d e f\n", r", line 3: 5 fields where the lines above have 2; "),
    ("a.csv", b"a,b,1\n,c,2\n", r", line 2: no name where one is needed; "),
    ("a.csv", b"a,b\n" + b"x" * 2000 + b",c\n", r", line 2: a huge name"),
    ("a.csv", b"a,b,1\nb,c,-inf\n", r", line 2: the value of 'b' and 'c' is -inf; "),
    ("a.csv", b"a,b,1e308\na,b,1e308\n", r", line 1: the value of 'a' and 'b' is inf; "),
    ("a.txt", b"0 1\n1 2\n2 -1\n", r", line 3: the id -1 is negative; "),
    ("a.csv", b"source,target\n", r", line 1: a header, but no edges below it; "),
    ("a.csv", b"# nothing\n% at all\n", r": holds nothing but comments; "),
    ("a.csv", b"alone\n", r", line 1: 1 field, but an edge has two names"),
    ("a.edges", b"a b c d\n", r", line 1: 4 fields, but an edge has two names"),
    ("a.csv", b'x,y\n\n"a"b,c\n', r", line 3: the quotes do not match .*; "),
    ("a.csv", b'a,b\n"c,d\n', r", line \d: the quotes do not match .*; "),
    ("a.csv", b"x,source,target\n1,a,\n", r", line 2: no name where one is needed; "),
    (
        "a.csv",
        b"weight,id,source,target\n1,1,a,b\nz,2,b,c\n",
        r", line 3: 'z' is not a number; give",
    ),
    (
        "a.csv",
        b"source,target,type\na,b,Directed\nb,c,Undirected\n",
        r", line 3: some edges are Directed and some Undirected; ",
    ),
    # tables
    (
        "a.csv",
        b"a,b,1,x\nb,c,1,y\n",
        r", line 1: 'b' is not a number; a table needs one there; .*cut -d",
    ),
    ("a.csv", b"0,1,2,3\n1,0,2,3\n", r", line 1: 2 rows and 4 columns of numbers, but .*; "),
    ("a.csv", b",a,b,c\na,0,1,\nb,1,0\nc,1,1,0\n", r", line 3: 3 fields where the lines above "),
    ("a.csv", b'"a","b"\n0,1\n1\n', r", line 3: 1 fields where the lines above have 2; "),
    (
        "a.csv",
        b",a,b,c\na,0,1,1\nb,1,0,-inf\nc,1,1,0\n",
        r", line 3: the value of 'b' and 'c' is -inf",
    ),
    ("a.csv", b",a,b,c\na,0,,\nb,,0,\nc,NA,nan,0\n", r": no pair has a known value; give "),
    ("a.csv", b"a,b,c,d\n1,2,x,4\n1,2,3,4\n1,2,3,4\n1,2,3,4\n", r", line 2: 'x' is not a number; "),
    ("a.csv", b",a,b\na,0,1\nb,1\n", r", line 3: 2 fields where the lines above have 3; "),
    (
        "a.csv",
        b",a,b,c\na,0,1,1\nc,1,0,1\nb,1,1,0\n",
        "line 3: row 2 is called 'c', column 2 'b'",
    ),
    (
        "a.csv",
        b",a,b,c\na,0,1,1\nb,1,0,9\nc,1,1,0\n",
        "line 3: 'b' to 'c' is 9, but",
    ),
    ("a.csv", b",a,b,c\n", r", line 1: names, but no numbers; "),
    # Matrix Market
    ("a.mtx", b"1 1 1\n", r", line 1: the header should look like .*; "),
    ("a.mtx", MTX.replace(b"real", b"complex") + b"1 1 1\n", r", line 1: the header says 'coord"),
    ("a.mtx", MTX, r", line 2: the sizes should be rows, columns and entries"),
    ("a.mtx", MTX + b"% x\n2 2\n", r", line 3: the sizes should be"),
    ("a.mtx", MTX + b"2 -2 1\n", r", line 2: the sizes should be"),
    ("a.mtx", MTX + b"0 0 0\n", r", line 2: the matrix has no rows"),
    ("a.mtx", MTX + b"2 2 1\n1 2 x\n", r", line 3: .*; "),
    ("a.mtx", MTX + b"2 2 1\n1 3 1\n", r", line 3: .*; "),
    ("a.mtx", MTX + b"2 2 1\n-1 2 1\n", r", line 3: .*; "),
    ("a.mtx", MTX + b"2 2 2\n1 2 1\n", r": .*; "),
    ("a.mtx", MTX + b"2 2 2\n1 2 nan\n2 1 nan\n", r": no pair has a known value; "),
    ("a.mtx", MTX + b"9999999999999 9999999999999 1\n1 2 1\n", r": announces 9999999999999 x "),
    ("a.mtx", MTX + b"3 3 9999999999999\n1 2 1\n", r", line 2: the header announces 9999999999999"),
    ("a.mtx", MTX + b"9" * 40 + b" 1 1\n1 2 1\n", r", line 2: '99.*' is too large a size; "),
    # SciPy writes past the end of this one.
    (
        "a.mtx",
        ARRAY.replace(b"general", b"symmetric") + b"1 3\n1\n2\n3\n",
        r", line 2: 1 rows and ",
    ),
    (
        "a.mtx",
        ARRAY + b"999999 999999\n1\n",
        r", line 2: the header announces 999998000001 entries",
    ),
    # NumPy
    ("a.npy", b"1,2\n", r": it has no valid .npy header .*; "),
    (
        "a.npy",
        npy_with(shape=(10**6, 10**6)),
        "announces",
    ),
    ("a.npy", npy_with(shape=(-1, -1)), "announces"),
    ("a.npy", npy_with(), "no valid .npy header"),
    ("a.npy", saved(lambda f: np.save(f, np.array([[1, None]]))), "Python objects"),
    ("a.npy", saved(lambda f: np.save(f, np.array([["a", "b"]]))), "holds values of type <U1; "),
    ("a.npy", saved(lambda f: np.save(f, 1j * A)), "holds values of type complex128; "),
    ("a.npy", saved(lambda f: np.save(f, A[0])), r"an array of shape \(5,\); "),
    ("a.npy", saved(lambda f: np.save(f, A[:, :2])), "has 5 rows and 2 columns, .*features=True"),
    ("a.npy", saved(lambda f: np.save(f, A[:0, :0])), r"a matrix of shape \(0, 0\); "),
    ("a.npy", saved(lambda f: np.save(f, A + np.nan)), "no pair has a known value; "),
    ("a.npy", saved(lambda f: np.save(f, np.triu(A))), "'3' to '4' is 3.25, but '4' to '3' is 0"),
    # SciPy
    ("a.npz", b"PK\x03\x04 and so on", "is not a valid .npz file"),
    ("a.npz", saved(lambda f: np.savez(f, A)), "is not a sparse matrix; "),
    ("a.npz", npz_with(indices=np.full(8, 10**6)), "is not a valid sparse matrix"),
    ("a.npz", npz_with(indices=np.full(8, -1)), "is not a valid sparse matrix"),
    ("a.npz", npz_with(indices=np.full(8, 0.5)), "indices holds float64, not integers; "),
    ("a.npz", npz_with(indptr=np.array([0, 9, 1, 1, 1, 8])), "is not a valid sparse matrix"),
    # SciPy itself looks no further than the last of these.
    ("a.npz", npz_with(indptr=np.array([0, 2, 4, 0, 0, -9])), "is not a valid sparse matrix"),
    ("a.npz", npz_with(indptr=np.array([0, 10**6, 0, 0, 0, 0])), "is not a valid sparse matrix"),
    ("a.npz", npz_with(shape=(10**13, 10**13)), r"announces 10000000000000 x "),
    ("a.npz", npz_with(shape=(5, 5, 5)), "its shape does not have two numbers; "),
    ("a.npz", npz_with(format=np.zeros((), dtype="i4,i4")), "format holds .*, not text; "),
    ("a.npz", npz_with(format=b"lil"), "is not a valid sparse matrix"),
    ("a.npz", npz_with(data=np.array([None] * 8)), "Python objects"),
    ("a.npz", npz_with(data=np.full(8, np.inf)), "the value of '0' and '1' is inf; "),
    ("a.npz", zip_of(format=b"", data=bytes(2**27)), "zip bomb does; "),
    # GraphML
    ("a.graphml", b"<graphml>\n<graph>\n", r", line 3: is not valid XML \(no element found\); "),
    ("a.graphml", b"nonsense\n", r", line 1: is not valid XML .*; "),
    ("a.graphml", b"<?xml version='1.0'?>\n<svg/>", r", line 2: is XML, but begins with <svg>; "),
    ("a.graphml", b"<graphml/>", r": is not a valid graph .*; "),
    ("a.graphml", b"<a>" * 10**5, r", line 1: .*; "),
    ("a.graphml", b"<graphml>" + b"<graph>" * 10**5, r", line 1: elements are nested too deeply; "),
    # GML
    ("a.gml", b"graph [\n  node [\n    id 0\n", r", line 4: is not a valid graph .*; "),
    ("a.gml", b"nonsense", r", line \d: is not a valid graph .*; "),
    (
        "a.gml",
        b"graph [\n node [ id 0 ]\n edge [ source 0 target 7 ]\n]",
        r": is not a valid graph .*; ",
    ),
    ("a.gml", b"graph [\n" + b"a [" * 10**5, r": is not a valid graph \(nested too deeply\); "),
    ("a.gml", b"graph [\n]", r": holds no nodes; "),
    # GEXF
    ("a.gexf", b"<gexf>\n<graph>\n", r", line 3: is not valid XML \(no element found\); "),
    ("a.gexf", b"<svg/>", r", line 1: is XML, but begins with <svg>; save it as GEXF"),
    ("a.gexf", b"<gexf/>", r": holds no nodes; "),
    ("a.gexf", b"<gexf>" + b"<graph>" * 10**5, r", line 1: elements are nested too deeply; "),
    (
        "a.gexf",
        b'<gexf>\n<node id="1"/>\n<edge source="1" target="2"/></gexf>',
        r", line 3: there is no node '2'; ",
    ),
    (
        "a.gexf",
        b'<gexf>\n<node id="1"/>\n<edge source="1" target="1" weight="x"/></gexf>',
        r", line 3: the weight 'x' is not a number; ",
    ),
    # Pajek
    ("a.net", b"1 2\n", r", line 1: a Pajek network begins with \*Vertices and their number; "),
    ("a.net", b"*Vertices x\n", r", line 1: \*Vertices needs their number, at least 1; "),
    ("a.net", b"*Vertices 9999999999999\n", r": announces 9999999999999 x 9999999999999 entries"),
    (
        "a.net",
        b'*Vertices 2\n3 "c"\n',
        r", line 2: '3' is not a vertex: they are numbered 1 to 2; ",
    ),
    (
        "a.net",
        b"*Vertices 2\n*Edges\n1 3\n",
        r", line 3: '3' is not a vertex: they are numbered 1 to 2; ",
    ),
    ("a.net", b"*Vertices 2\n*Edges\n1\n", r", line 3: a link has two ends; "),
    ("a.net", b"*Vertices 2\n*Arcs\n1 2 x\n", r", line 3: the weight 'x' is not a number; "),
    ("a.net", b"*Vertices 2\n*Matrix\n0 1\n", r", line 2: '\*Matrix' is not read; "),
    ("a.net", b"*Vertices 2\n*Vertices 2\n", r", line 2: a second network begins; "),
    # networkx's own lists
    ("a.edges", b"1 2 {'weight': 3}\n2 3\n", r", line 2: no dictionary of data, unlike the .*; "),
    ("a.edges", b"1 2 {'weight': 3}\n\n2 3 {}\n", r", line 3: some edges have a weight and .*; "),
    ("a.edges", b"1 2 {'weight': 'x'}\n", r", line 1: .* is not a dictionary of plain data .*; "),
    ("a.edges", b"1 2 {'a': __import__('os')}\n", r", line 1: .* is not a dictionary of plain "),
    ("a.edges", b"1 2 {" + b"(" * 9000 + b"}\n", r", line 1: .* is not a dictionary of plain data"),
    (
        "a.edges",
        b"1 2 {'a': '" + b"x" * 20000 + b"'}\n",
        r", line 1: .* is not a dictionary of plain",
    ),
    ("a.adjlist", b"# x\n\n# y\n", r": holds nothing but comments; "),
    ("a.adjlist", b"a b\nb c\nc b\n", r", line 2: 'b' and 'c' are linked in both directions, but "),
    ("a.adjlist", b"a b\n" + b"x" * 2000 + b" c\n", r", line 2: a huge name"),
    # parquet
    ("a.parquet", b"PAR1 and so on", r": is not a valid parquet file .*; "),
    ("a.parquet", PARQUET[: len(PARQUET) // 2], r": is not a valid parquet file .*; "),
    ("a.parquet", parquet(a=["x"]), r": 1 columns, none called source or target; "),
    ("a.parquet", parquet(source=["x"], target=[None]), r": the column 'target' has rows without "),
    ("a.parquet", parquet(source=[1], target=[-1]), r": an id is negative; "),
    ("a.parquet", parquet(source=[""][:0], target=[""][:0]), r": columns, but no edges in them; "),
    ("a.parquet", parquet(source=["x"], target=["y"], weight=["z"]), r": .*'weight' holds .*; "),
    (
        "a.parquet",
        parquet(source=np.zeros(10**7, np.int8), target=np.zeros(10**7, np.int8)),
        r": announces 10000000 x 2 entries in a file",
    ),
    # CLUTO
    ("a.mat", b"MATLAB 5.0 MAT-file, and so on", r": is a MATLAB file, not a CLUTO matrix; "),
    ("a.mat", b"a b c\n", r", line 1: the first line of a CLUTO matrix says "),
    ("a.mat", b"2 2 2 2\n\n\n", r", line 1: the first line of a CLUTO matrix says "),
    ("a.mat", b"-2 2 2\n\n\n", r", line 1: the first line of a CLUTO matrix says "),
    ("a.mat", b"2 2 1\n2 1\n", r", line 1: the first line announces 2 rows, but 1 follow; "),
    ("a.mat", b"2 2 1\n2 1\n1\n", r", line 3: 1 values, but a row is made of pairs"),
    ("a.mat", b"2 2 2\n2 1\n1 x\n", r", line 3: 'x' is not a number; "),
    ("a.mat", b"2 2 2\n2 1\n3 1\n", r", line 3: 3 is not a column: they are numbered 1 to 2; "),
    ("a.mat", b"2 2 2\n\n0 1 1 1\n", r", line 3: 0 is not a column: they are numbered 1 to 2; "),
    ("a.mat", b"2 2 2\n-1 1\n1 1\n", r", line 2: -1 is not a column: they are numbered 1 to 2; "),
    ("a.mat", b"2 2 2\n1.5 1\n1 1\n", r", line 2: 1.5 is not a column: they are numbered 1 to 2; "),
    (
        "a.mat",
        b"2 2 5\n2 1\n1 1\n",
        r", line 1: the first line announces 5 nonzeros, but 2 follow",
    ),
    ("a.mat", b"2 2 2\n2 nan\n1 nan\n", r": no pair has a known value; "),
    ("a.mat", b"2 2\n0 1\n1\n", r", line 3: 1 values, but the first line announces 2 columns; "),
    ("a.mat", b"2 9999999999999 1\n2 1\n\n", r": announces 2 x 9999999999999 entries"),
    ("a.mat", b"9999999999999 2 1\n2 1\n\n", r": announces 9999999999999 x 2 entries"),
]


@pytest.mark.parametrize(("name", "data", "expected"), BAD)
def test_bad_file(tmp_path, name, data, expected):
    message = refused(tmp_path / name, data)
    assert re.search(expected, message), message


LAUGHS = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10))


@pytest.mark.parametrize(
    "doctype", [f'[<!ENTITY l0 "ha">{LAUGHS}]', 'SYSTEM "file:///etc/passwd"', "[]"]
)
def test_entities_are_refused(tmp_path, doctype):
    for root in ("graphml", "gexf"):
        text = f"<?xml version='1.0'?>\n<!DOCTYPE {root} {doctype}>\n<{root}>&l9;</{root}>"
        message = refused(tmp_path / f"a.{root}", text.encode())
        assert message.startswith(", line 2: document types and entities are not read; ")


@pytest.mark.parametrize(
    ("edge", "expected"),
    [
        ('<edge source="a"/>', ", line 4: an edge without target; "),
        ('<edge source="a" target="c"/>', ", line 4: there is no node 'c'; "),
    ],
)
def test_edges_to_nowhere(tmp_path, edge, expected):
    nodes = '<node id="a"/>\n<node id="b"/>'
    text = f'<graphml><graph edgedefault="undirected">\n{nodes}\n{edge}\n</graph></graphml>'
    assert refused(tmp_path / "a.graphml", text.encode()).startswith(expected)


@pytest.mark.parametrize(
    ("ending", "lines", "expected"),
    [
        (".rclass", b"1\n2\n", ": has 2 lines, but a.mat needs 5; "),
        (".mat.rlabel", b"1\n2\n3\n4\n5\n6\n", ": has 6 lines, but a.mat needs 5; "),
        (".clabel", b"caf\xe9\n", ", line 1: byte 4 (0xe9) is not UTF-8; "),
    ],
)
def test_bad_files_beside_a_matrix(tmp_path, ending, lines, expected):
    path, other = tmp_path / "a.mat", tmp_path / f"a{ending}"
    path.write_bytes(WITHOUT_NAMES["sparse.mat"])
    other.write_bytes(lines)
    with pytest.raises(io.InputError) as caught:
        io.read(path)
    assert str(caught.value).startswith(f"{other}{expected}")


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.gml", WITH_NAMES["graph.gml"], ""),
        ("a.csv", b"Source,Target,Weight\na,b,1\nc,d,1\n", "its first line says 'Source' and"),
        ("a.csv", b"Id,From,To,Type\n1,a,b,x\n2,c,d,x\n", "its first line says 'From' and 'To'"),
        ("a.csv", b"a,b\nb,c\nc,d\n", "2 names are in both columns"),
        ("a.edges", b"1 2 1\n2 3 1\n3 1 1\n", "3 names are in both columns"),
    ],
)
def test_a_graph_has_no_features(tmp_path, name, data, why):
    message = refused(tmp_path / name, data, features=True)
    assert why in message
    assert "and has no features; leave features out" in message


def test_features_must_be_finite(tmp_path):
    for name, data, expected in (
        ("a.csv", b"x,y,z,u\n1,2,3,4\n1,2,nan,4\n", "row '1', column 'z' is nan; "),
        ("a.edges", b"d,v,1\nd,w,inf\n", "row 'd', column 'w' is inf; "),
        ("a.npy", saved(lambda f: np.save(f, [[1, 2], [3, -np.inf]])), "row '1', column '1' is -"),
    ):
        assert f"the value in {expected}" in refused(tmp_path / name, data, features=True)


def test_without_networkx(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    message = refused(tmp_path / "a.gml", WITH_NAMES["graph.gml"])
    assert "pip install 'odsymnmf[graphs]'" in message


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [("pandas", "a.csv", "cli"), ("pyarrow", "a.parquet", "parquet")],
)
def test_without_a_package(tmp_path, monkeypatch, package, name, extra):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    message = refused(tmp_path / name, SOUND[name])
    assert f"needs {package}; install it with pip install 'odsymnmf[{extra}]'" in message


def test_wrong_options(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(joined([("a", "b")]))
    with pytest.raises(ValueError, match=r"format must be one of edges, adjlist, .*; got 'excel'"):
        io.read(path, format="excel")
    with pytest.raises(ValueError, match="symmetrize must be one of max, mean, sum; got 'min'"):
        io.read(path, symmetrize="min")
