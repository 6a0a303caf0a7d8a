"""What a file is: a list or a table, its names and classes, or items with features."""

import networkx
import numpy as np
import pytest
from io_files import NAMES, WITHOUT_NAMES, A, graph, joined, saved, values
from scipy import sparse
from scipy.io import mmwrite

from odsymnmf import io

HEADERLESS = "no header found: the first line is an edge"
UNWEIGHTED = "no weights found: every edge has weight 1"
# --- what a text file is ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "format", "names"),
    [
        ("a,b\n", "edges", ["a", "b"]),
        ("5 7\n", "edges", ["5", "7"]),
        ("0 1\n1 0\n", "edges", ["0", "1"]),
        ("10 9\n9 2\n", "edges", ["2", "9", "10"]),
        ("07 7\n", "edges", ["07", "7"]),
        ("1e3 -5.5\n", "edges", ["1e3", "-5.5"]),
        ("from to\nx 1\n", "edges", ["x", "1"]),
        ("u v\n3 1\n", "edges", ["1", "3"]),
        ("u,v,how much\nx,y,1\n", "edges", ["x", "y"]),
        ("1,2,3\n4,5,6\n", "edges", ["1", "2", "4", "5"]),
        ("1,2,3\n2,3,4\n3,4,6\n1,5,6\n", "edges", ["1", "2", "3", "4", "5"]),
        ("12345678901234567890 1\n", "edges", ["12345678901234567890", "1"]),
        ("1000000000000 1\n", "edges", ["1", "1000000000000"]),
        ('"a ""b"" c" "#d"\n', "edges", ['a "b" c', "#d"]),
        ('"a\nb",c\n', "edges", ["a b", "c"]),
        ("é,日本\n", "edges", ["é", "日本"]),
        ("1 2 3\n2 1 4\n3 4 1\n", "table", ["0", "1", "2"]),
        (",p,q\np,0,1\nq,1,0\n", "table", ["p", "q"]),
        ("name\tp\tq\np\t0\t1\nq\t1\t0\n", "table", ["p", "q"]),
        (",7,8\n7,0,1\n8,1,0\n", "table", ["7", "8"]),
        ("0 1 2 3\n1 0 2 3\n2 2 0 3\n3 3 3 0\n", "table", ["0", "1", "2", "3"]),
        ("5\n", "table", ["0"]),
        (",p\np,1\n", "table", ["p"]),
        ("a,b\nb,c\n", "edges", ["a", "b", "c"]),
    ],
)
def test_text(read, text, format, names):
    items = read(text, "a.txt")
    assert (items.format, items.names) == (format, names)


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("source,target,weight,date\nb,a,2,x\nc,b,.5,y\n", ["columns left out: 'date'"]),
        ("weight,source,target\n2,b,a\n.5,c,b\n", []),
        ("Target,Source,Weight\na,b,2\nb,c,.5\n", []),
        (",source,target,weight\n0,b,a,2\n1,c,b,.5\n", []),
        ('"from" "to" "weight"\n"1" "b" "a" 2\n"2" "c" "b" .5\n', []),
        (
            "Source,Target,Type,Id,Label,timeset,Weight\n"
            "b,a,Undirected,0,,,2\nc,b,Undirected,1,,,.5\n",
            ["columns left out: 'Id', 'Label', 'timeset'"],
        ),
    ],
)
@pytest.mark.parametrize("format", [None, "edges"])
def test_edges_among_other_columns(read, text, notes, format):
    items = read(text, format=format)
    assert (items.names, items.notes) == (["b", "a", "c"], notes)
    assert values(items) == [[0, 2, 0.5], [2, 0, 0], [0.5, 0, 0]]


def test_many_other_columns_are_counted(read):
    others = ",".join(f"c{k}" for k in range(20))
    items = read(f"source,target,{others}\na,b{',' * 20}\n")
    assert items.notes[0].endswith("'c6', 'c7' and 12 more")
    assert items.notes[1] == UNWEIGHTED


def test_a_table_of_words_that_look_like_a_header(read):
    items = read("name,from,to,a\nfrom,0,1,2\nto,1,0,3\na,2,3,0\n")
    assert (items.format, items.names) == ("table", ["from", "to", "a"])


