"""Saved models and results; damaged files; atomic replacement of files and directories."""

import json
import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from io import BytesIO
from zipfile import ZipFile

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import odsymnmf as od
from odsymnmf import ODSymNMF, SymNMF
from odsymnmf.persistence import atomic_directory, atomic_write, write_arrays

FITTED = ["membership_", "labels_", "history_", "restart_steps_", "objective_", "status_"]
FITTED += ["n_iter_", "n_clusters_", "n_unassigned_", "n_features_in_", "settings_", "loss_terms_"]
FITTED += ["item_names_"]


def similarities():
    labels = np.arange(24) % 3
    flips = np.random.default_rng(0).random((24, 24)) < 0.05
    A = np.triu((labels[:, None] == labels) ^ flips, 1).astype(float)
    return A + A.T


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def saved_and_loaded(model, path, **options):
    model.save(path, **options)
    return od.load(path)


def assert_same(one, other, names):
    assert type(one) is type(other)
    for name in names:
        assert_array_equal(dense(getattr(one, name)), dense(getattr(other, name)))


LABELS, SETS = np.arange(24) % 3, [{0, 3}, {1, 4}, {2, 5}]
FEATURES = {"loss": "mixed", "restarts": 0, "tol": 0.1, "gamma": 0.3}
MODELS = [
    (ODSymNMF, np.float64, {"normalize": None, "random_state": 1}),
    (ODSymNMF, np.float32, {"normalize": "degree", "n_clusters": range(2, 4)}),
    (SymNMF, np.float64, {"upper": 0.9}),
    (ODSymNMF, sparse.csr_array, {"zero_weight": 0.5}),
    *((ODSymNMF, np.float64, {"affinity": a, **FEATURES}) for a in ("cosine", "rbf")),
    (ODSymNMF, sparse.csr_array, {"affinity": "nearest_neighbors", **FEATURES}),
    (ODSymNMF, sparse.csr_array, {"affinity": "cosine", **FEATURES}),
    *(
        (ODSymNMF, sparse.csr_array, {"sparse_membership": True, "n_clusters": "auto", **options})
        for options in ({}, {"loss": "l1"}, {"init": LABELS}, {"init": SETS})
    ),
]


@pytest.mark.parametrize(("kind", "form", "options"), MODELS)
def test_models(tmp_path, kind, form, options):
    A = form(similarities())
    model = kind(**{"n_clusters": 3, **options}).fit(A)
    loaded = saved_and_loaded(model, tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]  # the given path, without a suffix
    assert loaded.membership_.dtype == model.membership_.dtype
    assert_same(loaded, model, FITTED)
    for new in (A[:5], A[5:9]):
        membership = loaded.predict_membership(new)
        assert_array_equal(dense(membership), dense(model.predict_membership(new)))
    assert_same(loaded.fit(A), model, FITTED)  # with the same parameters


@pytest.mark.parametrize("form", ["dense", "sparse", "gram", "unknown pairs"])
def test_similarities_are_saved_on_request(tmp_path, form):
    A = similarities()
    if form == "unknown pairs":
        A[0, 1] = A[1, 0] = np.nan
    affinity = "cosine" if form == "gram" else "precomputed"
    model = ODSymNMF(3, affinity=affinity).fit(sparse.csr_array(A) if form == "sparse" else A)
    loaded = saved_and_loaded(model, tmp_path / "m.npz", similarities=True)
    assert type(loaded.similarity_) is type(model.similarity_)
    H = model.membership_
    assert od.objective(loaded.similarity_, H) == od.objective(model.similarity_, H)


def test_names(tmp_path):
    path, G = tmp_path / "m.npz", nx.from_numpy_array(similarities())
    names = [f"item {i}\ud800" for i in G]
    loaded = saved_and_loaded(ODSymNMF(3).fit(G), path, names=names)
    assert saved_and_loaded(loaded, path).item_names_ == names
    assert saved_and_loaded(ODSymNMF(3).fit(G), path).item_names_ == list(range(24))
    assert saved_and_loaded(od.factorize(G, 3), path).names == list(range(24))
    with pytest.raises(ValueError, match="1 names for 24 items"):
        loaded.save(path, names=["a"])
    pairs = nx.relabel_nodes(G, lambda i: (i, i))
    for fitted in (ODSymNMF(3).fit(pairs), od.factorize(pairs, 3)):
        with pytest.raises(ValueError, match="must be strings or numbers"):
            fitted.save(path)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{"loss": "mixed"}, {"r": "auto", "sparse_membership": True}])
def test_results(tmp_path, options, dtype):
    A = sparse.csr_array(similarities().astype(dtype))
    f = od.factorize(A, **{"r": 3, **options})
    g = saved_and_loaded(f, tmp_path / "f.npz")
    assert g.H.dtype == f.H.dtype
    names = ["H", "history", "restart_steps", "objective", "status", "n_iter", "loss_terms"]
    assert_same(g, f, [*names, "scales", "converged"])


