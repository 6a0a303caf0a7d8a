"""Delimited text: edge lists and tables, headers and columns, features."""

import csv
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from io_files import delimited, values

from odsymnmf import io

NO_HEADER = "no header: the first row is an edge"
UNWEIGHTED = "no weights found: every edge has weight 1"
LINKS = "ann,bob\nbob,cid\nann,cid\ncid,dan\n"

# --- what a text is --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "format", "names"),
    [
        ("a,b\n", "edges", ["a", "b"]),
        ("0 1\n1 0\n", "edges", ["0", "1"]),
        ("10 9\n9 2\n", "edges", ["2", "9", "10"]),
        ("07 7\n", "edges", ["07", "7"]),
        ("7 8\n" * 30 + "8 007\n", "edges", ["7", "8", "007"]),
        ("7 8\n" * 30 + "8 x\n", "edges", ["7", "8", "x"]),
        ("0 1 2\n-inf 4 3\n", "edges", ["0", "1", "-inf", "4"]),
        ("1.0,2.0\n2.0,3\n", "edges", ["1.0", "2.0", "3"]),
        ("12345678901234567890 1\n", "edges", ["12345678901234567890", "1"]),
        ("1000000000000 1\n", "edges", ["1", "1000000000000"]),
        ('"a ""b"" c" "#d"\n', "edges", ['a "b" c', "#d"]),
        ("C#,100%\n100%,F#\n", "edges", ["C#", "100%", "F#"]),
        ("NA,None\nNone,nan\nnan,NA\n", "edges", ["NA", "None", "nan"]),
        ("é,日本\n", "edges", ["é", "日本"]),
        ("1 2 3\n2 1 4\n3 4 1\n", "table", ["0", "1", "2"]),
        ("ann bob cid\n1 .5 0\n.5 1 .2\n0 .2 1\n", "table", ["ann", "bob", "cid"]),
        (",p,q\np,0,1\nq,1,0\n", "table", ["p", "q"]),
        ("name\tp\tq\np\t0\t1\nq\t1\t0\n", "table", ["p", "q"]),
        (",1,2,3\n1,0,1,0\n2,1,0,0\n3,0,0,0\n", "table", ["1", "2", "3"]),
        ("1,2,3,4\n0,1,0,1\n1,0,0,1\n0,0,0,1\n1,1,1,0\n", "table", ["1", "2", "3", "4"]),
        ("8,0,1,0\n7,1,0,0\n6,0,0,0\n", "table", ["8", "7", "6"]),
        ("0 1 2 3\n1 0 2 3\n2 2 0 3\n3 3 3 0\n", "table", ["0", "1", "2", "3"]),
    ],
)
def test_recognition(read, text, format, names):
    dataset = read(text, "a.txt")
    assert (dataset.format, dataset.names) == (format, names)


WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=30
)


@given(st.lists(WORDS, unique=True, min_size=2, max_size=6), st.data())
def test_any_names_in_quotes(tmp_path_factory, names, data):
    pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1))
    weights = data.draw(st.lists(st.integers(1, 10**6), min_size=len(chosen)))
    rows = [(*pair, weight) for pair, weight in zip(chosen, weights, strict=False)]
    text = StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("u", "v", "w"), *rows])
    path = tmp_path_factory.mktemp("quotes") / "a.csv"
    path.write_bytes(text.getvalue().encode())
    dataset = io.read(path, header=True)
    expected = list(dict.fromkeys(name for pair in chosen for name in pair))
    if not all(name.isdecimal() for name in expected):
        assert dataset.names == expected
    for a, b, weight in rows:
        i, j = dataset.names.index(a), dataset.names.index(b)
        assert dataset.matrix[i, j] == dataset.matrix[j, i] == weight


# --- headers and columns ---------------------------------------------------------------------


HEADERS = "follower,followee id_1,id_2 u,v user,friend Parent,Child citing,cited i,j A,B"
HEADERS += " protein1,protein2 e-mail,e_mail Quelle,Ziel é,日本 1st,2nd"


