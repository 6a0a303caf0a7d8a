"""odsymnmf cluster --text: tables and lines of texts, the words that count, and top words."""

import json

import numpy as np
import pytest
from cli_problems import refused, rows, run
from sklearn.feature_extraction.text import TfidfVectorizer

import odsymnmf as od
from odsymnmf.cli import texts as cli_texts

SEA = ["ship", "sail", "wave", "captain", "harbour"]
FARM = ["cow", "plough", "field", "barn", "harvest"]


def texts(n=8):
    """Half about the sea, half about farms; every text says "the" and "weather"."""
    rng = np.random.default_rng(0)
    texts = []
    for i in range(n):
        words = rng.choice(SEA if i % 2 else FARM, 4, replace=False)
        texts.append(f"the {' '.join(words)} and the weather")
    return texts


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
    top = topics(folder)
    assert len(top) == 2
    assert all(words <= {*SEA} or words <= {*FARM} for words in top)
    assert top[0] | top[1] == {*SEA, *FARM}
    assert "top words" in result.stdout
    assert "plough" in result.stdout
    assert "plough" in (folder / "report.html").read_text(encoding="utf-8")
    assert json.loads((folder / "run.json").read_text())["words"]["stop_words"] == "english"


def test_top_words_are_those_of_the_library(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts()))
    assert run("cluster", path, "--lines", "-r", 2, "-o", tmp_path / "run").exit_code == 0
    vectorizer = TfidfVectorizer(stop_words="english", sublinear_tf=True)
    X = vectorizer.fit_transform(texts())
    H = od.load(tmp_path / "run/model.npz").membership_
    expected = od.memberships.top_features(H, X, vectorizer.get_feature_names_out())
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
    assert any(" " in phrase for phrase in shown("--ngrams", 2)[0])
    counts = {word: sum(word in text for text in texts()) for word in SEA + FARM}
    assert shown("--min-df", 2)[0] <= {word for word, n in counts.items() if n >= 2}


@pytest.mark.parametrize(("n", "few"), [(50, {}), (49, {"min_df": 1, "max_df": 1.0})])
def test_defaults_for_few_and_many_texts(tmp_path, n, few):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts(n)))
    used = cli_texts.read_texts([path], {"lines": True})[1]
    assert used == {"lines": True, **cli_texts.SETTINGS, **few}


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (None, ["--min-df", 9], [". Use a smaller --min-df"]),
        (None, ["--max-df", 1.5], ["max_df", "1.5"]),
        (None, ["--stop-words", "missing.txt"], ["missing.txt", "no such file"]),
        ("? 1\n?\n", [], ["2 texts contain no words"]),
    ],
)
def test_no_word_left(tmp_path, text, options, words):
    path = tmp_path / "texts.txt"
    path.write_text(text or "\n".join(texts()))
    result = run("cluster", path, "--lines", *options, "-r", 2, "-o", tmp_path / "run")
    refused(result, 1, *words)


def test_texts_without_words_among_others_are_named(tmp_path):
    path, folder = tmp_path / "texts.txt", tmp_path / "run"
    path.write_text("".join(f"{line}\n" for line in ["ship sail wave"] * 4 + ["? !"] * 4))
    result = run("cluster", path, "--lines", "-r", 1, "-o", folder)
    assert result.exit_code == 0
    note = "texts without any of the selected words, which will be in no cluster: "
    note += "'5', '6', '7' and 1 more"
    assert f"note: {note}\n" in result.stderr
    assert json.loads((folder / "run.json").read_text())["input"]["messages"] == [note]
    assert [row[1] for row in rows(folder / "labels.csv")[1:]] == ["0"] * 4 + ["-1"] * 4
