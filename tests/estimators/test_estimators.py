"""ODSymNMF and SymNMF as a scikit-learn user meets them."""

import pickle
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import __version__ as sklearn_version
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel
from sklearn.pipeline import make_pipeline

import odsymnmf as od
from odsymnmf import ODSymNMF, SymNMF, observers
from odsymnmf.estimators import base
from odsymnmf.similarity import as_similarity, cosine, degree_normalized, inverse_root_degrees

# Not in order: sweeps from any start tend to give the first column to the first items.
GROUPS = np.random.RandomState(1).permutation(np.repeat([0, 1, 2], [12, 9, 6]))


@pytest.fixture
def A():
    """Three groups of different sizes with a few wrong links."""
    rng = np.random.RandomState(0)
    A = (GROUPS[:, None] == GROUPS).astype(float)
    flips = np.triu(rng.uniform(size=A.shape) < 0.05, 1)
    A = np.abs(A - (flips | flips.T))
    np.fill_diagonal(A, 0)
    return A


@pytest.fixture
def blobs():
    return make_blobs(60, centers=3, cluster_std=0.5, random_state=0)


# What is fitted


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_it_is_factorize_with_columns_in_canonical_order(A, loss):
    model = ODSymNMF(3, loss=loss, init="random", random_state=5).fit(A)
    f = od.factorize(A, 3, loss=loss, init="random", random_state=5)
    totals = model.membership_.sum(axis=0)
    assert (np.diff(totals) < 0).all()
    assert_array_equal(model.membership_, f.H[:, np.argsort(-f.H.sum(axis=0))])
    assert model.objective_ == f.objective
    assert_array_equal(model.history_, f.history)
    assert (model.n_iter_, model.converged_) == (f.n_iter, f.converged)
    assert_array_equal(ODSymNMF(3, loss=loss).fit(A).labels_, GROUPS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_cluster_numbers_do_not_wander(A):
    found = [ODSymNMF(3, init="random", random_state=s, tol=1e-7).fit(A) for s in range(8)]
    best = min(model.objective_ for model in found)
    same = [model for model in found if model.objective_ < 1.0001 * best]
    assert len(same) >= 5
    for model in same:
        assert_allclose(model.membership_, same[0].membership_, atol=1e-2)


def test_fit_predict_and_fit_transform_return_the_attributes(A):
    model = ODSymNMF(3)
    assert_array_equal(model.fit_predict(A), model.labels_)
    assert model.fit_transform(A) is model.membership_
    assert model.labels_.dtype.kind == "i"


def test_symnmf_fits_the_diagonal(A):
    with_diagonal = A + np.diag(np.arange(len(A)))
    assert SymNMF(3).fit(with_diagonal).objective_ == pytest.approx(
        od.factorize(with_diagonal, 3, diagonal="fit").objective
    )
    assert SymNMF(3).fit(with_diagonal).objective_ != SymNMF(3).fit(A).objective_
    assert ODSymNMF(3).fit(with_diagonal).objective_ == ODSymNMF(3).fit(A).objective_


@pytest.mark.parametrize("normalize", [None, "degree"])
def test_the_diagonal_is_never_looked_at(A, normalize):
    H = ODSymNMF(3, normalize=normalize).fit(A).membership_
    for anything in (np.nan, np.inf, 1e300):
        np.fill_diagonal(A, anything)
        assert_array_equal(ODSymNMF(3, normalize=normalize).fit(A).membership_, H)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.coo_matrix, pd.DataFrame, list])