def test_edges_of_type_directed(read):
    text = "Source,Target,Type\na,b,Directed\n"
    with pytest.raises(io.InputError, match=r"says Directed, and 1 pair is .*; choose how"):
        read(text)
    assert values(read(text, symmetrize="max")) == [[0, 1], [1, 0]]
    assert values(read(f"{text}b,a,Directed\n")) == [[0, 1], [1, 0]]
    items = read(text.replace("Directed", "friend"))
    assert (values(items), items.notes[0]) == ([[0, 1], [1, 0]], "columns left out: 'Type'")


def test_names_in_quotes_keep_their_blanks(read):
    expected = ["  padded ", "b", " b", "c, d "]
    for text in (
        '# a "\n"  padded ",b , 1\nb , " b",2\n" b", "c, d ",3\n',
        '# a "\n"  padded " b 1\nb  " b" 2\n" b" "c, d "  3\n',
        '"source" "target" "weight"\n"  padded " "b" 1\n"b" " b" 2\n" b" "c, d " 3\n',
    ):
        assert read(text).names == expected


def test_the_same_text_as_list_and_as_table(read):
    text = "0 3\n3 0\n"
    assert values(read(text, format="table")) == [[0, 3], [3, 0]]
    assert read(text, format="edges").names == ["0", "3"]
    assert values(read("a,1\nb,2\n", format="table", features=True)) == [[1], [2]]


@pytest.mark.parametrize("name", ["general.mtx", "csr.npz", "array.npy"])
def test_content_beats_the_name(read, name):
    assert values(read(WITHOUT_NAMES[name], "misnamed.txt")) == A.tolist()


def test_content_of_graphs_beats_the_name(read):
    for write, format in [(networkx.generate_graphml, "graphml"), (networkx.generate_gml, "gml")]:
        items = read("# \n" * (format == "gml") + "\n".join(write(graph())), "misnamed.txt")
        assert (items.format, items.names) == (format, NAMES)


def test_float32_is_kept(read):
    data = saved(lambda f: np.save(f, A.astype(np.float32)))
    assert read(data, "a.npy").matrix.dtype == np.float32
    for dtype in (bool, np.int16, np.float16, ">f8"):
        data = saved(lambda f, dtype=dtype: np.save(f, abs(A).astype(dtype)))
        matrix = read(data, "a.npy").matrix
        assert matrix.dtype == (np.float32 if dtype == np.float16 else np.float64)
        np.testing.assert_array_equal(matrix, abs(A).astype(dtype))


def test_a_dense_matrix_is_the_users_to_change(read):
    assert read(WITHOUT_NAMES["array.npy"], "a.npy").matrix.flags.writeable


# --- names and classes -----------------------------------------------------------------------


def test_labels_of_nodes(read):
    G = networkx.Graph()
    G.add_node("n0", name="Ann")
    G.add_node("n1", name="Bob")
    G.add_edge("n0", "n1", value=2)
    items = read("\n".join(networkx.generate_graphml(G)), "a.graphml")
    assert (items.names, values(items)) == (["Ann", "Bob"], [[0, 2], [2, 0]])
    G.nodes["n1"]["name"] = "Ann"
    assert read("\n".join(networkx.generate_graphml(G)), "a.graphml").names == ["n0", "n1"]


def test_gml_with_plain_accents(read):
    text = (
        'graph [ node [ id 0 label "é&amp;" ] node [ id 1 label "b" ] edge [ source 0 target 1 ] ]'
    )
    assert read(text, "a.gml").names == ["é&", "b"]


def test_an_edge_without_weight_among_others(read):
    G = networkx.Graph([("a", "b"), ("b", "c", {"weight": 2})])
    with pytest.raises(io.InputError, match="the weight of 'a' to 'b' is 'None'; give every"):
        read("\n".join(networkx.generate_graphml(G)), "a.graphml")


@pytest.mark.parametrize("stem", ["a.mat", "a"])
def test_files_beside_a_cluto_matrix(read, tmp_path, stem):
    (tmp_path / f"{stem}.rclass").write_text("x\nx\ny\ny\nx\n")
    (tmp_path / f"{stem}.rlabel").write_text("".join(f"{name}\n" for name in NAMES))
    (tmp_path / f"{stem}.clabel").write_bytes(b"v\r\nw\r\nx\r\ny\r\nz\r\n")
    items = read(WITHOUT_NAMES["sparse.mat"], "a.mat", features=True)
    assert items.names == NAMES
    assert items.features == ["v", "w", "x", "y", "z"]
    assert items.truth.tolist() == ["x", "x", "y", "y", "x"]
    (tmp_path / f"{stem}.rclass").write_text("0\n1\n-1\n1\n0")
    assert read(WITHOUT_NAMES["sparse.mat"], "a.mat").truth.tolist() == [0, 1, -1, 1, 0]


