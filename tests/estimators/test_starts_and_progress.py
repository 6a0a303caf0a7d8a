"""Several starts, progress, callbacks, and Ctrl-C on the way."""

import os
import signal
import sys
import threading
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import __version__ as sklearn_version
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf import ODSymNMF, progress
from odsymnmf.fit import InterruptedWarning

# Starts


def test_n_init_keeps_the_best_and_n_jobs_changes_nothing(A):
    settings = {"n_clusters": 3, "loss": "l1", "init": "random", "random_state": 1}
    alone = ODSymNMF(**settings, n_init=6, n_jobs=1).fit(A)
    for n_jobs in (2, 4, 13, -1):
        model = ODSymNMF(**settings, n_init=6, n_jobs=n_jobs).fit(A)
        assert_array_equal(model.membership_, alone.membership_)
        assert_array_equal(model.history_, alone.history_)
    assert alone.objective_ < ODSymNMF(**settings).fit(A).objective_


def test_the_first_start_is_init_and_the_others_are_random(A):
    options = {"max_iter": 0, "n_init": 4, "random_state": 7, "normalize": None}
    good = ODSymNMF(3, normalize=None).fit(A).membership_
    assert ODSymNMF(3, init=good, **options).fit(A).objective_ == od.objective(A, good)
    bad = np.ones((27, 3))
    models = [ODSymNMF(3, init=bad, **options).fit(A) for _ in range(2)]
    assert models[0].objective_ < od.objective(A, bad)
    assert_array_equal(models[0].membership_, models[1].membership_)


def test_a_start_may_be_given(A):
    start = np.random.RandomState(1).uniform(size=(27, 3))
    model = ODSymNMF(3, init=start, max_iter=0, normalize=None).fit(A)
    assert model.objective_ == pytest.approx(od.objective(A, start))


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_generators_seed_as_well(A, make):
    settings = {"init": "random", "n_init": 3, "max_iter": 500}
    one = ODSymNMF(3, **settings, random_state=make(3), n_jobs=1).fit(A)
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


def test_verbose_shows_a_bar_with_the_objective(A, capsys):
    model = ODSymNMF(3, n_init=2, verbose=1, random_state=0).fit(A)
    shown = capsys.readouterr().err
    assert "ODSymNMF" in shown
    assert f"objective {model.objective_:.4g}"[:-1] in shown
    ODSymNMF(3).fit(A)
    assert capsys.readouterr().err == ""


def test_verbose_without_tqdm_says_what_to_install(A, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r'pip install "odsymnmf\[progress\]"'):
        ODSymNMF(3, verbose=1).fit(A)
    ODSymNMF(3).fit(A)


def test_verbose_2_prints_a_line_every_five_seconds(A, capsys, monkeypatch):
    clock = iter(range(0, 10_000))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    model = ODSymNMF(3, init="random", tol=0, max_iter=9, verbose=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(A)
    shown = capsys.readouterr().err
    lines = shown.splitlines()
    assert "\r" not in shown
    assert [line.split(",")[0] for line in lines] == [
        f"ODSymNMF: iteration {k} of at most 9" for k in (1, 6)
    ]
    assert lines[0].endswith(f"objective {model.history_[1]:.6g}")
    assert lines[-1].endswith(f"objective {model.history_[6]:.6g}")


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
    model = ODSymNMF(3, normalize=None).set_callbacks(seen).fit(A)
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


# Ctrl-C and errors


class Failing(Recorder):
    """Raise an error at the end of a sweep, counted over all starts, or at the begin of a start."""

    def __init__(self, error, *, sweep=None, start=None):
        super().__init__()
        self.error, self.sweep, self.start = error, sweep, start

    def on_fit_task_begin(self, estimator, context):
        super().on_fit_task_begin(estimator, context)
        if self.start is not None and self.events.count("begin start") == self.start:
            raise self.error

    def on_fit_task_end(self, estimator, context, **info):
        self.events.append(f"end {context.task_name}")
        starts, sweeps = self.events.count("begin start"), self.events.count("end sweep")
        if self.sweep is not None and (starts, sweeps) >= self.sweep:
            self.sweep = None
            raise self.error


@needs_callbacks
def test_interrupting_a_start_compares_those_begun_and_begins_no_other(A):
    callback = Failing(KeyboardInterrupt, sweep=(2, 0))
    model = ODSymNMF(3, n_init=5, random_state=0).set_callbacks(callback)
    with pytest.warns(InterruptedWarning):
        model.fit(A)
    assert callback.events.count("begin start") == 2
    assert model.status_ == "interrupted"
    assert np.isfinite(model.membership_).all()


@needs_callbacks
def test_interrupting_between_starts_keeps_those_done(A):
    model = ODSymNMF(3, n_init=5, random_state=0)
    with pytest.warns(InterruptedWarning):
        model.set_callbacks(Failing(KeyboardInterrupt, start=3)).fit(A)
    two = ODSymNMF(3, n_init=2, random_state=0).fit(A)
    assert model.objective_ == two.objective_
    with pytest.raises(KeyboardInterrupt):  # before the first start is done
        model.set_callbacks(Failing(KeyboardInterrupt, start=1)).fit(A)


@needs_callbacks
def test_an_error_in_a_thread_stops_the_other_starts(A):
    model = ODSymNMF(3, n_init=2, n_jobs=2, tol=0, max_iter=10**7, random_state=0)
    with pytest.raises(ValueError, match="bad"):
        model.set_callbacks(Failing(ValueError("bad"), sweep=(2, 50))).fit(A)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_all_starts_and_keeps_the_best():
    A = np.random.default_rng(0).random((300, 300))
    model = ODSymNMF(20, n_init=4, n_jobs=2, tol=0, max_iter=10**6, random_state=0)
    ODSymNMF(20, max_iter=1, tol=10).fit(A + A.T)  # compiles the kernels
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.warns(InterruptedWarning):
        model.fit(A + A.T)
    assert model.status_ == "interrupted"
    assert np.isfinite(model.membership_).all()
    assert model.n_iter_ > 0
