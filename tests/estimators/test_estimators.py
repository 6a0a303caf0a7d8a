"""ODSymNMF and SymNMF as scikit-learn estimators."""

import pickle
import re

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

import odsymnmf as od
from odsymnmf import ODSymNMF, SymNMF


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_fit_is_factorize_with_columns_in_canonical_order(A, groups, loss):
    model = ODSymNMF(3, loss=loss, init="random", random_state=5, normalize=None).fit(A)
    f = od.factorize(A, 3, loss=loss, init="random", random_state=5)
    totals = model.membership_.sum(axis=0)
    assert (np.diff(totals) < 0).all()
    assert_array_equal(model.membership_, f.H[:, np.argsort(-f.H.sum(axis=0))])
    assert model.objective_ == f.objective
    assert_array_equal(model.history_, f.history)
    assert (model.n_iter_, model.converged_) == (f.n_iter, f.converged)
    assert_array_equal(ODSymNMF(3, loss=loss).fit(A).labels_, groups)


def test_symnmf_fits_the_diagonal(A):
    with_diagonal = A + np.diag(np.arange(len(A)))
    assert SymNMF(3, normalize=None).fit(with_diagonal).objective_ == pytest.approx(
        od.factorize(with_diagonal, 3, diagonal="fit").objective
    )
    assert SymNMF(3).fit(with_diagonal).objective_ != SymNMF(3).fit(A).objective_
    assert ODSymNMF(3).fit(with_diagonal).objective_ == ODSymNMF(3).fit(A).objective_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("affinity", ["precomputed", "cosine", "nearest_neighbors"])
def test_floats_are_kept(A, dtype, affinity):
    model = ODSymNMF(3, affinity=affinity).fit(A.astype(dtype))
    assert model.membership_.dtype == dtype
    assert model.predict_membership(A.astype(dtype)).dtype == dtype


def test_clone_repr_pickle_and_joblib(A, tmp_path):
    model = ODSymNMF(3, loss="l1", affinity="cosine", normalize="degree").fit(A)
    assert repr(model) == "ODSymNMF(affinity='cosine', loss='l1', n_clusters=3, normalize='degree')"
    assert not hasattr(clone(model), "membership_")
    assert clone(model).get_params() == model.get_params()
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        assert_array_equal(again.predict(A), model.predict(A))


def test_tags():
    tags = ODSymNMF().__sklearn_tags__()
    assert (tags.estimator_type, tags.input_tags.sparse) == ("clusterer", True)
    assert tags.input_tags.pairwise
    assert not ODSymNMF(affinity="cosine").__sklearn_tags__().input_tags.pairwise


def test_a_subclass_may_fix_options(A):
    class Short(ODSymNMF):
        def __init__(self, n_clusters=3):
            super().__init__(n_clusters, loss="l1", init="random", max_iter=0)

    model = Short().fit(A)
    assert model.n_iter_ == 0
    assert model._scales.l1 == 1


def test_in_a_pipeline():
    texts = ["a cat and a dog", "the dog and the cat", "stocks and bonds fell", "bonds fell"] * 3
    model = make_pipeline(
        TfidfVectorizer(stop_words=["and", "a", "the"]), ODSymNMF(2, affinity="cosine")
    )
    labels = model.fit_predict(texts)
    assert adjusted_rand_score([0, 0, 1, 1] * 3, labels) == 1
    assert_array_equal(model.predict(["cat", "bonds", "unheard"]), [*labels[[0, 3]], -1])


@pytest.mark.parametrize(
    ("option", "match"),
    [
        ({"affinity": "euclidean"}, "affinity='euclidean' is not known; use 'precomputed'"),
        ({"normalize": "l2"}, "normalize='l2' is not known"),
        ({"init": "kmeans"}, "init='kmeans' is not known"),
        ({"n_init": 0}, "n_init must be a whole number >= 1"),
        ({"n_neighbors": -1}, "n_neighbors must be a whole number >= 1"),
        ({"n_clusters": 0}, "must be a whole number >= 1; got 0"),
        ({"loss": "l3"}, "loss='l3' is not known"),
    ],
)
def test_unknown_options(A, option, match):
    with pytest.raises(ValueError, match=match):
        ODSymNMF(**option).fit(A)
    with pytest.raises(ValueError, match=match):
        SymNMF(**option).fit(A)


def test_wrong_input(A):
    with pytest.raises(ValueError, match=r"square matrix of similarities, but has shape \(27, 5\)"):
        ODSymNMF().fit(A[:, :5])
    A[2, 4] += 1
    with pytest.raises(ValueError, match="symmetric"):
        ODSymNMF().fit(A)
    A[2, 4] = np.nan
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        ODSymNMF().fit([[1.0]])
    with pytest.raises(ValueError, match="NaN"):
        SymNMF(affinity="cosine").fit(A)
    with pytest.raises(ValueError, match="is nan, but the diagonal is to be fitted"):
        SymNMF().fit(np.diag([1.0, np.nan]))


def test_bad_new_items(A):
    with pytest.raises(NotFittedError):
        ODSymNMF().predict(A)
    model = ODSymNMF(3).fit(A)
    with pytest.raises(ValueError, match="X has 5 features, but ODSymNMF is expecting 27"):
        model.predict(A[:, :5])
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((1, 27), np.inf))


def test_all_parameters_are_documented_with_their_defaults():
    text = ODSymNMF.__doc__
    for name, default in ODSymNMF().get_params().items():
        default = "1e-4" if name == "tol" else re.escape(str(default))
        assert re.search(rf'\n    {name} : [^:]*default="?{default}"?\n', text), name
    assert set(SymNMF().get_params()) == set(ODSymNMF().get_params())