def test_names_that_occur_twice_are_told(read, tmp_path):
    (tmp_path / "a.rlabel").write_text("a\nb\na\nd\ne\n")
    assert "some items have the same name" in read(WITHOUT_NAMES["full.mat"], "a.mat").notes


# --- items x features ------------------------------------------------------------------------

X = [[1.0, 0.0, 2.5], [0.0, -1.0, 0.0]]


@pytest.mark.parametrize(
    ("name", "data", "names", "columns"),
    [
        ("a.csv", joined([("", *"uvw"), ("a", *X[0]), ("b", *X[1])]), ["a", "b"], ["u", "v", "w"]),
        ("a.csv", joined([("id", *"uvw"), (7, *X[0]), (8, *X[1])]), ["7", "8"], ["u", "v", "w"]),
        ("a.csv", joined([("a", *X[0]), ("b", *X[1])]), ["a", "b"], None),
        ("a.csv", joined(X), ["0", "1"], None),
        ("a.csv", joined(["uvw", *X]), ["0", "1"], ["u", "v", "w"]),
        ("a.csv", b"a,u,1\na,v,0\na,w,2\na,w,.5\nb,v,-1\n", ["a", "b"], ["u", "v", "w"]),
        ("a.mtx", saved(lambda f: mmwrite(f, sparse.coo_array(X))), ["0", "1"], None),
        ("a.npy", saved(lambda f: np.save(f, X)), ["0", "1"], None),
        ("a.npz", saved(lambda f: sparse.save_npz(f, sparse.csc_array(X))), ["0", "1"], None),
        ("a.mat", b"2 3 3\n1 1 3 2.5\n2 -1\n", ["0", "1"], None),
        ("a.mat", b"2 3\n1 0 2.5\n0 -1 0\n", ["0", "1"], None),
    ],
)
def test_features(read, name, data, names, columns):
    items = read(data, name, features=True)
    assert values(items) == X
    assert (items.names, items.features) == (names, columns)


TRIPLES = "rows are the names of the first column, columns those of the second"


def test_items_features_and_values_as_a_list(read):
    assert TRIPLES in read("a,u,1\nb,v,2\n", features=True).notes
    # Ids overlap, but the header says what they are, or the user.
    items = read("document,word,count\n1,1,1\n2,2,2\n", features=True)
    assert (values(items), items.notes) == ([[1, 0], [0, 2]], [TRIPLES])
    assert read("document,word\nd,e\n", features=True).names == ["d"]
    items = read("source,target\na,b\nb,c\n", features=True, format="edges")
    assert (items.names, items.features) == (["a", "b"], ["b", "c"])
    assert TRIPLES in items.notes


@pytest.mark.parametrize(
    ("name", "data", "shape"),
    [
        ("a.csv", b"4.5\n", (1, 1)),
        ("a.csv", b"1,2,3,4\n", (1, 4)),
        ("a.csv", b"1.5,2.5\n", (1, 2)),
        ("a.mat", b"1 2 1\n2 1\n", (1, 2)),
        ("a.npy", saved(lambda f: np.save(f, [[1.0]])), (1, 1)),
    ],
)
def test_one_row_of_features(read, name, data, shape):
    assert read(data, name, features=True).matrix.shape == shape


@pytest.mark.parametrize("name", ["a.npy", "a.csv", "a.mat", "a.mtx", "a.graphml"])
def test_a_single_item(read, name):
    one = networkx.Graph()
    one.add_node("x")
    data = {
        "a.npy": saved(lambda f: np.save(f, [[1.0]])),
        "a.csv": b"x,x\n",
        "a.mat": b"1 1 0\n\n",
        "a.mtx": b"%%MatrixMarket matrix coordinate pattern symmetric\n1 1 0\n",
        "a.graphml": "\n".join(networkx.generate_graphml(one)).encode(),
    }[name]
    assert values(read(data, name)) == [[0]]