def test_containers_agree(A, container):
    given = A.tolist() if container is list else container(A)
    H = ODSymNMF(3).fit(given).membership_
    assert_allclose(H, ODSymNMF(3).fit(A).membership_, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("affinity", ["precomputed", "cosine"])
def test_floats_are_kept(A, dtype, affinity):
    model = ODSymNMF(3, affinity=affinity).fit(A.astype(dtype))
    assert model.membership_.dtype == dtype
    assert model.predict_membership(A.astype(dtype)).dtype == dtype


# Affinities and normalisation


def test_cosine_is_the_cosine_matrix(A):
    start = np.random.RandomState(0).uniform(size=(27, 3))
    direct = ODSymNMF(3, init=start).fit(cosine_similarity(A))
    for X in (A, sparse.csr_array(A)):
        model = ODSymNMF(3, affinity="cosine", init=start).fit(X)
        assert_allclose(model.membership_, direct.membership_, atol=1e-8)
        assert_allclose(
            model.predict_membership(X), direct.predict_membership(cosine_similarity(A))
        )


@pytest.mark.parametrize("gamma", [None, 0.7])
def test_rbf_is_the_kernel_matrix(blobs, gamma):
    X, y = blobs
    model = ODSymNMF(3, affinity="rbf", gamma=gamma).fit(X)
    K = rbf_kernel(X, gamma=gamma)
    assert_allclose(model.membership_, ODSymNMF(3).fit(K).membership_, atol=1e-10)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_nearest_neighbors_is_a_sparse_symmetric_graph(blobs):
    X, y = blobs
    nearest = np.argsort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)[:, 1:6]
    G = np.zeros((60, 60))
    np.put_along_axis(G, nearest, 1, axis=1)
    G = np.maximum(G, G.T)
    model = ODSymNMF(3, affinity="nearest_neighbors", n_neighbors=5).fit(X)
    assert_allclose(model.membership_, ODSymNMF(3).fit(sparse.csr_array(G)).membership_)
    assert adjusted_rand_score(y, model.predict(X)) > 0.9


def test_more_neighbours_than_items():
    X = np.array([[0.0], [0.1], [5.0]])
    model = ODSymNMF(2, affinity="nearest_neighbors", n_neighbors=10).fit(X)
    assert model.membership_.shape == (3, 2)


def test_a_callable_is_called_with_both_sides(blobs):
    X, _ = blobs
    shapes = []

    def affinity(X, Y):
        shapes.append((len(X), len(Y)))
        return rbf_kernel(X, Y)

    model = ODSymNMF(3, affinity=affinity).fit(X)
    assert_allclose(model.membership_, ODSymNMF(3, affinity="rbf").fit(X).membership_)
    model.predict(X[:7])
    assert shapes == [(60, 60), (7, 60)]


def by_hand(A):
    d = A.sum(axis=1)
    s = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
    return A * s[:, None] * s


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_degree_normalisation(A, container):
    A[5] = A[:, 5] = 0  # an isolated item stays one
    model = ODSymNMF(3, normalize="degree").fit(container(A))
    assert_allclose(model.membership_, ODSymNMF(3).fit(by_hand(A)).membership_, atol=1e-6)
    assert model.labels_[5] == -1


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_degree_normalisation_of_documents(container):
    X = np.random.RandomState(0).poisson(0.3, size=(40, 30)).astype(float)
    X[7] = 0
    X[8], X[:, 29] = 0, 0
    X[8, 29] = 2  # a word of its own: similar to nothing
    K = cosine_similarity(X)
    np.fill_diagonal(K, 0)
    start = np.random.RandomState(0).uniform(size=(40, 3))
    model = ODSymNMF(3, affinity="cosine", normalize="degree", init=start).fit(container(X))
    direct = ODSymNMF(3, init=start).fit(by_hand(K))
    assert_allclose(model.membership_, direct.membership_, atol=1e-7)
    assert_array_equal(model.labels_[[7, 8]], -1)
    A = degree_normalized(K)
    assert od.objective(A, model.membership_) == pytest.approx(model.objective_)


def test_documents_with_no_word_in_common_have_no_degree():
    words = np.random.RandomState(0).uniform(size=(30, 40))
    X = (np.eye(30)[:, :, None] * words).reshape(30, -1)
    A = cosine(X)
    assert A.product(np.ones(30)).any()  # rounding
    assert_array_equal(inverse_root_degrees(A), 0)


def test_negative_degrees_are_refused(A):
    A[3] = A[:, 3] = -1
    with pytest.raises(ValueError, match="the similarities of item 3 sum to -26"):
        ODSymNMF(3, normalize="degree").fit(A)


# Starts


