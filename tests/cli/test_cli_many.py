"""`odsymnmf cluster --many`: as many clusters as the data has, from a file to a folder."""

import json

import numpy as np
import pytest
from cli_problems import run
from scipy import sparse


@pytest.fixture(scope="module")
def rings(tmp_path_factory):
    """300 groups of five, each linked to the next."""
    path = tmp_path_factory.mktemp("many") / "rings.edges"
    lines = []
    for g in range(300):
        names = [f"g{g}_{i}" for i in range(5)]
        lines += [f"{a} {b}" for k, a in enumerate(names) for b in names[k + 1 :]]
        lines.append(f"g{g}_0 g{(g + 1) % 300}_1")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("r", ["auto", 300])
def test_groups_are_found_and_written(rings, r, tmp_path):
    folder = tmp_path / "run"
    result = run("cluster", rings, "-r", r, "--many", "-o", folder)
    assert result.exit_code == 0, result.output
    assert "1,500 items in 300 clusters" in result.stdout
    lines = (folder / "clusters.txt").read_text().splitlines()
    found = [set(line.split("\t")) for line in lines]
    groups = [{f"g{g}_{i}" for i in range(5)} for g in range(300)]
    # The two neighbours, each with its one link, may be in the set, too.
    assert sum(any(g <= s and len(s) <= 7 for s in found) for g in groups) == 300
    H = sparse.load_npz(folder / "membership.npz")
    assert H.shape == (1500, 300)
    assert len((folder / "labels.csv").read_text().splitlines()) == 1501
    record = json.loads((folder / "run.json").read_text())
    assert record["fit"]["clusters"] == 300
    assert record["parameters"]["memberships"] == "sparse"
    assert np.all(np.diff(record["fit"]["history"]) <= 1e-9)
    assert (folder / "report.html").stat().st_size < 2e6


def test_new_items_go_to_the_groups_they_are_linked_to(rings, tmp_path):
    assert run("cluster", rings, "-r", "auto", "--many", "-o", tmp_path / "run").exit_code == 0
    links = [("x", 3, 0), ("x", 3, 2), ("x", 3, 3), ("x", 3, 4), ("y", 7, 2), ("y", 7, 3)]
    new = tmp_path / "new.edges"
    new.write_text("".join(f"{name} g{g}_{i}\n" for name, g, i in links))
    result = run("predict", tmp_path / "run", new, "-o", tmp_path / "found")
    assert result.exit_code == 0, result.output
    labels = dict(
        line.split(",")[:2] for line in (tmp_path / "run/labels.csv").read_text().splitlines()
    )
    found = [line.split(",") for line in (tmp_path / "found/labels.csv").read_text().splitlines()]
    assert found[1][:2] == ["x", labels["g3_3"]]
    assert found[2][:2] == ["y", labels["g7_3"]]
    assert all(0.5 < float(row[2]) <= 1 for row in found[1:])
    H = sparse.load_npz(tmp_path / "found/membership.npz")
    assert H.shape == (2, 300)
    assert not (tmp_path / "found/membership.csv").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-r", "some"], "some"),
        (["-r", 0], "0"),
        (["-r", 5, "--init", "ego"], "--init ego requires --many"),
        (["-r", 5, "--many", "--init", "spectral"], "cannot be combined with --many"),
        (["-r", "2-9", "--many"], "give one number, or auto"),
        (["-r", 5, "--many", "--n-init", 3], "one start"),
        (["-r", 5, "--many", "--restarts", 3], "--restarts cannot be combined with --many"),
        (["-r", 5, "--many", "--affinity", "cosine"], "nearest_neighbors"),
    ],
)
def test_options_that_do_not_go_together_are_refused(rings, options, words, tmp_path):
    result = run("cluster", rings, *options, "-o", tmp_path / "run")
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_full_table_is_refused_with_a_remedy(tmp_path):
    path = tmp_path / "table.npy"
    np.save(path, np.ones((6, 6)))
    result = run("cluster", path, "-r", "auto", "--many", "-o", tmp_path / "run")
    assert result.exit_code == 1
    assert "stored as a sparse matrix" in result.stderr
    assert not (tmp_path / "run").exists()


def test_threads_a_checkpoint_and_a_score(rings, tmp_path):
    folder, kept = tmp_path / "run", tmp_path / "kept"
    options = ["-r", "auto", "--many", "--checkpoint", kept]
    for jobs, name in ((1, "one"), (2, "two")):
        result = run("cluster", rings, *options, "--n-jobs", jobs, "-o", tmp_path / name)
        assert result.exit_code == 0, result.output
        assert not kept.exists()  # done: nobody needs it any more
    one, two = (sparse.load_npz(tmp_path / name / "membership.npz") for name in ("one", "two"))
    assert np.array_equal(one.toarray(), two.toarray())
    truth = tmp_path / "truth.txt"
    groups = [" ".join(f"g{g}_{i}" for i in range(5)) for g in range(300)]
    truth.write_text("\n".join(groups) + "\n")
    folder = tmp_path / "one"
    found = run("score", "--covers", folder, truth)
    assert found.exit_code == 0, found.output
    assert found.stdout == run("score", "--covers", folder / "clusters.txt", truth).stdout
    f1 = next(line for line in found.stdout.splitlines() if line.startswith("best-match F1"))
    assert float(f1.split()[-1]) > 0.8
    assert run("score", folder / "labels.csv", folder / "labels.csv").exit_code == 0