@pytest.mark.parametrize("header", HEADERS.split())
@pytest.mark.parametrize("body", [LINKS, "1,2\n2,3\n1,3\n3,4\n"])
def test_headers_that_are_not_known(read, header, body):
    dataset, expected = read(f"{header}\n{body}"), read(body)
    assert (dataset.names, values(dataset)) == (expected.names, values(expected))
    source, target = header.split(",")
    assert dataset.messages[0] == f"the first row is taken as a header: {source!r}, {target!r}"
    assert expected.messages == [NO_HEADER, UNWEIGHTED]


@pytest.mark.parametrize(
    ("text", "n_items", "first"),
    [
        (LINKS, 4, NO_HEADER),
        ("zoe,ann\n" + LINKS, 5, NO_HEADER),  # one of two names occurs below
        ("5 7\n1 2\n", 4, NO_HEADER),
        ("ann,bob,2\ncid,dan,1\n", 4, NO_HEADER),
        ("ann,v,likes\nann,bob,3\nbob,cid,1\n", 3, "header: 'ann', 'v', 'likes'"),
        ("u,v\nann,7\nbob,8\n", 4, "header: 'u', 'v'"),
        ("from to\nx 1\n", 2, UNWEIGHTED),
    ],
)
def test_the_rule_for_headers(read, text, n_items, first):
    dataset = read(text)
    assert len(dataset.names) == n_items
    assert first in dataset.messages[0]


def test_a_header_by_argument(read):
    dataset = read(LINKS, header=True)
    assert (dataset.names, dataset.messages) == (["bob", "cid", "ann", "dan"], [UNWEIGHTED])
    dataset = read(f"u,v\n{LINKS}", header=False)
    assert (dataset.names[:2], dataset.messages) == (["u", "v"], [UNWEIGHTED])
    assert read("1,2\n2,3\n3,4\n", header=True).names == ["2", "3", "4"]
    table = "1,2,3,4\n0,1,0,1\n1,0,0,1\n0,0,0,1\n1,1,1,0\n"
    with pytest.raises(io.InputError, match="has 5 rows and 4 columns"):
        read(table, header=False, format="table", features=False)
    assert read(table, header=True, features=True).feature_names == ["1", "2", "3", "4"]


IGNORED = "columns ignored: {} (choose others with columns= or weight_column=)"
GUESSED = IGNORED.replace("choose", "edges link {}; choose")


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("source,target,weight,date\nb,a,2,x\nc,b,.5,y\n", [IGNORED.format("'date'")]),
        ("weight,source,target\n2,b,a\n.5,c,b\n", []),
        ("Target,Source,Weight\na,b,2\nb,c,.5\n", []),
        (",source,target,weight\n0,b,a,2\n1,c,b,.5\n", []),
        ('"from" "to" "weight"\n"1" "b" "a" 2\n"2" "c" "b" .5\n', []),
        ("node1,node2,strength\nb,a,2\nc,b,.5\n", ["the weights are in column 'strength'"]),
        ("u,v,weight\nb,a,2\nc,b,.5\n", ["the first row is taken as a header: 'u', 'v', 'weight'"]),
        (
            "Source,Target,Type,Id,Weight\nb,a,Undirected,0,2\nc,b,Undirected,1,.5\n",
            [IGNORED.format("'Id'")],
        ),
    ],
)
@pytest.mark.parametrize("format", [None, "edges"])
def test_columns_by_default(read, text, messages, format):
    dataset = read(text, format=format)
    assert (sorted(dataset.names), dataset.messages) == (["a", "b", "c"], messages)
    a, b, c = (dataset.names.index(name) for name in "abc")
    assert (dataset.matrix[a, b], dataset.matrix[b, c], dataset.matrix[a, c]) == (2, 0.5, 0)


@pytest.mark.parametrize(
    ("options", "weights"),
    [
        ({}, (1, 1)),
        ({"weight_column": "w"}, (2, 3)),
        ({"columns": ("u", "v", "w")}, (2, 3)),
        ({"columns": ["1", "2", "4"]}, (2019, 2020)),
        ({"columns": (2, 1), "weight_column": 3}, (2, 3)),
        ({"columns": ("u", "v")}, (1, 1)),
    ],
)
def test_columns_by_argument(read, options, weights):
    dataset = read("u,v,w,year\nann,bob,2,2019\nbob,cid,3,2020\n", **options)
    ann, bob, cid = (dataset.names.index(name) for name in ("ann", "bob", "cid"))
    assert (dataset.matrix[ann, bob], dataset.matrix[bob, cid]) == weights