def test_n_init_keeps_the_best_and_n_jobs_changes_nothing(A):
    settings = {"n_clusters": 3, "loss": "l1", "init": "random", "random_state": 1}
    alone = ODSymNMF(**settings, n_init=6).fit(A)
    for n_jobs in (2, 4, -1):
        model = ODSymNMF(**settings, n_init=6, n_jobs=n_jobs).fit(A)
        assert_array_equal(model.membership_, alone.membership_)
        assert_array_equal(model.history_, alone.history_)
    assert alone.objective_ < ODSymNMF(**settings).fit(A).objective_


def test_the_first_start_is_init_and_the_others_are_random(A, monkeypatch):
    calls = []

    def spy(*args, init, random_state, **kwargs):
        calls.append((init, random_state))
        return od.factorize(*args, init=init, random_state=random_state, **kwargs)

    monkeypatch.setattr(base, "factorize", spy)
    ODSymNMF(3, init="greedy", n_init=4, random_state=7).fit(A)
    inits, seeds = zip(*calls, strict=True)
    assert inits == ("greedy", "random", "random", "random")
    assert seeds[0] == 7
    assert len(set(seeds)) == 4


def test_a_start_may_be_given(A):
    start = np.random.RandomState(1).uniform(size=(27, 3))
    model = ODSymNMF(3, init=start, max_iter=0).fit(A)
    assert model.objective_ == pytest.approx(od.objective(A, start))


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_generators_seed_as_well(A, make):
    settings = {"init": "random", "n_init": 3, "max_iter": 500}
    one = ODSymNMF(3, **settings, random_state=make(3)).fit(A)
    other = ODSymNMF(3, **settings, random_state=make(3), n_jobs=2).fit(A)
    assert_array_equal(one.membership_, other.membership_)


def test_one_warning_where_the_best_start_has_not_converged(A):
    with pytest.warns(ConvergenceWarning, match="max_iter=2") as caught:
        model = ODSymNMF(3, init="random", n_init=5, max_iter=2, random_state=0).fit(A)
    assert len(caught) == 1
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ODSymNMF(3, max_iter=2, tol=10).fit(A).converged_


# Progress and callbacks


def test_verbose_shows_objective_and_rate(A, capsys):
    model = ODSymNMF(3, n_init=2, verbose=1, random_state=0).fit(A)
    shown = capsys.readouterr().err
    assert "ODSymNMF" in shown
    assert f"objective={model.objective_:.4g}"[:-1] in shown
    assert "sweep/s" in shown
    ODSymNMF(3).fit(A)
    assert capsys.readouterr().err == ""


def test_verbose_without_tqdm_says_what_to_install(A, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r'pip install "odsymnmf\[progress\]"'):
        ODSymNMF(3, verbose=1).fit(A)
    ODSymNMF(3).fit(A)


needs_callbacks = pytest.mark.skipif(
    not hasattr(ODSymNMF, "set_callbacks"),
    reason=f"scikit-learn {sklearn_version} has no callbacks (1.9 does)",
)


