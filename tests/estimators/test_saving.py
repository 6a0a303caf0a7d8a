"""Models as files: what comes back predicts the same bits, and what is forged is refused."""

import json
import pickle
import struct
from hashlib import sha256

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import odsymnmf as od
from odsymnmf import ODSymNMF, SymNMF, storage
from odsymnmf.result import Factorization

FITTED = ("membership_", "labels_", "history_", "restarts_", "objective_", "status_", "n_iter_")


def again(model, path, **options):
    model.save(path, **options)
    return od.load(path)


@pytest.mark.parametrize("kind", [ODSymNMF, SymNMF])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("normalize", [None, "degree"])
def test_a_model_of_similarities_comes_back(A, tmp_path, kind, form, normalize):
    zero_weight = 0.5 if form is sparse.csr_array else 1.0
    options = {"normalize": normalize, "zero_weight": zero_weight, "upper": 0.9}
    model = kind(3, **options, random_state=1).fit(form(A))
    loaded = again(model, tmp_path / "m.odsym")
    assert type(loaded) is kind
    assert loaded.get_params() == model.get_params()
    for name in FITTED:
        assert_array_equal(getattr(loaded, name), getattr(model, name))
    new = form(A[:5])
    assert_array_equal(loaded.predict_membership(new), model.predict_membership(new))
    assert not hasattr(loaded, "similarity_")