def test_columns_of_texts_are_pointed_out(read):
    text = "It is a truth universally acknowledged that a man wants a wife"
    expected = "'text' seems to hold texts; read them with io.read_texts (--text)"
    for header, line in (("id,kind,text", f"a,x,{text}"), ("id,text", f"a,{text}")):
        assert expected in read(f"{header}\n{line}\n", "a.csv").messages
    assert not any("texts" in message for message in read("id,text\na,The Red Book\n").messages)


def test_ids_and_further_numbers_need_columns(read):
    text = "1,2,1,2019\n2,3,2,2020\n"
    with pytest.raises(io.InputError, match=r"has 2 rows and 4 columns .* list columns= "):
        read(text)
    dataset = read(text, columns=[1, 2, 3])
    assert values(dataset) == [[0, 1, 0], [1, 0, 2], [0, 2, 0]]
    assert dataset.messages == [NO_HEADER, GUESSED.format("'4'", "'1', '2'")]
    with pytest.raises(io.InputError, match="there is no column 'x'; it has '1', '2', '3', '4'"):
        read(text, columns=["x", "y"])
    with pytest.raises(io.InputError, match="must name source, target and maybe weight"):
        read(text, columns=["1"])


def test_edges_of_type_directed(read):
    text = "Source,Target,Type\na,b,Directed\n"
    with pytest.raises(io.InputError, match=r"'a' to 'b' is 1, but 'b' to 'a' is 0 .*; choose how"):
        read(text)
    assert values(read(text, symmetrize="max")) == [[0, 1], [1, 0]]
    assert values(read(f"{text}b,a,Directed\n")) == [[0, 1], [1, 0]]
    dataset = read(text.replace("Directed", "friend"))
    assert (values(dataset), dataset.messages[0]) == ([[0, 1], [1, 0]], IGNORED.format("'Type'"))


# --- items x features ------------------------------------------------------------------------

X = [[1.0, 0.0, 2.5], [0.0, -1.0, 0.0]]


@pytest.mark.parametrize(
    ("data", "names", "columns"),
    [
        (delimited([("", *"uvw"), ("a", *X[0]), ("b", *X[1])]), ["a", "b"], ["u", "v", "w"]),
        (delimited([("id", *"uvw"), (7, *X[0]), (8, *X[1])]), ["7", "8"], ["u", "v", "w"]),
        (delimited([("a", *X[0]), ("b", *X[1])]), ["a", "b"], None),
        (delimited(X), ["0", "1"], None),
        (delimited(["uvw", *X]), ["0", "1"], ["u", "v", "w"]),
        (b"a,u,1\na,v,0\na,w,2\na,w,.5\nb,v,-1\n", ["a", "b"], ["u", "v", "w"]),
    ],
)
def test_features(read, data, names, columns):
    dataset = read(data, features=True)
    assert values(dataset) == X
    assert (dataset.names, dataset.feature_names) == (names, columns)


def test_items_features_and_values_as_a_list(read):
    dataset = read("document,word\nd,e\nd,f\ng,f\n", features=True)
    assert (dataset.names, dataset.feature_names) == (["d", "g"], ["e", "f"])
    assert "rows are the names of the first column, columns those of the second" in dataset.messages
    with pytest.raises(io.InputError, match="is a graph, and has no features"):
        read("a,b,1\nb,c,1\n", features=True)
    dataset = read("a,b,1\nb,c,1\n", features=True, format="edges")
    assert (dataset.names, dataset.feature_names) == (["a", "b"], ["b", "c"])


@pytest.mark.parametrize(
    ("data", "shape"), [("4.5\n", (1, 1)), ("1,2,3,4\n", (1, 4)), ("1.5,2.5\n", (1, 2))]
)
def test_one_row_of_features(read, data, shape):
    assert read(data, features=True).matrix.shape == shape


def test_features_must_be_complete(read):
    with pytest.raises(io.InputError, match="line 2: '' is not a number"):
        read("id,u,v,w\na,1,,2\nb,1,1,2\n", features=True)
    with pytest.raises(io.InputError, match="the value of 'b' and 'v' is nan; replace it"):
        read("id,u,v,w\na,1,1,2\nb,1,nan,2\n", features=True)
