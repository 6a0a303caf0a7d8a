"""odsymnmf cluster: what it writes, says and promises."""

import json

import numpy as np
import pytest
from cli_problems import FILES, rows, run, write_edges

import odsymnmf as od
from odsymnmf import io, runs
from odsymnmf.solvers import losses


def test_cluster_writes_tables_and_a_report(edges, tmp_path):
    folder = tmp_path / "new" / "run"
    result = run("cluster", edges, "-r", 3, "-o", folder)
    assert result.exit_code == 0
    assert sorted(p.name for p in folder.iterdir()) == FILES
    assert [p.name for p in folder.parent.iterdir()] == ["run"]
    assert f"open {folder / 'report.html'}" in result.stdout
    assert "24 items in 3 clusters, converged" in result.stdout

    items = io.read(edges)
    model = od.ODSymNMF(3, random_state=0).fit(items.matrix)
    labels = rows(folder / "labels.csv")
    assert labels[0] == ["name", "cluster", "strength"]
    assert [row[0] for row in labels[1:]] == list(items.names)
    assert [int(row[1]) for row in labels[1:]] == model.labels_.tolist()
    strength = od.memberships.strength(model.membership_).max(axis=1)
    assert [float(row[2]) for row in labels[1:]] == pytest.approx(strength.tolist(), abs=1e-6)
    membership = rows(folder / "membership.csv")
    assert membership[0] == ["name", "cluster_0", "cluster_1", "cluster_2"]
    assert np.array_equal(np.array([r[1:] for r in membership[1:]], float), model.membership_)
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("r", "options"),
    [(3, "--random-state 7 --loss l1 --upper 1 --normalize none --init random"), ("auto", "")],
)
def test_run_json_has_the_options_of_the_run(edges, tmp_path, r, options):
    folder = tmp_path / "run"
    assert run("cluster", edges, "-r", r, *options.split(), "-o", folder).exit_code == 0
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert record["input"]["items"] == 24
    assert record["parameters"]["n_clusters"] == r
    model = od.ODSymNMF(**record["parameters"]).fit(io.read(edges).matrix)
    fit = record["fit"]
    assert fit["history"] == model.history_.tolist()
    assert fit["restarts"] == model.restart_steps_.tolist()
    assert fit["objective"] == model.objective_
    assert (fit["converged"], fit["interrupted"], fit["unassigned"]) == (True, False, 0)
    assert [row[1] for row in rows(folder / "labels.csv")[1:]] == [str(l) for l in model.labels_]
    assert {"odsymnmf", "python", "numpy", "scipy", "numba"} <= record["versions"].keys()
    assert record["seconds"].keys() == {"read", "fit"}
    if r == "auto":
        assert record["settings"]["init"] == "multilevel"
        assert record["choice"]["n_clusters"] == fit["clusters"] == 3
        html = (folder / "report.html").read_text(encoding="utf-8")
        assert "Why 3 clusters" in html
        assert "regularization" in html


@pytest.mark.parametrize("loss", losses.names())
def test_explained_name_of_every_loss(loss, edges, tmp_path):
    result = run("cluster", edges, "-r", 3, "--loss", loss, "-o", tmp_path / "run")
    assert result.exit_code == 0
    assert f"% of the {losses.loss_class(loss).explained_name}" in result.stdout


def test_the_folder_is_named_after_the_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    write_edges(tmp_path / "data" / "my.graph.csv")
    result = run("cluster", "data/my.graph.csv", "-r", 2)
    assert result.exit_code == 0
    assert (tmp_path / "my-clusters" / "report.html").exists()
    assert "open my-clusters/report.html" in result.stdout.replace("\\", "/")


def test_results_go_to_stdout_and_progress_to_stderr(edges, tmp_path):
    options = ["-r", 3, "--max-iter", 1, "--tol", 0]
    result = run("cluster", edges, *options, "-o", tmp_path / "run")
    assert result.exit_code == 0
    assert "iteration 1 of at most 1" in result.stderr
    assert "to reach convergence, increase --max-iter" in result.stderr
    assert "of at most" not in result.stdout
    assert "cluster  items  top members, including overlaps" in result.stdout
    assert "not converged after 1 iteration, " in result.stdout
    assert "Warning" not in result.output
    quiet = run("cluster", edges, *options, "-q", "-o", tmp_path / "quiet")
    assert (quiet.exit_code, quiet.output) == (0, "")


def test_items_of_no_cluster_are_counted(tmp_path):
    path = write_edges(tmp_path / "graph.csv", groups=2, size=4)
    path.write_text(path.read_text() + "lone a,lone b,1\n")
    result = run("cluster", path, "-r", 1, "--loss", "l1", "-o", tmp_path / "run")
    assert result.exit_code == 0
    loose = sum(row[1:] == ["-1", "0.0"] for row in rows(tmp_path / "run" / "labels.csv"))
    assert loose >= 2
    assert f"{loose} items in no cluster" in result.stdout


HARD_NAMES = [
    *('a "quoted", name', "line\nbreak", "carriage\rreturn", "=HYPERLINK(1)", "-1", "Émile 東京"),
    *("tab\there", "a;b|c", "#hashtag", "% of all", " blank ", "'", "name", "🙂"),
]


@pytest.mark.parametrize(
    "names", [HARD_NAMES, *([f"{m}a{m}{i}" for i in "12345"] for m in ';\t #"|')]
)
def test_any_name_is_preserved(tmp_path, names):
    table = [(name, i % 3 - 1, 0.5) for i, name in enumerate(names)]
    runs.write_table(tmp_path / "labels.csv", ["name", "cluster", "strength"], iter(table))
    assert [row[0] for row in rows(tmp_path / "labels.csv")[1:]] == names
    # The reader may change blanks around and between words.
    labels = io.read_labels(tmp_path / "labels.csv").items()
    expected = [(name.split(), str(label)) for name, label, _ in table]
    assert [(name.split(), label) for name, label in labels] == expected


def test_control_characters_are_not_printed(tmp_path):
    path = tmp_path / "graph.csv"
    path.write_text("=1+1,-5\n-5,\x1b[2Jb\n\x1b[2Jb,=1+1\n+49x,\x1b[2Jb\n")
    result = run("cluster", path, "-r", 1, "-o", tmp_path / "run")
    assert "\x1b" not in result.output
    names = {row[0] for row in rows(tmp_path / "run" / "labels.csv")[1:]}
    assert names == {"=1+1", "-5", "\x1b[2Jb", "+49x"}
