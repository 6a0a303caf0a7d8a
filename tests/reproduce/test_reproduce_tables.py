"""Tiny versions of every table and figure, and the numbers that theory fixes."""

import csv
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from odsymnmf import reproduce
from odsymnmf.reproduce import (
    document_sets,
    figure_adversarial_noise,
    figure_init,
    figure_random_noise,
    growth,
    printed,
    starts,
    table_complexity,
    table_documents,
    table_noise,
)
from odsymnmf.reproduce.readings import METHODS, STARTS, Reading, accuracies
from odsymnmf.reproduce.writing import table

pytest.importorskip("matplotlib")


def run(name: str, out: Path, **options) -> list[dict[str, str]]:
    """Write one result, check that it is complete, and return the rows of its CSV."""
    reproduce.reproduce([name], out, **{"trials": 1, "n_jobs": 1, **options})
    assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    check_markdown((out / f"{name}.md").read_text())
    with (out / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def check_markdown(page: str) -> None:
    """See that every table has one number of columns, and that no place holder is left."""
    assert page.startswith("# ")
    assert not re.search(r"\{[a-z]*\}|nan", page)
    tables = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    assert tables
    for text in tables:
        lines = text.splitlines()
        assert re.fullmatch(r"(\|---)+\|", lines[1])
        assert len({line.count("|") for line in lines}) == 1


def test_without_noise_every_method_is_exact_and_l2_stays_at_zero() -> None:
    fits = [[method, start] for method in METHODS for start in ("zero", "greedy")]
    fits.append(["ours l1", "greedy"])
    for sizes in ([6, 6], [7, 5, 4]):
        found = accuracies("cliques", [sizes, 0.0], 0, 0, fits, asdict(Reading()))
        r = len(sizes)
        assert found["raw"].pop("OD-l2 zero") == pytest.approx(1 - 1 / np.sqrt(r))
        found["raw"].pop("OD-l1 zero")  # the first column takes every item that it can
        assert list(found["raw"].values()) == pytest.approx([1] * len(found["raw"]), abs=2e-3)


def test_the_engine_ends_where_the_transcription_does_from_the_greedy_start() -> None:
    fits = [[method, "greedy"] for method in METHODS]
    for trial in range(3):
        problem = ("cliques", [[8, 7, 6], 0.1], 0, trial, fits)
        columns = accuracies(*problem, asdict(Reading()))["raw"]
        rows = accuracies(*problem, asdict(Reading(by="engine")))["raw"]
        assert rows == pytest.approx(columns, abs=0.02)


def test_a_choice_of_the_reading_changes_what_it_should() -> None:
    problem = ("cliques", [[6, 6], 0.1], 0, 0)
    zero = [["OD-l1", "zero"]]
    assert accuracies(*problem, zero, asdict(Reading(empty=0.0)))["raw"][
        "OD-l1 zero"
    ] == pytest.approx(1 - 1 / np.sqrt(2))
    random = [[method, "random"] for method in METHODS]
    scaled = accuracies(*problem, random, asdict(Reading()))
    assert scaled != accuracies(*problem, random, asdict(Reading(scaled=False)))


def test_table_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"2 balanced": [5, 5], "2 unbalanced": [6, 4]}
    monkeypatch.setattr(table_noise, "SIZES", sizes)
    monkeypatch.setattr(table_noise, "VARIED", "2 balanced")
    monkeypatch.setattr(table_noise, "NOISE", 0.0)
    rows = run("table-noise", tmp_path)
    assert len(rows) == 2 * (3 * 3 + 2)
    found = {(row["clusters"], row["start"], row["method"]): row for row in rows}
    assert found["2 balanced", "zero", "OD-l2"]["mean"] == "29.2893"
    greedy = [row for row in rows if row["start"] == "greedy"]
    assert all(float(row["mean"]) == pytest.approx(100, abs=0.2) for row in greedy)
    assert found["2 unbalanced", "random", "symNMF"]["paper"] == "88"
    page = (tmp_path / "table-noise.md").read_text()
    assert "| neither bound nor scaling |" in page
    assert "Greedy start, balanced: 1 of 3 within 2 points." in page  # the paper's has noise


