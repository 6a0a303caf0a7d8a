"""Which way edges point, what is summed and left out, what a file is taken for, and who is told."""

import networkx
import numpy as np
import pytest
from io_files import EDGES, NAMES, WITHOUT_NAMES, A, graph, joined, saved
from scipy import sparse
from scipy.io import mmwrite

from odsymnmf import io

HEADERLESS = "no header found: the first line is an edge"
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
    "a.csv": joined([("0", "1", 4), ("1", "0", 1), ("1", "2", 2)]),
    "a.txt": joined([("x", "y", "z"), *DIRECTED.tolist()], " "),
    "a.mtx": saved(lambda f: mmwrite(f, sparse.coo_array(DIRECTED), symmetry="general")),
    "a.npy": saved(lambda f: np.save(f, DIRECTED)),
    "a.npz": saved(lambda f: sparse.save_npz(f, sparse.csr_array(DIRECTED))),
    "a.graphml": "\n".join(networkx.generate_graphml(ONE_WAY)).encode(),
    "a.gml": "\n".join(networkx.generate_gml(ONE_WAY)).encode(),
    "a.mat": b"3 3\n0 4 0\n1 0 2\n0 0 0\n",
}


@pytest.fixture
def read(tmp_path):
    def write_and_read(data, name="a.csv", **options):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return io.read(path, **options)

    return write_and_read


def values(items):
    matrix = items.matrix
    return (matrix.toarray() if sparse.issparse(matrix) else matrix).tolist()


# --- directions ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DIRECTED_FILES)
def test_directed_is_refused_with_the_remedy(read, name):
    remedy = r'; choose how to make it symmetric: symmetrize="max", "mean" or "sum"$'
    options = {"format": "table"} if name == "a.txt" else {}
    with pytest.raises(io.InputError, match=remedy) as caught:
        read(DIRECTED_FILES[name], name, **options)
    # The command line names its own options.
    how = "; choose how to make it symmetric: --symmetrize max|mean|sum"
    problem = str(caught.value).partition("; ")[0]
    assert caught.value.command_line == problem + how
    if name not in ("a.csv", "a.txt"):
        assert "'0' to '1' is 4, but '1' to '0' is 1 (the largest" in str(caught.value)


@pytest.mark.parametrize("how", EXPECTED)
@pytest.mark.parametrize("name", DIRECTED_FILES)
def test_symmetrize(read, name, how):
    options = {"format": "table"} if name == "a.txt" else {}
    items = read(DIRECTED_FILES[name], name, symmetrize=how, **options)
    assert values(items) == EXPECTED[how]
    assert f"made symmetric: the {how} of both directions" in items.notes


@pytest.mark.parametrize("how", [None, *EXPECTED])
def test_what_is_symmetric_stays(read, how):
    for text in ("a,b,4\nb,c,-2\n", "a,b,4\nb,a,4\nb,c,-2\nc,b,-2\n"):
        items = read(text, symmetrize=how)
        assert values(items) == [[0, 4, 0], [4, 0, -2], [0, -2, 0]]
        assert items.notes == [HEADERLESS]


def test_a_mixture_of_one_and_both_directions(read):
    problem = (
        r"line 3: 'b' and 'c' are linked in both directions, but {} in one only: the graph may "
    )
    with pytest.raises(io.InputError, match=problem.format("1 other pair")):
        read("# x\na,b,1\nb,c,1\nc,b,1\n")
    with pytest.raises(io.InputError, match=problem.format("2 other pairs")):
        read("# x\na,b,1\nb,c,1\nc,b,1\nc,d,1\n")


def test_weights_that_cancel_or_are_zero_are_given_all_the_same(read):
    for one, other in ((1, -1), (0, 1), (1, 0)):
        with pytest.raises(io.InputError, match="'a' to 'b' is"):
            read(f"a,b,{one}\nb,a,{other}\n")
        with pytest.raises(io.InputError, match="linked in both directions"):
            read(f"a,b,{one}\nb,a,{other}\nc,d,1\n")


def test_differences_of_rounding_are_averaged(read):
    items = read("a,b,0.1\nb,a,0.10000000001\n")
    assert items.matrix[0, 1] == items.matrix[1, 0] == pytest.approx(0.1)
    assert items.notes == [HEADERLESS]


def test_a_directed_graph_with_equal_weights_both_ways(read):
    both = graph(networkx.DiGraph)
    both.add_weighted_edges_from((b, a, w) for a, b, w in EDGES)
    text = "\n".join(networkx.generate_graphml(both))
    np.testing.assert_array_equal(values(read(text, "a.graphml")), A)


def test_huge_weights_have_a_mean(read):
    assert values(read("a,b,1e308\nb,a,1.6e308\n", symmetrize="mean"))[0][1] == 1.3e308
    with pytest.raises(io.InputError, match="is inf"):
        read("a,b,1e308\nb,a,1.6e308\n", symmetrize="sum")


# --- repeated edges, loops, the diagonal -----------------------------------------------------


