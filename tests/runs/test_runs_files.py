"""What is written comes back; what is damaged is said to be, and never believed."""

import csv
import json
import zipfile

import numpy as np
import pytest
from scipy import sparse

from odsymnmf import memberships, runs
from odsymnmf.drawing import matrix_picture
from odsymnmf.problem import blocking
from odsymnmf.runs import writing

NAMES = ["a", "b b", "c\td", "lone \ud800 half", "#e", "f,g"]
H = np.array([[1, 0, 0], [0.7, 0.5, 0], [0, 2.5, 0], [0, 0.3, 0], [0, 0, 0], [0.2, 0.1, 0]])


def record_of(H, **more):
    return {
        "versions": {"odsymnmf": "1"},
        "fit": {"clusters": H.shape[1], "history": [3.0, 2.0], "restarts": [1]},
        **more,
    }


def write(folder, H, picture=True):
    folder.mkdir()
    runs.write_result(folder, NAMES, H, record_of(H, name=NAMES[3]))
    runs.write_page(folder, matrix_picture(np.ones((6, 6)), H) if picture else None, "<html>")
    return folder


def rows(path, **options):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file, **options))


@pytest.mark.parametrize("kind", ["table", "array", "sparse"])
def test_a_run_comes_back(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(writing, "LARGE", 0 if kind == "array" else 10**6)
    given = sparse.csr_array(H) if kind == "sparse" else H
    folder = write(tmp_path / "run", given)
    names, found = runs.read_membership(folder)
    assert names == [*NAMES[:3], "lone \\ud800 half", *NAMES[4:]]
    assert sparse.issparse(found) == (kind == "sparse")
    np.testing.assert_array_equal(found.toarray() if kind == "sparse" else found, H)
    labels = rows(folder / "labels.csv")
    assert [int(row[1]) for row in labels[1:]] == memberships.labels(H).tolist()
    own = memberships.strength(H)[np.arange(6), [0, 0, 1, 1, 0, 0]]
    np.testing.assert_allclose([float(row[2]) for row in labels[1:]], own, atol=1e-6)
    assert runs.read_history(folder) == ([3.0, 2.0], [1])
    assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["name"] == NAMES[3]
    picture = runs.read_picture(folder)
    assert picture.edges.tolist() == matrix_picture(np.ones((6, 6)), H).edges.tolist()


def test_a_cover_is_one_cluster_per_line(tmp_path):
    folder = write(tmp_path / "run", sparse.csr_array(H))
    cover = rows(folder / "clusters.txt", delimiter="\t")
    assert cover == [["a", "b b", "f,g"], ["c\td", "b b", "lone \\ud800 half", "f,g"], []]
    np.testing.assert_array_equal(sparse.load_npz(folder / "membership.npz").toarray(), H)
    assert not (folder / "membership.csv").exists()


def test_strengths_of_an_array_are_those_of_the_library(tmp_path, monkeypatch):
    """In blocks of rows, and of an array in single precision."""
    monkeypatch.setattr(blocking, "BLOCK_ENTRIES", 7)
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        H = (rng.random((40, 3)) * (rng.random((40, 3)) < 0.5)).astype(dtype)
        label, own = writing._labels(H)
        assert label == memberships.labels(H).tolist()
        expected = memberships.strength(H)[np.arange(40), np.maximum(label, 0)]
        np.testing.assert_allclose(own, expected, atol=1e-6)
        assert (label, own) == writing._labels(sparse.csr_array(H))


def test_very_many_clusters_have_no_picture(tmp_path):
    many = np.zeros((6, 201))
    many[:, 0] = 1
    folder = write(tmp_path / "run", sparse.csr_array(many), picture=False)
    with pytest.raises(ValueError, match=r"more than 200 clusters .*look at report.html"):
        runs.read_picture(folder)


def damaged(content, rng):
    """Return the content with a few bytes changed, cut, doubled or taken away."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, max(len(data), 1)))
        match rng.integers(0, 4):
            case 0 if data:
                data[at % len(data)] = int(rng.integers(0, 256))
            case 1:
                del data[at:]
            case 2:
                data[at:at] = data[at : at + 20]
            case _:
                del data[at : at + int(rng.integers(1, 9))]
    return bytes(data)


@pytest.mark.parametrize("kind", ["table", "array", "sparse"])
def test_damaged_runs_are_refused_or_read(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(writing, "LARGE", 0 if kind == "array" else 10**6)
    folder = write(tmp_path / "run", sparse.csr_array(H) if kind == "sparse" else H)
    readers = [runs.read_membership, runs.read_picture, runs.read_history]
    rng = np.random.default_rng(0)
    refused = []
    for file in sorted(folder.iterdir()):
        content = file.read_bytes()
        for _ in range(120):
            file.write_bytes(damaged(content, rng))
            for reader in readers:
                try:
                    reader(folder)
                except ValueError as error:
                    refused.append(str(error))
        file.write_bytes(content)
    assert len(refused) > 200
    assert all("is damaged" in words or "is not a run" in words for words in refused)


ARRAYS = {
    "an index out of range": {"indices": np.full(7, 2 * 10**9, dtype=np.int64)},
    "a negative index": {"indices": np.full(7, -1, dtype=np.int32)},
    "indptr that goes back": {"indptr": np.array([0, 7, 0, 7, 7, 7, 7], dtype=np.int32)},
    "another shape": {"shape": np.array([6, 4])},
    "objects": {"data": np.array([{}] * 7, dtype=object)},
    "no numbers": {"data": np.array(["x"] * 7)},
    "NaN": {"data": np.full(7, np.nan)},
}


@pytest.mark.parametrize("what", ARRAYS)
def test_sparse_memberships_are_checked(tmp_path, what):
    folder = write(tmp_path / "run", sparse.csr_array(H))
    C = sparse.csr_array(H)
    sound = {"indptr": C.indptr, "indices": C.indices, "data": C.data, "shape": C.shape}
    np.savez(folder / "membership.npz", **sound)
    runs.read_membership(folder)
    np.savez(folder / "membership.npz", **{**sound, **ARRAYS[what]})
    with pytest.raises(ValueError, match=r"is damaged: .*membership"):
        runs.read_membership(folder)


@pytest.mark.parametrize(
    "arrays",
    [
        {"edges": np.array([0, 9, 3, 4])},
        {"edges": np.array([0, 1])},
        {"edges": np.array([0.0, 1, 2, 3])},
        {"n": np.array(-1)},
        {"n": np.array([6, 6])},
        {"values": np.full((6, 6), np.inf, np.float32)},
        {"values": np.ones((6, 5), np.float32)},
        {"values": np.ones((0, 0), np.float32)},
    ],
    ids=str,
)
def test_pictures_are_checked(tmp_path, arrays):
    folder = write(tmp_path / "run", H)
    picture = runs.read_picture(folder)
    sound = {"values": picture.values, "edges": picture.edges, "n": picture.n}
    np.savez(folder / "matrix.npz", **{**sound, **arrays})
    with pytest.raises(ValueError, match=r"is damaged: matrix.npz"):
        runs.read_picture(folder)


def test_a_promise_of_terabytes_is_not_believed(tmp_path):
    folder = write(tmp_path / "run", H)
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (900000, 900000), }"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with zipfile.ZipFile(folder / "matrix.npz", "w") as archive:
        archive.writestr("values.npy", content)
    with pytest.raises(ValueError, match=r"is damaged: matrix.npz"):
        runs.read_picture(folder)