def test_the_papers_noise_table_was_typed_in_as_its_text_describes_it() -> None:
    for sizes, by_start in printed.NOISE.items():
        assert set(by_start) == set(STARTS)
        l1, l2, sym = by_start["greedy"]
        assert l1 > max(l2, sym), sizes
        assert abs(l2 - sym) <= 1
        assert by_start["random"][0] < min(by_start["random"][1:])
    assert sum(by_start["zero"][1] in (29, 55, 68) for by_start in printed.NOISE.values()) == 5


def test_figure_random_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_random_noise, "SIZES", [6, 6, 6])
    monkeypatch.setattr(figure_random_noise, "NOISE", [0.0, 0.5])
    rows = run("figure-random-noise", tmp_path, trials=2)
    clean = [float(row["mean"]) for row in rows if row["noise"] == "0.0"]
    noisy = [float(row["mean"]) for row in rows if row["noise"] == "0.5"]
    assert clean == pytest.approx([100] * 4, abs=0.2)
    assert max(noisy) < 90
    page = (tmp_path / "figure-random-noise.md").read_text()
    assert "OD-l1 is above 90 % at 1 of the 1 levels up to 0.15" in page


def test_figure_adversarial_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_adversarial_noise, "SIZE", 6)
    monkeypatch.setattr(figure_adversarial_noise, "ISOLATED", 6)
    monkeypatch.setattr(figure_adversarial_noise, "CONNECTIONS", [0, 1, 2, 3, 6])
    rows = run("figure-adversarial-noise", tmp_path, trials=2)
    l1 = [float(row["mean"]) for row in rows if row["method"] == "OD-l1"]
    assert l1[:4] == [100] * 4  # up to half of a clique
    assert l1[4] < 60


