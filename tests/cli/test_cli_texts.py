"""odsymnmf cluster --text: tables and lines of texts, the words that count, and top words."""

import json

import numpy as np
import pytest
from cli_problems import refused, rows, run
from sklearn.feature_extraction.text import TfidfVectorizer

from odsymnmf import memberships
from odsymnmf.cli import texts as module

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
    table = rows(folder / "topics.csv")[1:]
    words = [[word for word, cluster, _ in table if cluster == str(l)] for l in range(2)]
    return [{word for word in topic if word != "weather"} for topic in words if topic]


@pytest.fixture(params=["folder", "files", "lines", "column"])
def given(request, tmp_path):
    """The same texts in several forms: the arguments that read them."""
    path = tmp_path / "texts"
    if request.param == "lines":
        path.write_text("\n".join(texts()))
        return [path, "--lines"]
    if request.param == "column":
        path.write_text("\n".join(["id,story", *(f"{i},{t}" for i, t in enumerate(texts()))]))
        return [path, "--text-column", "story"]
    path.mkdir()
    for i, text in enumerate(texts()):
        (path / f"{i}.txt").write_text(text)
    return [*([path] if request.param == "folder" else sorted(path.iterdir())), "--text"]


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
    H = np.array([row[1:] for row in rows(tmp_path / "run/membership.csv")[1:]], dtype=float)
    expected = memberships.top_features(H, X, count.get_feature_names_out())
    words = [row[0] for row in rows(tmp_path / "run/topics.csv")[1:]]
    assert words == [word for topic in expected for word, _ in topic]


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


def test_defaults_for_few_and_many_texts(tmp_path):
    path = tmp_path / "texts.txt"
    for n, few in ((module.MANY, {}), (module.MANY - 1, {"min_df": 1, "max_df": 1.0})):
        path.write_text("\n".join(texts(n)))
        words = module.read_texts([path], {"lines": True})[1]
        assert words == {"lines": True, **module.SETTINGS, **few}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--min-df", 2], "--min-df applies to texts"),
        (["--stop-words", "english"], "--stop-words applies to texts"),
        (["--lines", "--text-column", "a"], "exclude each other"),
        (["--lines", "--min-df", "two"], "'two' is not of the form INTEGER|FLOAT"),
        (["--lines", "--affinity", "rbf"], "--text compares by cosine"),
    ],
)
def test_bad_usage(tmp_path, arguments, words):
    path = tmp_path / "texts.csv"
    path.write_text("a,b\nc,d\n")
    arguments = ["cluster", path, "-r", 2, "-o", tmp_path / "run", *arguments]
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_no_word_left(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts()))
    result = run("cluster", path, "--lines", "--min-df", 9, "-r", 2, "-o", tmp_path / "run")
    refused(result, 1, "smaller --min-df")
    result = run("cluster", path, "--lines", "--max-df", 1.5, "-r", 2, "-o", tmp_path / "run")
    refused(result, 1, "max_df", "1.5")
    missing = tmp_path / "missing.txt"
    result = run("cluster", path, "--lines", "--stop-words", missing, "-r", 2, "-o", tmp_path / "r")
    refused(result, 1, "missing.txt", "no such file")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("? 1")
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    result = run("cluster", *files, "--text", "-r", 1, "-o", tmp_path / "run")
    refused(result, 1, "2 texts contain no words")


def test_texts_without_words_among_others_are_named(tmp_path):
    letters = tmp_path / "letters"
    letters.mkdir()
    for i in range(4):
        (letters / f"sea{i}.txt").write_text("ship sail wave")
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (letters / name).write_text("" if name == "a.txt" else "? !")
    folder = tmp_path / "run"
    result = run("cluster", letters, "--text", "-r", 1, "-o", folder)
    assert result.exit_code == 0
    note = "texts without any of the words that are used, which will be in no cluster: "
    note += "'a.txt', 'b.txt', 'c.txt' and 1 more"
    assert f"note: {note}\n" in result.stderr
    assert json.loads((folder / "run.json").read_text())["input"]["messages"] == [note]
    assert [row[1] for row in rows(folder / "labels.csv")[1:]] == ["-1"] * 4 + ["0"] * 4
