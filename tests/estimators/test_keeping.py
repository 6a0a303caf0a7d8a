"""What a model was fitted to: as it was then, or an error; and never in a pickle."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from odsymnmf import ODSymNMF, SymNMF
from odsymnmf.estimators import keeping

FORMS = [np.array, np.asfortranarray, sparse.csr_array]


def double(X):
    values = X.data if sparse.issparse(X) else X
    values *= 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("normalize", [None, "degree"])
@pytest.mark.parametrize("kind", [ODSymNMF, SymNMF])
def test_changes_of_the_callers_array_do_not_reach_a_small_one(A, form, normalize, kind):
    X = form(A)
    model = kind(3, normalize=normalize).fit(X)
    before = model.similarity_.product(np.eye(len(A)))
    double(X)
    assert_array_equal(model.similarity_.product(np.eye(len(A))), before)


@pytest.mark.parametrize("form", FORMS)
def test_a_large_one_says_that_it_was_changed(A, form, monkeypatch, tmp_path):
    monkeypatch.setattr(keeping, "COPIED", 0)
    X = form(A)
    model = ODSymNMF(3, normalize=None).fit(X)
    kept = model.similarity_
    values = kept.A.data if sparse.issparse(X) else kept.A
    assert np.shares_memory(values, X.data if sparse.issparse(X) else X)
    double(X)
    for ask in (
        lambda: model.similarity_,
        lambda: model.overlapping_sets(rule="harm"),
        lambda: model.save(tmp_path / "m.odsym", similarities=True),
    ):
        with pytest.raises(ValueError, match=r"changed since.*Fit again, or fit A.copy\(\)"):
            ask()
    assert list(tmp_path.iterdir()) == []
    assert len(model.overlapping_sets()) == 3
    assert len(model.predict(form(A)[:2])) == 2


@pytest.mark.parametrize(("kind", "noticed"), [(ODSymNMF, False), (SymNMF, True)])
def test_the_diagonal_counts_where_it_is_fitted(A, kind, noticed, monkeypatch):
    monkeypatch.setattr(keeping, "COPIED", 0)
    model = kind(3, normalize=None).fit(A)
    np.fill_diagonal(A, 5.0)
    if noticed:
        with pytest.raises(ValueError, match="changed since"):
            _ = model.similarity_
    else:
        assert model.similarity_.n == len(A)


@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors", lambda X, Y: X @ Y.T])
def test_new_items_are_compared_with_what_was_fitted(blobs, affinity):
    X, new = np.abs(blobs[0][:30]), np.abs(blobs[0][30:35])
    model = ODSymNMF(3, affinity=affinity, n_neighbors=5).fit(X)
    before = model.predict_membership(new)
    double(X)
    assert_array_equal(model.predict_membership(new), before)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("made", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_a_pickle_leaves_it_out(A, form, made, tmp_path):
    model = ODSymNMF(3, normalize="degree").fit(form(A))
    again = made(model)
    assert not hasattr(again, "similarity_")
    with pytest.raises(AttributeError, match=r"left out.*Fit again, or.*similarities=True"):
        _ = again.similarity_
    with pytest.raises(AttributeError, match="left out"):
        again.overlapping_sets(rule="harm")
    with pytest.raises(ValueError, match="without its similarities"):
        again.save(tmp_path / "m.odsym", similarities=True)
    new = form(A)[:4]
    assert_array_equal(again.predict_membership(new), model.predict_membership(new))
    assert again.score(form(A)) == model.score(form(A))
    assert model.similarity_.n == again.fit(form(A)).similarity_.n == len(A)


def test_a_pickle_does_not_grow_with_the_pairs():
    rng = np.random.default_rng(0)
    sizes = []
    for n in (100, 400):
        A = rng.random((n, n))
        model = ODSymNMF(3, max_iter=1, tol=1.0, normalize=None).fit(A + A.T)
        sizes.append(len(pickle.dumps(model)))
    assert sizes[1] < 5 * sizes[0]


def test_a_model_that_was_not_fitted_says_so():
    assert not hasattr(ODSymNMF(2), "similarity_")
    with pytest.raises(AttributeError, match="not fitted yet"):
        _ = ODSymNMF(2).similarity_