def test_models_that_cannot_be_saved_are_refused(tmp_path):
    class Own(ODSymNMF):
        pass

    A = similarities()
    with pytest.raises(ValueError, match="affinity is a callable"):
        ODSymNMF(2, affinity=lambda X, Y: X @ Y.T).fit(A).save(tmp_path / "m")
    with pytest.raises(TypeError, match="not a Own"):
        Own(2).fit(A).save(tmp_path / "m")
    with pytest.raises(ValueError, match="not fitted"):
        ODSymNMF(2).save(tmp_path / "m")
    model = ODSymNMF(2, random_state=np.random.default_rng(0), checkpoint=tmp_path / "c").fit(A)
    loaded = saved_and_loaded(model, tmp_path / "m")
    assert (loaded.random_state, loaded.checkpoint) == (None, str(tmp_path / "c"))


# Damaged and foreign files


def code(path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(path) + ".executed",)

    return Evil()


def pickled_array(path):
    np.savez(path, header=np.array(code(path), dtype=object))


def rewritten(change):
    def rewrite(path):
        with np.load(path) as content:
            parts = dict(content)
        header = json.loads(parts.pop("header").item())
        change(header, parts)
        with open(path, "wb") as file:
            np.savez(file, header=np.array(json.dumps(header).encode()), **parts)

    return rewrite


def exaggerated(path):
    header, shape = BytesIO(), {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    np.lib.format.write_array_header_1_0(header, shape)
    with ZipFile(path, "a") as archive:
        archive.writestr("more.npy", header.getvalue())


BAD = {
    "text": (lambda path: path.write_text("a,b\n1,2\n"), "not written by odsymnmf"),
    "pickle": (lambda path: path.write_bytes(pickle.dumps(code(path))), "not written"),
    "exaggerated array": (exaggerated, "Unable to allocate"),
    "foreign npz": (lambda path: np.savez(path, a=np.eye(2)), "not written by odsymnmf"),
    "pickled array": (pickled_array, "allow_pickle=False"),
    "checkpoint": (
        lambda path: write_arrays(path, "checkpoint", {}, {}),
        "contains a checkpoint, not a ODSymNMF or",
    ),
    "newer format": (rewritten(lambda h, a: h.update(format=2)), "in another format"),
    "unknown parameter": (rewritten(lambda h, a: h["parameters"].update(evil=1)), "evil"),
    "no memberships": (rewritten(lambda h, a: a.pop("membership_.data")), "membership_"),
    "other shape": (rewritten(lambda h, a: a.update(labels_=np.zeros(2))), "items or clusters"),
    "indices": (
        rewritten(lambda h, a: a.update({"membership_.indices": a["membership_.indices"] + 9})),
        "ind(ices|ex)",  # depends on the version of SciPy
    ),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_files_are_rejected(tmp_path, bad):
    path = tmp_path / "m.npz"
    A = sparse.csr_array(similarities())
    ODSymNMF("auto", sparse_membership=True).fit(A).save(path)
    spoil, message = BAD[bad]
    spoil(path)
    with pytest.raises(ValueError, match=rf"cannot load .*m\.npz: .*{message}.*Use another copy"):
        od.load(path)
    assert os.listdir(tmp_path) == ["m.npz"]  # nothing was executed


def test_truncated_changed_and_large_files_are_rejected_or_intact(tmp_path, monkeypatch):
    path = tmp_path / "f.npz"
    f = od.factorize(similarities(), 3)
    f.save(path)
    content = path.read_bytes()
    for length in range(0, len(content), 41):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="cannot load"):
            od.load(path)
    for at in range(0, len(content), 17):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        with suppress(ValueError):  # not raised for a time or a flag of the zip file
            assert_array_equal(od.load(path).H, f.H)
    monkeypatch.setattr("odsymnmf.utils.available_memory", lambda: 100)
    monkeypatch.setattr("odsymnmf.utils.MIN_CHECKED", 0)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"f\.npz: it needs .* of memory, but only 0\.0 MiB"):
        od.load(path)


def test_missing_files_raise_oserror(tmp_path):
    with pytest.raises(FileNotFoundError):
        od.load(tmp_path / "m.npz")
    with pytest.raises(
        OSError, match=r"cannot write .*no/m.npz: No such file or directory; choose"
    ):
        od.factorize(similarities(), 3).save(tmp_path / "no" / "m.npz")


# Atomic replacement


KILLED = """
import os, sys
from odsymnmf import persistence
os.fsync = lambda file: os.kill(os.getpid(), 9)  # all is written, but not renamed
persistence.write_arrays(sys.argv[1], "checkpoint", {}, {})
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o600)
    with suppress(KeyboardInterrupt), atomic_write(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["file"])
    process = subprocess.run([sys.executable, "-c", KILLED, path])
    assert (process.returncode, path.read_text()) == (-signal.SIGKILL, "old")
    os.symlink(path, tmp_path / "link")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)
    assert (tmp_path / "link").is_symlink()
    with pytest.raises(FileExistsError, match="not a regular file"), atomic_write("/dev/null"):
        pass


def test_a_failed_write_leaves_the_old_directory(tmp_path, monkeypatch):
    target = tmp_path / "deep" / "run"
    for content in ("old", "new"):
        with atomic_directory(target) as new:
            (new / "file").write_text(content)
        assert (target / "file").read_text() == content
    rename, calls = os.rename, []

    def failing(source, destination):
        calls.append(source)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        rename(source, destination)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match=r"cannot write .*run: No space"), atomic_directory(target):
        pass
    assert (target / "file").read_text() == "new"
    assert os.listdir(tmp_path / "deep") == ["run"]
