"""odsymnmf cluster: what it writes, says and promises."""

import csv
import hashlib
import json

import numpy as np
import pytest
from cli_problems import FILES, refused, run, write_edges
from scipy import sparse

import odsymnmf as od
from odsymnmf import drawing, io, report
from odsymnmf import runs as room
from odsymnmf.cli import cluster as command
from odsymnmf.cli import summary
from odsymnmf.engine import losses
from odsymnmf.report import _page
from odsymnmf.similarity import Gram, Sparse, degree_normalized


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_a_file_becomes_tables_and_a_page(edges, tmp_path):
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


def test_run_json_tells_how_to_do_it_again(edges, tmp_path):
    folder = tmp_path / "run"
    run("cluster", edges, "-r", 3, "--seed", 7, "--loss", "l1", "--upper", 1, "-o", folder)
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert record["input"]["sha256"] == hashlib.sha256(edges.read_bytes()).hexdigest()
    assert record["input"]["items"] == 24
    expected = {"n_clusters": 3, "random_state": 7, "loss": "l1", "upper": 1, "normalize": "auto"}
    assert expected.items() <= record["parameters"].items()
    model = od.ODSymNMF(**record["parameters"]).fit(io.read(edges).matrix)
    assert record["fit"]["history"] == model.history_.tolist()
    assert record["fit"]["restarts"] == model.restarts_.tolist()
    assert record["fit"]["objective"] == model.objective_
    assert record["fit"]["converged"]
    assert not record["fit"]["interrupted"]
    assert {"odsymnmf", "python", "numpy", "scipy", "numba"} <= record["versions"].keys()
    assert record["seconds"].keys() == {"read", "fit"}


def test_same_seed_same_bytes(edges, tmp_path):
    for name, seed in [("a", 3), ("b", 3), ("c", 4)]:
        arguments = ["--init", "random", "--max-iter", 3, "--seed", seed, "-o", tmp_path / name]
        assert run("cluster", edges, "-r", 3, *arguments).exit_code == 0

    def content(folder, file):
        return (tmp_path / folder / file).read_bytes()

    for file in ["labels.csv", "membership.csv"]:
        assert content("a", file) == content("b", file)
    assert content("a", "membership.csv") != content("c", "membership.csv")


@pytest.mark.parametrize("loss", command.LOSSES)
def test_every_loss_says_what_it_explains(loss, edges, tmp_path):
    result = run("cluster", edges, "-r", 3, "--loss", loss, "-o", tmp_path / "run")
    assert result.exit_code == 0
    assert f"% of the {losses.loss_class(loss).explains}" in result.stdout


