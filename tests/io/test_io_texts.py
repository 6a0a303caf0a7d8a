"""Folders of texts, and tables of labels."""

import gzip
import os

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


def test_a_folder_of_texts(folder):
    expected = ["a.txt", "b/two.txt", "c"], ["", "é two\nlines", "packed"]
    assert io.read_texts(folder) == expected
    assert io.read_texts(str(folder)) == expected
    assert io.read_texts([folder]) == expected


def test_a_list_of_texts(folder):
    names, texts = io.read_texts([folder / "c", folder / "b"])
    assert names == [(folder / "c").as_posix(), (folder / "b" / "two.txt").as_posix()]
    assert texts == ["packed", "é two\nlines"]


def test_bad_texts(folder, tmp_path):
    latin = folder / "d.txt"
    latin.write_bytes(b"one\ncaf\xe9")
    with pytest.raises(io.InputError) as caught:
        io.read_texts(folder)
    message = f"{latin}, line 2: byte 8 (0xe9) is not UTF-8; save the file as UTF-8"
    assert str(caught.value).startswith(message)
    latin.write_bytes(b"\x89PNG\r\n\0")
    with pytest.raises(io.InputError, match=r"d.txt: is not text; move it out of the folder, or"):
        io.read_texts(folder)
    latin.unlink()
    os.mkfifo(folder / "pipe")
    with pytest.raises(io.InputError, match="pipe or a device"):
        io.read_texts(folder)
    with pytest.raises(io.InputError, match="no such file"):
        io.read_texts(["missing.txt"])
    empty = tmp_path / "empty"
    empty.mkdir()
    for nothing in (empty, []):
        with pytest.raises(io.InputError, match="there are no text files; give"):
            io.read_texts(nothing)


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
        ("", ": is empty; "),
        ("name,cluster\n", ", line 1: a header, but no labels below it; "),
        ("a\nb\n", ", line 1: 1 columns; give two, name and cluster"),
        ("a,0\nb,1\na,1\n", ", line 3: 'a' is named a second time; "),
        ("a,0\nb,\n", ", line 2: a name or cluster is missing; "),
        ("a,0\n\0", ": is not text; give a csv file of names and clusters"),
        ("a,0\nb,1,1\n", ", line 2: 3 fields where the lines above have 2; "),
    ],
)
def test_bad_labels(tmp_path, text, expected):
    # What helps the other readers does not help here.
    with pytest.raises(io.InputError, match=r"is a folder; give the table in it, such as its lab"):
        io.read_labels(tmp_path)
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(io.InputError) as caught:
        io.read_labels(path)
    assert str(caught.value).startswith(f"{path}{expected}")
