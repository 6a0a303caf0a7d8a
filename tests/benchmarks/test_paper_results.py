"""Small versions of every table and figure of the paper, and the numbers that theory fixes."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

pytest.importorskip("matplotlib")

from benchmarks.paper import complexity, figures, noise
from benchmarks.paper.__main__ import main
from benchmarks.paper.assumptions import INITS, METHODS, Assumptions, accuracies


@pytest.fixture(autouse=True)
def _without_data(monkeypatch):
    monkeypatch.delenv("ODSYMNMF_DATA", raising=False)


def run(name: str, out: Path, *options: str) -> pd.DataFrame:
    """Write one result, check that its page is complete, and return its CSV."""
    main([name, "--out", str(out), "--trials", "1", "--jobs", "1", *options])
    assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    page = (out / f"{name}.md").read_text()
    assert page.startswith("# ")
    assert f"python -m benchmarks.paper {name} --out DIR" in page
    assert str(out) not in page
    assert not re.search(r"\{[a-z]*\}|\bnan\b", page)
    tables = re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)
    assert tables
    for text in tables:
        lines = text.splitlines()
        assert re.fullmatch(r"\|(---\|)+", lines[1])
        assert len({line.count("|") for line in lines}) == 1
    return pd.read_csv(out / f"{name}.csv")


def fits(problem, pairs, given=None, trial=0):
    rows = accuracies(problem, 0, trial, pairs, given or Assumptions())
    return {(row["method"], row["init"]): row["accuracy"] for row in rows}


@pytest.mark.parametrize("sizes", [[6, 6], [7, 5, 4]])
def test_exact_without_noise_and_l2_stays_at_zero(sizes):
    pairs = [(method, init) for method in METHODS for init in ("zero", "greedy")]
    scores = fits(("cliques", sizes, 0.0), [*pairs, ("ours l1", "greedy")])
    assert scores.pop(("OD-l2", "zero")) == pytest.approx(100 * (1 - 1 / np.sqrt(len(sizes))))
    del scores["OD-l1", "zero"]  # the first column contains all items
    assert list(scores.values()) == pytest.approx([100] * len(scores), abs=0.2)


@pytest.mark.parametrize("trial", range(3))
def test_library_equals_transcription_from_greedy_init(trial):
    problem, pairs = ("cliques", [8, 7, 6], 0.1), [(method, "greedy") for method in METHODS]
    columns = fits(problem, pairs, trial=trial)
    assert fits(problem, pairs, Assumptions(by="library"), trial) == pytest.approx(columns, abs=2)


def test_table_noise(tmp_path, monkeypatch):
    monkeypatch.setattr(noise, "SIZES", {"2 balanced": [5, 5], "2 unbalanced": [6, 4]})
    monkeypatch.setattr(noise, "VARIED", "2 balanced")
    monkeypatch.setattr(noise, "NOISE", 0.0)
    rows = run("table-noise", tmp_path)
    assert len(rows) == 2 * (3 * 3 + 2)
    table = rows.set_index(["clusters", "init", "method"])
    assert table.loc[("2 balanced", "zero", "OD-l2"), "mean"] == 29.2893
    assert table.loc[("2 unbalanced", "random", "symNMF"), "paper"] == 88
    assert table.xs("greedy", level="init")["mean"].to_numpy() == pytest.approx(100, abs=0.2)
    page = (tmp_path / "table-noise.md").read_text()
    assert "| neither bound nor scaling |" in page
    assert "Greedy initialization, balanced: 1 of 3 within 2 points." in page  # published: noisy
    others = pd.read_csv(tmp_path / "table-noise-assumptions.csv", index_col=0)
    assert others.notna().sum(axis=1).to_dict()["no bound on H"] == 6


def test_figure_random_noise(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "SIZES", [6, 6, 6])
    monkeypatch.setattr(figures, "NOISE", [0.0, 0.5])
    rows = run("figure-random-noise", tmp_path)
    assert rows[rows["noise"] == 0.0]["mean"].to_numpy() == pytest.approx(100, abs=0.2)
    assert rows[rows["noise"] == 0.5]["mean"].max() < 90
    page = (tmp_path / "figure-random-noise.md").read_text()
    assert "OD-l1 is above 90 % at 1 of the 1 levels up to 0.15" in page


def test_figure_adversarial_noise(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "CLIQUE", 6)
    monkeypatch.setattr(figures, "OUTSIDE", 6)
    monkeypatch.setattr(figures, "LINKS", [0, 1, 2, 3, 6])
    rows = run("figure-adversarial-noise", tmp_path)
    l1 = rows[rows["method"] == "OD-l1"]["mean"].tolist()
    assert l1[:4] == [100] * 4  # up to half of a clique
    assert l1[4] < 60


def test_figure_init(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "INIT_SIZES", [8, 8])
    rows = run("figure-init", tmp_path)
    curves = rows.groupby(["method", "init"])
    assert len(curves) == len(METHODS) * len(INITS)
    for _, curve in curves:
        assert len(curve) >= 2
        assert curve["objective"].is_monotonic_decreasing
        assert curve["seconds"].is_monotonic_increasing


def test_table_complexity(tmp_path, monkeypatch):
    def small(algorithms, sizes):
        return {name: replace(algorithms[name], n=n) for name, n in sizes.items()}

    paper = small(complexity.PAPER, {"Algorithm 2, l2": 50, "Algorithm 4, l1": 20})
    library = small(complexity.LIBRARY, {"l1, full": 50, "l1, sparse": 250})
    monkeypatch.setattr(complexity, "PAPER", paper)
    monkeypatch.setattr(complexity, "LIBRARY", library)
    monkeypatch.setattr(complexity, "STEPS", 3)
    rows = run("table-complexity", tmp_path)
    assert len(rows) == 3 * (4 + 4 + 4 + 3)
    assert (rows["seconds"] > 0).all()

    def slope(algorithm, axis, quantity):
        part = rows[(rows["algorithm"] == algorithm) & (rows["axis"] == axis)]
        return complexity.slope(part["x"], part[quantity])

    # A full A stores n^2 numbers, a sparse one its entries.
    assert slope("Algorithm 2, l2", "n, full A", "bytes") > 1.5
    assert slope("l1, sparse", "n, sparse A", "bytes") == pytest.approx(1, abs=0.15)
    assert slope("Algorithm 4, l1", "n, full A", "seconds") > 0.7


@pytest.fixture
def data(tmp_path):
    """Two document sets sorted by class; each class has its own words, and all share one word."""
    folder = tmp_path / "data" / "documents"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name, classes in (("tr11", 3), ("la1", 2)):
        labels = np.repeat(np.arange(classes), 12)
        X = np.repeat(np.eye(classes), 5, axis=1)[labels] * rng.integers(1, 6, (len(labels), 1))
        X = np.hstack([X, np.ones((len(labels), 1))])
        sparse.save_npz(folder / f"{name}.npz", sparse.csr_matrix(X))
        np.save(folder / f"{name}_labels.npy", labels)
    return folder.parent


def test_table_documents(tmp_path, data):
    rows = run("table-documents", tmp_path, "--data", str(data))
    expected = [(name, method) for name in ("la1", "tr11") for method in METHODS]
    assert list(zip(rows["set"], rows["method"], strict=True)) == expected
    assert (rows[["accuracy, H", "accuracy, unit columns"]] == 100).all(axis=None)
    assert rows["paper"].tolist() == [40.61, 48.81, 49.16, 51.21, 59.90, 59.66]
    page = (tmp_path / "table-documents.md").read_text()
    assert "| without words that every document has | 100.0" in page
    assert "without the words that every document has (tr11)" in page  # la1 is not a small set
    assert "Not available in this run: classic, ohscal, hitech," in page
    assert (tmp_path / "table-documents-assumptions.csv").is_file()