def test_an_empty_cell_is_an_unknown_pair(tmp_path):
    """Two triangles, of which one pair is not known: with it or without, they are found."""
    table = [["", *"abcdef"]]
    for i, name in enumerate("abcdef"):
        table.append([name, *(str(int(i // 3 == j // 3 and i != j)) for j in range(6))])
    table[1][2] = table[2][1] = ""
    path = tmp_path / "table.csv"
    path.write_text("\n".join(",".join(row) for row in table), encoding="utf-8")
    result = run("cluster", path, "-r", 2, "--normalize", "none", "-o", tmp_path / "run")
    assert result.exit_code == 0
    assert "1 pair is unknown" in result.stderr
    assert "100.0 % of the squared similarities" in result.stdout
    labels = [row[1] for row in rows(tmp_path / "run" / "labels.csv")[1:]]
    assert len({*labels[:3]}) == len({*labels[3:]}) == 1
    assert labels[0] != labels[3]


@pytest.mark.parametrize("affinity", ["cosine", "rbf", "nearest_neighbors"])
def test_features_are_compared(affinity, tmp_path):
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(3, 6), 12, axis=0) * 4 + rng.uniform(size=(36, 6))
    path = tmp_path / "points.csv"
    np.savetxt(path, X, delimiter=",")
    folder = tmp_path / "run"
    result = run("cluster", path, "-r", 3, "--affinity", affinity, "-o", folder)
    assert result.exit_code == 0, result.stderr
    labels = [row[1] for row in rows(folder / "labels.csv")[1:]]
    assert [len(set(labels[k : k + 12])) for k in (0, 12, 24)] == [1, 1, 1]
    assert len(set(labels)) == 3


def test_the_report_is_given_what_was_fitted(edges, tmp_path, monkeypatch):
    """After normalize, and X rather than X X^T for cosines."""
    given = []
    original = report.page

    def page(A, *arguments, **options):
        given.append(A)
        return original(A, *arguments, **options)

    monkeypatch.setattr(report, "page", page)
    arguments = ["-r", 2, "--normalize", "degree", "-o", tmp_path / "a"]
    assert run("cluster", edges, *arguments).exit_code == 0
    assert isinstance(given[0], Sparse)
    expected = degree_normalized(io.read(edges).matrix).A.toarray()
    assert np.array_equal(given[0].A.toarray(), expected)

    path = tmp_path / "points.csv"
    np.savetxt(path, np.random.default_rng(0).uniform(size=(12, 4)), delimiter=",")
    arguments = ["-r", 2, "--affinity", "cosine", "-o", tmp_path / "b"]
    assert run("cluster", path, *arguments).exit_code == 0
    assert isinstance(given[1], Gram)
    assert given[1].X.shape == (12, 4)


def test_texts(tmp_path):
    letters = tmp_path / "letters"
    letters.mkdir()
    for i in range(4):
        (letters / f"sea{i}.txt").write_text(f"ship sail wave captain harbour {i}")
        (letters / f"farm{i}.txt").write_text(f"cow plough field barn harvest {i}")
    folder = tmp_path / "run"
    assert run("cluster", letters, "--text", "-r", 2, "-o", folder).exit_code == 0
    groups = {name: label for name, label, _ in rows(folder / "labels.csv")[1:]}
    assert len(groups) == 8
    assert len({label for name, label in groups.items() if "sea" in name}) == 1
    assert len({*groups.values()}) == 2
    files = sorted(letters.iterdir())
    assert run("cluster", *files, "--text", "-r", 2, "-o", tmp_path / "again").exit_code == 0
    assert {row[1] for row in rows(tmp_path / "again" / "labels.csv")[1:]} == {"0", "1"}


def test_texts_without_words(tmp_path):
    (tmp_path / "a.txt").write_text("? !")
    (tmp_path / "b.txt").write_text("- 1")
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
    note = "4 texts hold none of the words that are used, and will be in no cluster: "
    note += "'a.txt', 'b.txt', 'c.txt' and 1 more"
    assert f"note: {note}\n" in result.stderr
    assert json.loads((folder / "run.json").read_text())["input"]["notes"] == [note]
    assert [row[1] for row in rows(folder / "labels.csv")[1:]] == ["-1"] * 4 + ["0"] * 4


def test_the_folder_is_named_after_the_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    write_edges(tmp_path / "data" / "my.graph.csv")
    result = run("cluster", "data/my.graph.csv", "-r", 2)
    assert result.exit_code == 0
    assert (tmp_path / "my-clusters" / "report.html").exists()
    assert "open my-clusters/report.html" in result.stdout.replace("\\", "/")


def test_quiet_is_silent(edges, tmp_path):
    result = run("cluster", edges, "-r", 3, "--max-iter", 1, "-q", "-o", tmp_path / "run")
    assert (result.exit_code, result.output) == (0, "")
    refused(run("cluster", edges, "-r", 3, "-q", "-o", tmp_path / "run"), 1, "--force")


def test_results_and_progress_do_not_mix(edges, tmp_path):
    result = run("cluster", edges, "-r", 3, "-o", tmp_path / "run")
    assert "iteration 1 of at most 200" in result.stderr
    assert "of at most" not in result.stdout
    assert "cluster  items  strongest members" in result.stdout


def test_no_convergence_is_said_kindly(edges, tmp_path):
    result = run("cluster", edges, "-r", 3, "--max-iter", 1, "--tol", 0, "-o", tmp_path / "run")
    assert result.exit_code == 0
    assert "to reach convergence, increase --max-iter" in result.stderr
    assert "not converged after 1 iteration " in result.stdout
    assert "Warning" not in result.output


def test_items_of_no_cluster_are_counted(tmp_path):
    path = write_edges(tmp_path / "graph.csv", groups=2, size=4)
    path.write_text(path.read_text() + "lone a,lone b,1\n")
    result = run("cluster", path, "-r", 1, "--loss", "l1", "-o", tmp_path / "run")
    assert result.exit_code == 0
    loose = sum(row[1:] == ["-1", "0.0"] for row in rows(tmp_path / "run" / "labels.csv"))
    assert loose >= 2
    assert f"{loose} items belong to no cluster" in result.stdout


def test_large_memberships_are_an_array(edges, tmp_path, monkeypatch):
    run("cluster", edges, "-r", 3, "-o", tmp_path / "table")
    monkeypatch.setattr(room.writing, "LARGE", 24 * 3 - 1)
    run("cluster", edges, "-r", 3, "-o", tmp_path / "array")
    assert not (tmp_path / "array" / "membership.csv").exists()
    names, H = room.read_membership(tmp_path / "array")
    same_names, same = room.read_membership(tmp_path / "table")
    assert names == same_names
    assert np.array_equal(H, same)


def test_what_was_chosen_and_words_reach_terminal_table_and_page(edges, tmp_path, monkeypatch):
    """Words are a field of the outcome: whoever knows them fills them in."""
    topics = [[("ship", 2.0), ("sail\x1b", 1.0)], [("cow", 1.0)], []]
    original = summary.Outcome.__init__
    more = {"topics": topics}

    def init(self, *arguments, **known):
        original(self, *arguments, **{**known, **more})

    monkeypatch.setattr(summary.Outcome, "__init__", init)
    result = run("cluster", edges, "-r", "2-4", "-o", tmp_path / "run")
    assert "0        8      ship, sail?" in result.stdout
    assert rows(tmp_path / "run" / "topics.csv")[1:] == [
        ["ship", "0", "2.0"],
        ["sail\x1b", "0", "1.0"],
        ["cow", "1", "1.0"],
    ]
    html = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Why 3 clusters" in html
    assert "Decided from the input" in html


def test_sparse_memberships_are_written_as_a_cover(edges, tmp_path, monkeypatch):
    original = od.ODSymNMF.fit

    def fit(self, X, weights=None):
        original(self, X, weights=weights)
        self.membership_ = sparse.csr_array(self.membership_)
        return self

    assert run("cluster", edges, "-r", 3, "-o", tmp_path / "full").exit_code == 0
    monkeypatch.setattr(od.ODSymNMF, "fit", fit)
    folder = tmp_path / "sparse"
    result = run("cluster", edges, "-r", 3, "-o", folder)
    assert result.exit_code == 0, result.stderr
    files = ["clusters.txt", "labels.csv", "matrix.npz", "membership.npz", "model.odsym"]
    assert sorted(p.name for p in folder.iterdir()) == [*files, "report.html", "run.json"]
    assert (folder / "labels.csv").read_bytes() == (tmp_path / "full/labels.csv").read_bytes()
    names, H = room.read_membership(folder)
    assert np.array_equal(H.toarray(), room.read_membership(tmp_path / "full")[1])
    cover = [line.split("\t") for line in (folder / "clusters.txt").read_text().splitlines()]
    sets = od.memberships.overlapping_sets(H.toarray())
    assert cover == [[names[i] for i in items] for items in sets]
    for kind in ("matrix", "memberships", "convergence"):
        picture = tmp_path / f"{kind}.svg"
        assert run("plot", folder, "--kind", kind, "-o", picture).exit_code == 0
    assert run("cluster", edges, "-r", 3, "--force", "-o", folder).exit_code == 0


def test_each_picture_and_set_is_made_once(edges, tmp_path, monkeypatch):
    made = []
    for name in ("matrix_picture", "as_members"):
        original = getattr(drawing, name)

        def counted(*arguments, name=name, original=original):
            made.append(name)
            return original(*arguments)

        monkeypatch.setattr(drawing, name, counted)
    sets = drawing.Members.sets
    monkeypatch.setattr(drawing.Members, "sets", lambda self: made.append("sets") or sets(self))
    monkeypatch.setattr(_page, "matrix_picture", None)
    assert run("cluster", edges, "-r", 3, "-o", tmp_path / "run").exit_code == 0
    assert sorted(made) == ["as_members", "matrix_picture", "sets"]


def test_what_was_decided_is_written_down(edges, tmp_path):
    folder = tmp_path / "run"
    result = run("cluster", edges, "-r", "auto", "-o", folder)
    assert result.exit_code == 0, result.stderr
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert record["parameters"]["n_clusters"] == "auto"
    assert record["settings"]["init"] == "spectral"
    assert record["choice"]["n_clusters"] == record["fit"]["clusters"] == 3
    assert record["choice"]["table"]["n_clusters"] == sorted(
        record["choice"]["table"]["n_clusters"]
    )
    assert record["fit"]["unassigned"] == 0
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "Why 3 clusters" in html
    assert "regularization" in html
    model = od.ODSymNMF(**record["parameters"]).fit(io.read(edges).matrix)
    assert [row[1] for row in rows(folder / "labels.csv")[1:]] == [str(l) for l in model.labels_]
    plain = run(
        "cluster", edges, "-r", 3, "--normalize", "none", "--upper", "none", "-o", tmp_path / "p"
    )
    assert plain.exit_code == 0
    record = json.loads((tmp_path / "p" / "run.json").read_text(encoding="utf-8"))
    assert record["parameters"]["normalize"] is record["parameters"]["upper"] is None


def test_covers_are_scored(edges, tmp_path):
    folder = tmp_path / "run"
    run("cluster", edges, "-r", 3, "-o", folder)
    names, H = room.read_membership(folder)
    sets = od.memberships.overlapping_sets(H)
    truth = tmp_path / "truth.txt"
    lines = ["\t".join(names[i] for i in items) for items in sets]
    truth.write_text("# one per line\n" + "\n".join(lines) + "\n")
    for found in (folder, truth):
        result = run("score", found, truth, "--covers")
        assert result.exit_code == 0, result.stderr
        assert "overlapping NMI  1.0000" in result.stdout
        assert "omega index      1.0000" in result.stdout
    half = tmp_path / "half.txt"
    half.write_text(lines[0] + "\n")
    result = run("score", half, truth, "--covers")
    assert "1, compared with 3" in result.stdout
    assert "in no cluster" in result.stdout
    half.write_text("nobody\tknows\n")
    assert "have no name in common" in run("score", half, truth, "--covers").stderr
    half.write_text("# nobody\n")
    assert "no clusters in it" in run("score", half, truth, "--covers").stderr