def test_repeated_edges_are_summed(read):
    items = read("a,b,1\nb,c,2\na,b,3\na,b,0.5\n")
    assert values(items) == [[0, 4.5, 0], [4.5, 0, 2], [0, 2, 0]]
    told = "2 edges were given more than once: weights are summed (for example 'a' to 'b')"
    assert items.notes == [HEADERLESS, told]


@pytest.mark.parametrize("name", ["a.graphml", "a.gml"])
def test_parallel_edges_are_summed(read, name):
    several = networkx.MultiGraph([("a", "b"), ("a", "b"), ("b", "a"), ("b", "c")])
    write = networkx.generate_graphml if name == "a.graphml" else networkx.generate_gml
    items = read("\n".join(write(several)), name)
    assert values(items) == [[0, 3, 0], [3, 0, 1], [0, 1, 0]]
    told = "2 edges were given more than once: weights are summed (for example 'a' to 'b')"
    assert items.notes == [UNWEIGHTED, told]


def test_edges_twice_in_a_gml_file_that_does_not_say_multigraph(read):
    nodes = 'node [ id 0 label "a" ] node [ id 1 label "b" ]'
    items = read(
        f"graph [ {nodes} edge [ source 0 target 1 ] edge [ source 1 target 0 ] ]", "a.gml"
    )
    assert values(items) == [[0, 2], [2, 0]]


def test_entries_twice(read):
    header = "%%MatrixMarket matrix coordinate integer symmetric\n"
    items = read(f"{header}2 2 2\n2 1 1\n2 1 2\n", "a.mtx")
    assert values(items) == [[0, 3], [3, 0]]
    assert items.notes == ["2 entries were given more than once: their values are summed"]
    items = read("2 2 3\n2 1 2 2\n1 3\n", "a.mat")
    assert values(items) == [[0, 3], [3, 0]]
    assert items.notes == ["1 entries were given more than once: their values are summed"]


def test_loops_are_left_out_but_their_items_stay(read):
    items = read("a,a,nan\nb,c,1\n")
    assert items.names == ["a", "b", "c"]
    assert values(items) == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert items.notes == [HEADERLESS, "1 self-loop is left out"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b"x,y,z\nnan,1,1\n1,5,1\n1,1,inf\n"),
        ("a.npy", saved(lambda f: np.save(f, [[np.nan, 1, 1], [1, 5, 1], [1, 1, np.inf]]))),
        ("a.mat", b"3 3 8\n1 nan 2 1 3 1\n1 1 3 1\n1 1 2 1 3 inf\n"),
    ],
)
def test_the_diagonal_is_left_out(read, name, data):
    items = read(data, name)
    assert values(items) == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert items.notes == ["the diagonal is ignored: its values are left out"]


@pytest.mark.parametrize("frame", ["{}\nx,{}\ny,{}\nz,{}", "{}\n{}\n{}\n{}"])
def test_an_empty_diagonal(read, frame):
    corner = "," * frame.startswith("{}\nx")
    items = read(frame.format(f"{corner}x,y,z", ",1,2", "1,,3.5", "2,3.5,"), format="table")
    assert (items.names, items.notes) == (["x", "y", "z"], [])
    assert values(items) == [[0, 1, 2], [1, 0, 3.5], [2, 3.5, 0]]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (",1,1,0\n1,,1,0\n1,1,,0\n0,0,0,\n", 4),
        (",.1,.2,.3\n.1,,1,0\n.2,1,,0\n.3,0,0,\n", 4),
        (",1,2,3\n1,,1,0\n2,1,,0\n3,0,0,\n", 3),
        (",.1,.2,.3\n.1,0,1,0\n.2,1,0,0\n.3,0,0,0\n", 3),
    ],
)
def test_numbers_beside_an_empty_corner(read, text, size):
    """Names, unless the diagonal is empty and they are decimals or not all different."""
    assert read(text).matrix.shape == (size, size)


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
        ("a.npy", saved(lambda f: np.save(f, UNKNOWN))),
        ("a.npz", saved(lambda f: sparse.save_npz(f, sparse.csr_array(np.array(UNKNOWN))))),
        ("a.mtx", saved(lambda f: mmwrite(f, np.array(UNKNOWN)))),
        ("a.mat", b"4 4\n9 1 nan nan\n1 0 2 nan\nnan 2 0 3\nnan nan 3 0\n"),
    ],
)
def test_pairs_without_a_value_are_unknown(read, name, data):
    items = read(data, name)
    np.testing.assert_array_equal(np.array(values(items)), UNKNOWN)
    assert "3 pairs are unknown (no value given)" in items.notes


@pytest.mark.parametrize("how", EXPECTED)
def test_what_one_direction_leaves_open_the_other_says(read, how):
    table = ",a,b,c\na,0,4,\nb,1,0,\nc,,2,0\n"
    expected = {"max": [4, 2], "mean": [2.5, 2], "sum": [5, 4]}[how]
    for text in (table, "a,b,4\nb,a,1\na,c,nan\nb,c,nan\nc,b,2\n"):
        items = read(text, symmetrize=how)
        found = np.array(values(items))
        np.testing.assert_array_equal(found, found.T)
        assert [found[0, 1], found[1, 2]] == expected
        assert np.isnan(found[0, 2])
        assert "1 pair is unknown (no value given)" in items.notes


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