def test_figure_init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_init, "SIZES", [8, 8])
    monkeypatch.setattr(figure_init, "NOISE", 0.1)
    rows = run("figure-init", tmp_path)
    for method in METHODS:
        for start in STARTS:
            curve = [row for row in rows if (row["method"], row["start"]) == (method, start)]
            values = [float(row["objective"]) for row in curve]
            seconds = [float(row["seconds"]) for row in curve]
            assert len(curve) >= 2
            assert values == sorted(values, reverse=True)
            assert seconds == sorted(seconds)
            assert values[-1] > 0


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Two sets of documents sorted by class; a class has words of its own, and all share one."""
    data = tmp_path / "data"
    (data / "documents").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name, classes in (("tr11", 3), ("la1", 2)):
        labels = np.repeat(np.arange(classes), 12)
        own = np.repeat(np.eye(classes), 5, axis=1)[labels] * rng.integers(1, 6, (len(labels), 1))
        X = np.hstack([own, np.ones((len(labels), 1))])
        sparse.save_npz(data / "documents" / f"{name}.npz", sparse.csr_matrix(X))
        np.save(data / "documents" / f"{name}_labels.npy", labels)
    return data


def test_table_documents(tmp_path: Path, documents: Path) -> None:
    rows = run("table-documents", tmp_path, data=documents)
    assert [(row["set"], row["method"]) for row in rows] == [
        (name, method) for name in ("la1", "tr11") for method in METHODS
    ]
    assert {row["accuracy, H"] for row in rows} == {"100.0"}
    assert {row["accuracy, unit columns"] for row in rows} == {"100.0"}
    assert rows[0]["paper"] == "40.61"
    assert rows[5]["paper"] == "59.66"
    page = (tmp_path / "table-documents.md").read_text()
    assert "| without words that every document has | 100.0" in page
    assert "without the words that every document has (la1, tr11)" not in page
    assert "without the words that every document has (tr11)" in page  # la1 is not tried more on
    assert "Not at hand in this run: classic, ohscal, hitech," in page
    assert str(documents) not in page
    assert (tmp_path / "table-documents-tried.csv").is_file()


def test_words_that_every_document_has_can_be_left_out(documents: Path) -> None:
    X, _ = document_sets.read(str(documents), "tr11")
    assert document_sets.weighted(X, "all") is X
    assert document_sets.weighted(X, "not in every document").shape[1] == X.shape[1] - 1
    idf = document_sets.weighted(X, "idf").toarray()
    assert not idf[:, -1].any()
    np.testing.assert_allclose(idf[:, :-1], X.toarray()[:, :-1] * np.log(3))


def test_labels_are_read_off_scaled_columns() -> None:
    H = np.array([[4.0, 1.0], [8.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    found = document_sets.read_labels(H)
    assert found["H"].tolist() == [0, 0, 1, -1]
    assert found["unit columns"].tolist() == [1, 0, 1, -1]
    assert found["H, zeros first"].tolist() == [0, 0, 1, 0]


def test_a_document_set_that_cannot_be_read_is_named(documents: Path, tmp_path: Path) -> None:
    (documents / "documents" / "la1.npz").write_bytes(b"not a zip file")
    with pytest.raises(ValueError, match=r"la1\.npz or its labels cannot be read"):
        reproduce.reproduce(["table-documents"], tmp_path, data=documents, n_jobs=1)
    np.save(documents / "documents" / "tr11_labels.npy", np.zeros(5, dtype=int))
    with pytest.raises(ValueError, match=r"tr11\.npz has 36 documents, but 5 labels"):
        document_sets.read(str(documents), "tr11")


def test_table_complexity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: growth.PAPER[name] for name in ("Algorithm 2, l2", "Algorithm 4, l1")}
    ours = {name: growth.OURS[name] for name in ("l1, full", "l1, sparse")}
    small = {"l1, sparse": 250, "Algorithm 2, l2": 50, "Algorithm 4, l1": 20, "l1, full": 50}
    for algorithms in (few, ours):
        for name, algorithm in algorithms.items():
            algorithms[name] = growth.Algorithm(**{**vars(algorithm), "n": small[name]})
    for module in (growth, table_complexity):
        monkeypatch.setattr(module, "PAPER", few)
        monkeypatch.setattr(module, "OURS", ours)
    monkeypatch.setattr(table_complexity, "STEPS", 3)
    rows = run("table-complexity", tmp_path)
    assert len(rows) == 3 * (4 + 4 + 4 + 3)

    def slope(algorithm: str, axis: str, what: str) -> float:
        chosen = [r for r in rows if (r["algorithm"], r["axis"]) == (algorithm, axis)]
        return growth.slope([float(r["x"]) for r in chosen], [float(r[what]) for r in chosen])

    # A in full takes n^2 numbers; stored entries take as many as there are.
    assert slope("Algorithm 2, l2", "n, full A", "bytes") > 1.5
    assert slope("l1, sparse", "n, sparse A", "bytes") == pytest.approx(1, abs=0.15)
    assert slope("Algorithm 4, l1", "n, full A", "seconds") > 0.7
    assert all(float(row["seconds"]) > 0 for row in rows)


def test_markdown_tables_have_a_rule_below_their_header() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert table_documents.printed_accuracy("tr11", "OD-l2") == 59.90


def test_starts(tmp_path: Path, documents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "SIZES", {"5 balanced": [5, 5], "10 balanced": [6, 4]})
    monkeypatch.setattr(starts, "NOISE", [0.0, 0.3])
    graphs = documents / "graphs"
    graphs.mkdir()
    groups = np.repeat([0, 1, -1], [6, 6, 1])
    A = sparse.block_diag([np.ones((6, 6)), np.ones((6, 6)), np.zeros((1, 1))], "csr")
    sparse.save_npz(graphs / "dolphins.npz", A)
    np.save(graphs / "dolphins_labels.npy", groups)
    rows = run("starts", tmp_path, data=documents)
    families = ["5 balanced"] * 2 + ["10 balanced"] * 2 + ["graphs"] + ["documents"] * 2
    assert [row["family"] for row in rows] == list(np.repeat(families, 2 * len(starts.FITS)))
    for row in rows:
        pair = [r for r in rows if r["loss"] == row["loss"] and r["start"] == row["start"]]
        one, other = (r for r in pair if (r["family"], r["data"]) == (row["family"], row["data"]))
        assert float(other["objective"]) <= 1e-9 + 1.000001 * float(one["objective"])
        if row["start"] == "greedy" and row["data"] in ("0", "dolphins", "tr11"):
            assert float(row["score"]) == pytest.approx(100, abs=0.1)
    page = (tmp_path / "starts.md").read_text()
    assert "## graphs: objective" in page
    assert "| documents | l1 | 12 |" in page
    assert "| documents | l2 | 10 |" in page
    assert "not at hand" not in page
    (tmp_path / "alone").mkdir()
    monkeypatch.delenv("ODSYMNMF_DATA", raising=False)
    assert len(run("starts", tmp_path / "alone")) == 4 * 2 * len(starts.FITS)
    assert "were not at hand" in (tmp_path / "alone" / "starts.md").read_text()
