"""Folders of texts, and tables of labels."""

import gzip

import pytest

from odsymnmf import io


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "texts"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "two.txt").write_bytes("\ufeffé two\r\nlines".encode())
    (folder / "a.txt").write_bytes(b"")
    (folder / "c").write_bytes(gzip.compress(b"packed"))
    (folder / ".hidden").write_bytes(b"\xff")
    return folder


def test_folders_and_lists_of_texts(folder):
    expected = ["a.txt", "b/two.txt", "c"], ["", "é two\nlines", "packed"]
    assert io.read_texts(str(folder)) == io.read_texts([folder]) == expected
    names, texts = io.read_texts([folder / "c", folder / "b"])
    assert names == [(folder / "c").as_posix(), (folder / "b" / "two.txt").as_posix()]
    assert texts == ["packed", "é two\nlines"]


def test_bad_texts(folder, tmp_path):
    latin = folder / "d.txt"
    for data, problem in [
        (b"one\ncaf\xe9", r"is not UTF-8 \("),
        (b"\x89PNG\r\n\0", "is not text in UTF-8; give text files only"),
    ]:
        latin.write_bytes(data)
        with pytest.raises(io.InputError, match=rf"d.txt: {problem}"):
            io.read_texts(folder)
    with pytest.raises(io.InputError, match="no such file"):
        io.read_texts(["missing.txt"])
    (tmp_path / "empty").mkdir()
    for nothing in (tmp_path / "empty", []):
        with pytest.raises(ValueError, match="there are no text files; give"):
            io.read_texts(nothing)


NAMED = ["x1", "x2"], ["One, with\na line.", "Zwei é"]
NUMBERED = ["1", "2"], NAMED[1]
JSON = '{"id": "x1", "text": "One, with\\na line."}'


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", 'id,text\nx1,"One, with\na line."\nx2,Zwei é\n', NAMED),
        ("a.csv", 'year;Body;id\n1;"One, with\na line.";x\n2;Zwei é;x\n', NUMBERED),
        ("a.csv", 'Whatever\n"One, with\na line."\nZwei é\n', NUMBERED),
        ("a.tsv", '\ufefftitle\tabstract\r\nx1\t"One, with\na line."\r\nx2\tZwei é\r\n', NAMED),
        ("a.jsonl", JSON + '\n\n{"text": "Zwei é", "id": "x2"}', NAMED),
        ("a.ndjson", JSON.replace("id", "n") + '\n{"text": "Zwei \\u00e9"}\n', NUMBERED),
    ],
)
def test_tables_of_texts(tmp_path, name, text, expected):
    path = tmp_path / name
    path.write_text(text, newline="")
    assert io.read_texts(path) == io.read_texts([str(path)]) == expected
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert io.read_texts(packed) == expected


def test_a_column_by_name(tmp_path):
    path = tmp_path / "talks"
    path.write_text("speaker,text,more\nann,a,b\nbob,c,NA\n")
    assert io.read_texts(path, text_column="more") == (["1", "2"], ["b", "NA"])
    path.write_text('{"text": "a", "more": "b"}\n{"text": "c"}\n{"more": 5}\n')
    assert io.read_texts(path, text_column="more")[1] == ["b", "", "5"]
    with pytest.raises(io.InputError, match=r"called 'x'; .* one of 'text', 'more'"):
        io.read_texts(path, text_column="x")
    with pytest.raises(ValueError, match="2 files, but a table of texts is one; "):
        io.read_texts([path, path], text_column="x")


def test_lines_of_text(tmp_path):
    path = tmp_path / "tweets.csv"
    path.write_text("one, two\n\n  three \r\n")
    assert io.read_texts(path, lines=True) == (["1", "3"], ["one, two", "three"])
    with pytest.raises(ValueError, match="text_column and lines exclude each other"):
        io.read_texts(path, lines=True, text_column="x")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", "text,body\na,b\n", ": it is not clear which column holds texts; "),
        ("a.csv", "id,text\n", ": holds no texts; "),
        ("a.csv", "id,text\n1,a\n2,b,c\n", ": cannot be split into columns (Expected 2 fields in"),
        ("a.csv", "id,text\n1,a,b\n2,c\n", ": cannot be split into columns (Length of header or"),
        ("a.csv", 'id,text\n1,"a\n', ": cannot be split into columns (EOF inside string"),
        ("a.csv", " \n", ": is empty; "),
        ("a.jsonl", '{"text": "a"}\n[]\n', ", line 2: is not a JSON object ("),
    ],
)
def test_bad_tables_of_texts(tmp_path, name, text, expected):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(io.InputError) as caught:
        io.read_texts(path)
    assert str(caught.value).startswith(f"{path}{expected}")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "name,cluster,strength\nann,0,0.5\nbob b,-1,0\n",
        "name,cluster\nann,0\nbob b,-1\n",
        "ann\t0\nbob b\t-1\n",
        '"ann" 0\n"bob b" -1\n',
        "id;class\r\nann;0\r\nbob b;-1\r\n",
    ],
)
def test_labels(tmp_path, text):
    path = tmp_path / "labels.csv"
    path.write_text(text, newline="")
    assert io.read_labels(path) == {"ann": "0", "bob b": "-1"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,cluster\n", ": a header, but no labels below it; "),
        ("a\nb\n", ": 1 columns; give two, name and cluster"),
        ("a,0\nb,1\na,1\n", ", line 3: 'a' has no name or no cluster, or occurs a second time; "),
        ("a,0\nb,\n", ", line 2: 'b' has no name or no cluster"),
    ],
)
def test_bad_labels(tmp_path, text, expected):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(io.InputError) as caught:
        io.read_labels(path)
    assert str(caught.value).startswith(f"{path}{expected}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# two\nann bob\nbob cy\n", [["ann", "bob"], ["bob", "cy"]]),
        ('ann,"bob, b"\r\rbob,,cy\r', [["ann", "bob, b"], ["bob", "cy"]]),
        ("ann b\tbob\r\ncy\r\n", [["ann b", "bob"], ["cy"]]),
    ],
)
def test_covers(tmp_path, text, expected):
    path = tmp_path / "clusters.txt"
    path.write_text(text, newline="")
    assert io.read_cover(path) == expected
    path.write_text("# nothing\n")
    with pytest.raises(io.InputError, match="no clusters in it; give"):
        io.read_cover(path)
