"""odsymnmf cluster --text: tables and lines of texts, the words that count, and top words."""

import csv
import json

import numpy as np
import pytest
from cli_problems import refused, run
from click.testing import CliRunner
from sklearn.feature_extraction.text import TfidfVectorizer

from odsymnmf import memberships
from odsymnmf.cli.app import app
from odsymnmf.cli.words import DEFAULTS, MANY, Words

SEA = ["ship", "sail", "wave", "captain", "harbour"]
FARM = ["cow", "plough", "field", "barn", "harvest"]


def texts(n=8):
    """Half about the sea, half about farms; every text says "the" and "weather"."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(n):
        words = rng.choice(SEA if i % 2 else FARM, 4, replace=False)
        found.append(f"the {' '.join(words)} and the weather")
    return found


def topics(folder):
    with open(folder / "topics.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    words = [[row["word"] for row in rows if row["cluster"] == str(l)] for l in range(2)]
    return [{word for word in topic if word != "weather"} for topic in words if topic]


@pytest.fixture(params=["csv", "tsv", "jsonl", "lines", "folder", "other column"])
def given(request, tmp_path):
    """The same texts in every form: the arguments that read them."""
    kind = request.param
    path = tmp_path / f"texts.{kind}"
    if kind == "folder":
        path.mkdir()
        for i, text in enumerate(texts()):
            (path / f"{i}.txt").write_text(text)
        return [path, "--text"]
    if kind == "lines":
        path.write_text("\n".join(texts()))
        return [path, "--lines"]
    if kind == "jsonl":
        path.write_text("\n".join(json.dumps({"id": i, "text": t}) for i, t in enumerate(texts())))
        return [path, "--text"]
    mark = "\t" if kind == "tsv" else ","
    column = "story" if kind == "other column" else "text"
    lines = [f"{i}{mark}{text}" for i, text in enumerate(texts())]
    path.write_text("\n".join([f"id{mark}{column}", *lines]))
    return [path, *(["--text-column", "story"] if kind == "other column" else ["--text"])]


def test_texts_of_every_form_have_topics(given, tmp_path):
    folder = tmp_path / "run"
    result = run("cluster", *given, "-r", 2, "-o", folder)
    assert result.exit_code == 0, result.stderr
    found = topics(folder)
    assert len(found) == 2
    assert all(words <= {*SEA} or words <= {*FARM} for words in found)
    assert found[0] | found[1] == {*SEA, *FARM}
    assert "top words" in result.stdout
    assert "plough" in result.stdout
    assert "plough" in (folder / "report.html").read_text(encoding="utf-8")
    assert json.loads((folder / "run.json").read_text())["words"]["stop_words"] == "english"


def test_top_words_are_those_of_the_library(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts()))
    assert run("cluster", path, "--lines", "-r", 2, "-o", tmp_path / "run").exit_code == 0
    count = TfidfVectorizer(stop_words="english", sublinear_tf=True)
    X = count.fit_transform(texts())
    with open(tmp_path / "run" / "membership.csv", newline="") as file:
        H = np.array([row[1:] for row in list(csv.reader(file))[1:]], dtype=float)
    expected = memberships.top_features(H, X, count.get_feature_names_out())
    with open(tmp_path / "run" / "topics.csv", newline="") as file:
        rows = [(word, float(weight)) for word, _, weight in list(csv.reader(file))[1:]]
    assert [word for word, _ in rows] == [word for words in expected for word, _ in words]


def test_words_are_chosen(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts()))
    leave = tmp_path / "leave.txt"
    leave.write_text("The and\nCAPTAIN isn't\n")

    def shown(*options):
        folder = tmp_path / "run"
        arguments = ["-r", 2, "-q", "--force", "-o", folder]
        result = run("cluster", path, "--lines", *options, *arguments)
        assert result.exit_code == 0, result.stderr
        return set.union(*topics(folder)), json.loads((folder / "run.json").read_text())["words"]

    words, used = shown("--stop-words", leave, "--max-df", "0.9")
    assert "captain" not in words
    chosen = {"stop_words": str(leave), "min_df": 1, "max_df": 0.9, "ngrams": 1}
    assert used == {"lines": True, **chosen}
    assert {*SEA} <= shown("--stop-words", "none")[0]
    phrases = shown("--ngrams", 2)[0]
    assert any(" " in phrase for phrase in phrases)
    counts = {word: sum(word in text for text in texts()) for word in SEA + FARM}
    least = sorted(counts.values())[5]
    assert shown("--min-df", least)[0] <= {w for w in counts if counts[w] >= least}


def test_defaults_for_few_and_many_texts():
    nothing = Words(True, None, False, None, None, None, None)
    assert nothing.settings(MANY) == DEFAULTS
    assert nothing.settings(MANY - 1) == {**DEFAULTS, "min_df": 1, "max_df": 1.0}
    assert Words(True, None, False, None, 5, None, None).settings(3)["min_df"] == 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--min-df", 2], "--min-df applies to texts"),
        (["--stop-words", "english"], "--stop-words applies to texts"),
        (["--lines", "--text-column", "a"], "exclude each other"),
        (["--lines", "--min-df", "two"], "neither a number of texts"),
        (["--lines", "--max-df", "1.5"], "neither a number of texts"),
        (["--lines", "--max-df", "0"], "neither a number of texts"),
        (["--lines", "--affinity", "rbf"], "--text compares by cosine"),
    ],
)
def test_bad_usage(tmp_path, arguments, words):
    path = tmp_path / "texts.csv"
    path.write_text("a,b\nc,d\n")
    arguments = ["cluster", path, "-r", 2, "-o", tmp_path / "run", *arguments]
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == 2
    assert words in result.stderr


def test_errors_name_options_not_arguments(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("a,b\nc,d\n")
    result = run("cluster", path, "--text", "-r", 2, "-o", tmp_path / "run")
    refused(result, 1, "which column holds the texts is not clear", "(--text-column)")
    path.write_text("x,y,1\ny,x,2\ny,z,1\n")
    result = run("cluster", path, "-r", 2, "-o", tmp_path / "run")
    refused(result, 1, "--symmetrize max|mean|sum")


def test_no_word_left(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts()))
    result = run("cluster", path, "--lines", "--min-df", 9, "-r", 2, "-o", tmp_path / "run")
    refused(result, 1, "is left", "smaller --min-df")
    missing = tmp_path / "missing.txt"
    result = run("cluster", path, "--lines", "--stop-words", missing, "-r", 2, "-o", tmp_path / "r")
    refused(result, 1, "missing.txt", "no such file")