class Recorder:
    """A callback of scikit-learn's protocol that keeps what it sees."""

    def __init__(self, stop_after=10**9):
        self.stop_after = stop_after
        self.events, self.objectives, self.labels = [], [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        if fitted_estimator is not None:
            H = fitted_estimator.membership_
            self.objectives.append(od.objective(X, H))
            self.labels.append(fitted_estimator.predict(X))
        return context.task_name == "sweep" and len(self.objectives) >= self.stop_after


@needs_callbacks
def test_callbacks_see_every_sweep(A):
    seen = Recorder()
    model = ODSymNMF(3).set_callbacks(seen).fit(A)
    assert seen.events[:4] == ["setup", "begin fit", "begin start", "begin sweep"]
    assert seen.events[-3:] == ["end start", "end fit", "teardown"]
    assert_allclose(seen.objectives, model.history_[1:], rtol=1e-9)
    assert seen.events.count("begin sweep") == seen.events.count("end sweep")
    assert len(seen.labels[-1]) == 27


@needs_callbacks
def test_callbacks_can_stop_a_fit(A):
    model = ODSymNMF(3, init="random", random_state=0).set_callbacks(Recorder(stop_after=2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # stopped on request: nothing to warn of
        model.fit(A)
    assert model.n_iter_ == 2


@needs_callbacks
def test_callbacks_at_the_last_sweep_and_with_threads(A):
    seen = Recorder()
    model = ODSymNMF(3, max_iter=3, tol=0, n_init=3, n_jobs=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.set_callbacks(seen).fit(A)
    assert seen.events.count("end start") == 3
    assert seen.events.count("end sweep") == 9


# Life as a scikit-learn estimator


def test_clone_repr_pickle(A):
    model = ODSymNMF(3, loss="l1", affinity="cosine", normalize="degree").fit(A)
    assert repr(model) == "ODSymNMF(affinity='cosine', loss='l1', n_clusters=3, normalize='degree')"
    assert not hasattr(clone(model), "membership_")
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(A), model.predict(A))


def test_names_of_a_data_frame_are_kept(A):
    names = [f"item {i}" for i in range(27)]
    frame = pd.DataFrame(A, index=names, columns=names)
    model = ODSymNMF(3).set_output(transform="pandas")
    H = model.fit_transform(frame)
    assert list(model.feature_names_in_) == names
    assert list(H.index) == names
    assert list(H.columns) == ["odsymnmf0", "odsymnmf1", "odsymnmf2"]
    assert_array_equal(H, model.membership_)
    model.predict(frame.iloc[:2])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.iloc[:2, ::-1])


@pytest.mark.parametrize("estimator", [ODSymNMF, SymNMF])
def test_tags(estimator):
    tags = estimator().__sklearn_tags__()
    assert tags.estimator_type == "clusterer"
    assert tags.input_tags.pairwise
    assert tags.input_tags.sparse
    assert not estimator(affinity="cosine").__sklearn_tags__().input_tags.pairwise


def test_in_a_pipeline():
    texts = ["a cat and a dog", "the dog and the cat", "stocks and bonds fell", "bonds fell"] * 3
    model = make_pipeline(
        TfidfVectorizer(stop_words=["and", "a", "the"]), ODSymNMF(2, affinity="cosine")
    )
    labels = model.fit_predict(texts)
    assert adjusted_rand_score([0, 0, 1, 1] * 3, labels) == 1
    assert_array_equal(model.predict(["cat", "bonds", "unheard"]), [*labels[[0, 3]], -1])


# Errors


@pytest.mark.parametrize("estimator", [ODSymNMF, SymNMF])
@pytest.mark.parametrize(
    ("option", "match"),
    [
        ({"affinity": "euclidean"}, "affinity='euclidean' is not known; use 'precomputed'"),
        ({"normalize": "l2"}, "normalize='l2' is not known"),
        ({"init": "kmeans"}, "init='kmeans' is not known"),
        ({"n_init": 0}, "n_init must be a whole number >= 1"),
        ({"max_iter": 1.5}, "max_iter must be a whole number >= 0"),
        ({"n_neighbors": -1}, "n_neighbors must be a whole number >= 1"),
        ({"n_clusters": 0}, "must be a whole number >= 1; got 0"),
        ({"tol": -1}, "tol must be"),
        ({"upper": 0}, "upper must be"),
        ({"random_state": "yes"}, "cannot seed"),
    ],
)
def test_unknown_options(A, estimator, option, match):
    with pytest.raises(ValueError, match=match):
        estimator(**option).fit(A)


def test_unknown_loss(A):
    with pytest.raises(ValueError, match="loss='l3' is not known"):
        ODSymNMF(loss="l3").fit(A)


def test_wrong_input(A):
    with pytest.raises(ValueError, match=r"square matrix of similarities, but has shape \(27, 5\)"):
        ODSymNMF().fit(A[:, :5])
    A[2, 4] += 1
    with pytest.raises(ValueError, match="symmetric"):
        ODSymNMF().fit(A)
    A[2, 4] = A[4, 2] = np.nan
    for kind in (np.array, sparse.csr_array):
        with pytest.raises(ValueError, match="NaN"):
            ODSymNMF().fit(kind(A))
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        ODSymNMF().fit([[1.0]])
    with pytest.raises(ValueError, match="NaN"):
        SymNMF(affinity="cosine").fit(A)
    with pytest.raises(ValueError, match="NaN"):
        SymNMF().fit(np.diag([1.0, np.nan]))


def test_unfitted_use(A):
    for method in ("predict", "predict_membership", "get_feature_names_out"):
        with pytest.raises((NotFittedError, AttributeError)):
            getattr(ODSymNMF(), method)(A)


def test_new_items_of_the_wrong_size(A):
    model = ODSymNMF(3).fit(A)
    with pytest.raises(ValueError, match="X has 5 features, but ODSymNMF is expecting 27"):
        model.predict(A[:, :5])
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((1, 27), np.inf))


# Docstrings


def parameters(estimator):
    """Return the text about each parameter and attribute in the docstring."""
    blocks, name = {}, None
    for line in estimator.__doc__.splitlines():
        if line.startswith("    ") and line[4:5].strip() and " : " in line:
            name = line.split(" : ")[0].strip()
            blocks[name] = [line]
        elif name and line.strip() in ("Attributes", "See Also"):
            name = None
        elif name:
            blocks[name].append(line)
    return blocks


def test_docstrings_tell_of_all_parameters_and_do_not_drift():
    ours, baseline = parameters(ODSymNMF), parameters(SymNMF)
    assert set(ODSymNMF().get_params()) <= set(ours)
    assert set(SymNMF().get_params()) == set(ODSymNMF().get_params()) - {"loss"}
    for name in [*SymNMF().get_params(), "membership_", "labels_", "history_"]:
        assert ours[name] == baseline[name], name
    for name, default in ODSymNMF().get_params().items():
        shown = f'default="{default}"' if isinstance(default, str) else f"default={default}"
        text = "\n".join(ours[name][:2])
        assert shown in text or (name == "tol" and "default=1e-4" in text), name


def test_interrupting_a_start_leaves_the_others_out(monkeypatch, A):
    """Ctrl-C in the second of five starts: the first two are compared, no third begins."""
    begun = []
    original = base.factorize

    def interrupting(*args, callback, **options):
        begun.append(options["init"])

        def press(sweep):
            if len(begun) == 2:
                raise KeyboardInterrupt
            return callback(sweep)

        return original(*args, callback=press, **options)

    monkeypatch.setattr(base, "factorize", interrupting)
    model = ODSymNMF(3, n_init=5, random_state=0).fit(A)
    assert begun == ["greedy", "random"]
    assert np.isfinite(model.membership_).all()


def test_verbose_2_prints_a_line_now_and_then(A, capsys, monkeypatch):
    """The first sweep, and then when time has passed; no bar, so no carriage return."""
    clock = iter(range(0, 10_000, 2))
    monkeypatch.setattr(observers.time, "monotonic", lambda: float(next(clock)))
    model = ODSymNMF(3, init="random", tol=0, max_iter=9, verbose=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(A)
    shown = capsys.readouterr().err
    lines = shown.splitlines()
    assert "\r" not in shown
    assert [line.split(",")[0] for line in lines] == [
        f"ODSymNMF: sweep {k} of at most 9" for k in (1, 4, 7)
    ]
    assert lines[0].endswith(f"objective {model.history_[1]:.6g}")
    assert lines[-1].endswith(f"objective {model.history_[7]:.6g}, at most 4 s left")


@pytest.mark.parametrize("normalize", [None, "degree"])
def test_similarity_is_what_was_fitted(A, normalize):
    model = ODSymNMF(3, normalize=normalize).fit(A)
    expected = A if normalize is None else degree_normalized(A)
    V = np.random.default_rng(0).uniform(size=(len(A), 2))
    assert np.array_equal(model.similarity_.product(V), as_similarity(expected).product(V))
    assert model.objective_ == pytest.approx(od.objective(model.similarity_, model.membership_))


def test_interrupting_between_starts_keeps_those_done(monkeypatch, A):
    """Ctrl-C where no sweep is under way; before the first start is done, it is passed on."""
    begun = []
    original = base.factorize

    def interrupting(*args, **options):
        begun.append(options["init"])
        if len(begun) == limit:
            raise KeyboardInterrupt
        return original(*args, **options)

    monkeypatch.setattr(base, "factorize", interrupting)
    limit = 3
    model = ODSymNMF(3, n_init=5, random_state=0).fit(A)
    assert len(begun) == 3
    assert model.objective_ == ODSymNMF(3, n_init=2, random_state=0).fit(A).objective_
    begun.clear()
    limit = 1
    with pytest.raises(KeyboardInterrupt):
        ODSymNMF(3, n_init=5).fit(A)
