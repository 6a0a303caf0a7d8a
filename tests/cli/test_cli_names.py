"""odsymnmf cluster: any name comes back as it was, and harms nothing on its way."""

import csv

import pytest
from cli_problems import run

from odsymnmf import io
from odsymnmf import runs as room


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


HARD_NAMES = [
    'a "quoted", name',
    "line\nbreak",
    "carriage\rreturn",
    "=HYPERLINK(1)",
    "-1",
    "Émile 東京 🙂",
    "tab\there",
    "a;b|c",
    "#hashtag",
    "% of all",
    " blank ",
    "'",
    "name",
]


def test_any_name_comes_back(tmp_path):
    found = [(name, i % 3 - 1, 0.5) for i, name in enumerate(HARD_NAMES)]
    room.write_table(tmp_path / "labels.csv", ["name", "cluster", "strength"], iter(found))
    assert [row[0] for row in rows(tmp_path / "labels.csv")[1:]] == HARD_NAMES
    # Our reader may take the blanks around and between words for one.
    labels = io.read_labels(tmp_path / "labels.csv").items()
    expected = [(name.split(), str(label)) for name, label, _ in found]
    assert [(name.split(), label) for name, label in labels] == expected


@pytest.mark.parametrize("mark", [";", "\t", " ", "#", '"', "|"])
def test_names_do_not_decide_on_the_delimiter(tmp_path, mark):
    names = [f"{mark}a{mark}{i}" for i in range(5)]
    found = iter([(name, 0, 0.5) for name in names])
    room.write_table(tmp_path / "labels.csv", ["name", "cluster", "strength"], found)
    found = io.read_labels(tmp_path / "labels.csv")
    assert [name.split() for name in found] == [name.split() for name in names]


def test_names_like_formulas_are_kept_and_said(tmp_path):
    path = tmp_path / "graph.csv"
    path.write_text("=1+1,-5\n-5,b\nb,=1+1\n+49x,b\n")
    result = run("cluster", path, "-r", 1, "-o", tmp_path / "run")
    assert "2 names look like formulas, such as '=1+1'" in result.stderr
    names = {row[0] for row in rows(tmp_path / "run" / "labels.csv")[1:]}
    assert names == {"=1+1", "-5", "b", "+49x"}


def test_names_cannot_command_the_terminal(tmp_path):
    path = tmp_path / "graph.csv"
    path.write_text("\x1b[2Ja,b\nb,c\n\x1b[2Ja,c\n")
    assert "\x1b" not in run("cluster", path, "-r", 1, "-o", tmp_path / "run").output
