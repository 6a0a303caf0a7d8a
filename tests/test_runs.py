"""Directories of runs: what is written is read back; existing files are not overwritten."""

import csv
import json
import os

import numpy as np
import pytest
from scipy import sparse

from odsymnmf import memberships, runs
from odsymnmf.plots import matrix_picture

NAMES = ["a", "b b", "c\td", "lone \ud800 half", "#e", "f,g"]
H = np.array([[1, 0, 0], [0.7, 0.5, 0], [0, 2.5, 0], [0, 0.3, 0], [0, 0, 0], [0.2, 0.1, 0]])


def write(directory, H, mark="old"):
    directory.mkdir(exist_ok=True)
    fit = {"clusters": H.shape[1], "history": [3.0, 2.0], "restarts": [1]}
    record = {"versions": {"odsymnmf": "1"}, "fit": fit, "mark": mark, "name": NAMES[3]}
    sets = memberships.overlapping_sets(H) if sparse.issparse(H) else None
    runs.write_result(directory, NAMES, H, record, sets)
    runs.write_picture(directory, matrix_picture(np.ones((6, 6)), H))
    return directory


def rows(path, **options):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file, **options))


@pytest.mark.parametrize("form", ["table", "array", "sparse"])
def test_files_of_a_run(tmp_path, monkeypatch, form):
    if form == "array":
        monkeypatch.setattr(runs, "MAX_TABLE_ENTRIES", 0)
    run = write(tmp_path / "run", sparse.csr_array(H) if form == "sparse" else H)
    if form == "table":
        written = np.array([row[1:] for row in rows(run / "membership.csv")[1:]], dtype=float)
    elif form == "array":
        written = np.load(run / "membership.npz")["H"]
    else:
        written = sparse.load_npz(run / "membership.npz").toarray()
    np.testing.assert_array_equal(written, H)
    labels = rows(run / "labels.csv")[1:]
    assert [row[0] for row in labels] == [*NAMES[:3], "lone \\ud800 half", *NAMES[4:]]
    assert [int(row[1]) for row in labels] == memberships.labels(H).tolist()
    strength = memberships.strength(H)[np.arange(6), [0, 0, 1, 1, 0, 0]]
    np.testing.assert_allclose([float(row[2]) for row in labels], strength, atol=1e-6)
    assert runs.read_record(run)["name"] == NAMES[3]
    expected = matrix_picture(np.ones((6, 6)), H)
    np.testing.assert_array_equal(runs.read_picture(run).values, expected.values)
    if form == "sparse":
        cover = rows(run / "clusters.txt", delimiter="\t")
        assert cover == [["a", "b b", "f,g"], ["c\td", "b b", "lone \\ud800 half", "f,g"], []]


@pytest.mark.parametrize("name", ["matrix.npz", "run.json"])
def test_damaged_runs_are_rejected(tmp_path, name):
    run = write(tmp_path / "run", sparse.csr_array(H))
    (run / name).write_bytes((run / name).read_bytes()[:-9])
    with pytest.raises(ValueError, match=rf"cannot load .*{name}|run is not a run"):
        runs.read_picture(run)
    (run / name).unlink()
    with pytest.raises(ValueError, match=r"has no matrix\.npz|run is not a run"):
        runs.read_picture(run)


def replace(target, **options):
    with runs.new_run(target, **options) as new:
        write(new, H, mark="new")


def test_new_runs(tmp_path):
    target = tmp_path / "run"
    replace(target)
    (tmp_path / "empty").mkdir()
    replace(tmp_path / "empty")
    write(tmp_path / "old", H)
    os.symlink(tmp_path / "old", tmp_path / "link")
    replace(tmp_path / "link", force=True)
    for name in ("run", "empty", "old"):
        assert runs.read_record(tmp_path / name)["mark"] == "new"
    assert sorted(os.listdir(tmp_path)) == ["empty", "link", "old", "run"]


@pytest.mark.parametrize(
    ("files", "force", "message"),
    [
        (["run.json"], False, "already contains a run; .*use --force"),
        (["run.json", "thesis.txt"], True, "contains 'thesis.txt', which is not part of a run"),
        (["thesis.txt"], True, "is not a run of odsymnmf"),
        (["labels.csv"], True, "is not a run of odsymnmf"),
    ],
)
def test_other_files_are_not_overwritten(tmp_path, files, force, message):
    target = tmp_path / "run"
    target.mkdir()
    for file in files:
        (target / file).write_text(json.dumps({"versions": {"odsymnmf": "1"}}))
    with pytest.raises(FileExistsError, match=message):
        runs.check_directory(target, force=force)
    # The files may appear while the run is written.
    target.rename(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError, match=message), runs.new_run(target, force=force):
        (tmp_path / "elsewhere").rename(target)
    assert sorted(os.listdir(target)) == sorted(files)
    assert os.listdir(tmp_path) == ["run"]


def test_places_where_nothing_can_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="is not a directory"):
        runs.check_directory(tmp_path / "file", force=True)
    with pytest.raises(PermissionError, match=r"cannot write .*run: no permission .* to .*file"):
        runs.check_directory(tmp_path / "file" / "run")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(PermissionError, match="no permission to write to"):
        runs.check_directory(tmp_path / "deep" / "run")