@pytest.mark.parametrize("affinity", ["cosine", "rbf", "nearest_neighbors"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("loss", ["l2", "mixed"])
def test_a_model_of_features_comes_back(blobs, tmp_path, affinity, form, loss):
    X = np.abs(blobs[0])
    options = {"affinity": affinity, "loss": loss, "restarts": 0, "tol": 1e-2}
    model = ODSymNMF(3, **options, normalize="degree", gamma=0.3).fit(form(X[:50]))
    loaded = again(model, tmp_path / "m.odsym")
    assert_array_equal(
        loaded.predict_membership(form(X[50:])), model.predict_membership(form(X[50:]))
    )


def test_names_similarities_and_an_array_as_start_come_back(A, tmp_path):
    init = np.random.RandomState(0).uniform(size=(27, 3))
    names = [f"item {i}\ud800" for i in range(27)]
    model = ODSymNMF(3, init=init, normalize=None).fit(A)
    loaded = again(model, tmp_path / "m.odsym", similarities=True, names=names)
    assert loaded.item_names_ == names
    assert_array_equal(loaded.init, init)
    assert_array_equal(loaded.similarity_.A, A)
    assert again(loaded, tmp_path / "n.odsym").item_names_ == names
    with pytest.raises(ValueError, match="without its similarities"):
        again(loaded, tmp_path / "n.odsym").save(tmp_path / "o.odsym", similarities=True)
    with pytest.raises(ValueError, match="27 texts"):
        model.save(tmp_path / "p.odsym", names=["a"])


@pytest.mark.parametrize("form", ["sparse", "gram", "unknown"])
def test_every_kind_of_similarities_comes_back(A, tmp_path, form):
    unknown = A.copy()
    unknown[0, 1] = unknown[1, 0] = np.nan
    X = {"sparse": sparse.csr_array(unknown), "gram": A, "unknown": unknown}[form]
    affinity = "cosine" if form == "gram" else "precomputed"
    model = ODSymNMF(3, affinity=affinity).fit(X)
    loaded = again(model, tmp_path / "m.odsym", similarities=True)
    H = model.membership_
    assert od.objective(loaded.similarity_, H) == od.objective(model.similarity_, H)


def test_a_factorization_comes_back(A, tmp_path):
    f = od.factorize(A, 3, loss="mixed")
    f.save(tmp_path / "f.odsym")
    g = od.load(tmp_path / "f.odsym")
    assert isinstance(g, Factorization)
    assert (g.objective, g.status, g.n_iter, g.mix) == (f.objective, f.status, f.n_iter, f.mix)
    assert g.scales == f.scales
    for name in ("H", "history", "restarts"):
        assert_array_equal(getattr(g, name), getattr(f, name))


def test_what_cannot_be_saved_says_why(A, tmp_path):
    class Own(ODSymNMF):
        pass

    with pytest.raises(ValueError, match="affinity is a callable"):
        ODSymNMF(2, affinity=lambda X, Y: X @ Y.T).fit(A).save(tmp_path / "m")
    with pytest.raises(TypeError, match="not a Own"):
        Own(2).fit(A).save(tmp_path / "m")
    with pytest.raises(ValueError, match="not fitted"):
        ODSymNMF(2).save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_the_same_model_is_the_same_bytes(A, tmp_path):
    for name in ("one", "other"):
        ODSymNMF(3, random_state=0).fit(A).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def forged(path, change):
    """Rewrite a model with sound checksums but another header or other arrays."""
    header, arrays = storage.read(path, "model")
    change(header, arrays)
    storage.write(path, "model", header, arrays)


FORGERIES = {
    "class": lambda h, a: h.update({"class": "os.system"}),
    "class a list": lambda h, a: h.update({"class": []}),
    "parameter": lambda h, a: h["parameters"].update(evil=1),
    "parameter list": lambda h, a: h["parameters"].update(tol=[1]),
    "parameters": lambda h, a: h.update(parameters=3),
    "affinity": lambda h, a: h["parameters"].update(affinity="cosine"),
    "status": lambda h, a: h["fitted"].update(status_="won"),
    "n_iter": lambda h, a: h["fitted"].update(n_iter_="3"),
    "features": lambda h, a: h.update(features=10**9),
    "features text": lambda h, a: h.update(features="x"),
    "names": lambda h, a: h.update(names=["a"]),
    "names number": lambda h, a: h.update(names=7),
    "scales": lambda h, a: h.update(scales=[1, 2, 3]),
    "scales nan": lambda h, a: h.update(scales=[0.0, float("nan")]),
    "scales below zero": lambda h, a: h.update(scales=[-1.0, 1.0]),
    "no scales": lambda h, a: h.update(scales=[0.0, 0.0]),
    "n_iter below zero": lambda h, a: h["fitted"].update(n_iter_=-1),
    "zero_weight": lambda h, a: h["parameters"].update(zero_weight="x"),
    "zero_weight below zero": lambda h, a: h["parameters"].update(zero_weight=-1.0),
    "mix": lambda h, a: h.update(mix=[]),
    "no fitted": lambda h, a: h.pop("fitted"),
    "no H": lambda h, a: a.pop("membership_"),
    "H nan": lambda h, a: a.update(membership_=np.full((27, 3), np.nan)),
    "H flat": lambda h, a: a.update(membership_=np.ones(27)),
    "H other": lambda h, a: a.update(membership_=np.ones((5, 3))),
    "history": lambda h, a: a.update(history_=np.zeros(0)),
    "restarts": lambda h, a: a.update(restarts_=np.ones(1)),
    "roots": lambda h, a: a.update(affinity_roots=np.ones(5)),
    "terms": lambda h, a: h.update(terms=["x"] * 5),
    "idf": lambda h, a: (h.update(terms=["x"] * 27), a.update(idf=np.ones(27))),
    "idf size": lambda h, a: (h.update(terms=list(map(str, range(27)))), a.update(idf=np.ones(2))),
    "similarity": lambda h, a: h["similarity"].update(kind="pickle"),
    "similarity size": lambda h, a: a.update(similarity_A=np.ones((5, 5))),
    "similarity flat": lambda h, a: a.update(similarity_A=np.ones(27)),
    "background": lambda h, a: h["similarity"].update(background=[]),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_model_is_refused(A, tmp_path, forgery):
    path = tmp_path / "m.odsym"
    ODSymNMF(3).fit(A).save(path, similarities=True)
    forged(path, FORGERIES[forgery])
    with pytest.raises(storage.StorageError, match="damaged"):
        od.load(path)


def test_foreign_and_damaged_files_are_refused(A, tmp_path):
    path = tmp_path / "m.odsym"
    path.write_bytes(pickle.dumps(ODSymNMF(3)))
    with pytest.raises(storage.StorageError, match="not written by odsymnmf"):
        od.load(path)
    ODSymNMF(3).fit(A).save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(whole)
        if rng.random() < 0.5:
            damaged = damaged[: rng.integers(len(whole))]
        else:
            damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        with pytest.raises(storage.StorageError):
            od.load(path)


def test_a_model_of_another_kind_of_file_is_named(tmp_path):
    text = json.dumps({"kind": "checkpoint", "header": {}, "arrays": []}).encode()
    start = struct.pack("<8sIQ32s", b"\x93odsym\r\n", 1, len(text), sha256(text).digest())
    (tmp_path / "c").write_bytes(start + text)
    with pytest.raises(storage.StorageError, match="holds a 'checkpoint', not a 'model'"):
        od.load(tmp_path / "c")
