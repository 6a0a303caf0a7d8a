"""Several starts, progress and Ctrl-C."""

import os
import signal
import threading
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf import ODSymNMF, fit
from odsymnmf.fit import InterruptedWarning


@pytest.mark.parametrize("make", [int, np.random.RandomState, np.random.default_rng])
def test_n_init_returns_the_best_fit_for_any_n_jobs(A, make):
    def fitted(**options):
        # Few sweeps: the starts end at different memberships.
        return ODSymNMF(3, init="random", tol=1, random_state=make(1), **options).fit(A)

    sequential = fitted(n_init=6, n_jobs=1)
    for n_jobs in (2, 4, 13, -1):
        model = fitted(n_init=6, n_jobs=n_jobs)
        assert_array_equal(model.membership_, sequential.membership_)
        assert_array_equal(model.history_, sequential.history_)
    assert sequential.objective_ < fitted().objective_


def test_the_first_start_is_init_and_the_others_are_random(A):
    options = {"max_iter": 0, "n_init": 4, "random_state": 7, "normalize": None}
    good = ODSymNMF(3, normalize=None).fit(A).membership_
    assert ODSymNMF(3, init=good, **options).fit(A).objective_ == od.objective(A, good)
    bad = np.ones((27, 3))
    models = [ODSymNMF(3, init=bad, **options).fit(A) for _ in range(2)]
    assert models[0].objective_ < od.objective(A, bad)
    assert_array_equal(models[0].membership_, models[1].membership_)


def test_one_warning_where_the_best_start_has_not_converged(A):
    with pytest.warns(ConvergenceWarning, match="max_iter=2") as caught:
        model = ODSymNMF(3, init="random", n_init=5, max_iter=2, random_state=0).fit(A)
    assert len(caught) == 1
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ODSymNMF(3, max_iter=2, tol=10).fit(A).converged_


def test_verbose_shows_a_bar_with_the_objective(A, capsys):
    model = ODSymNMF(3, n_init=2, verbose=1, random_state=0).fit(A)
    shown = capsys.readouterr().err
    assert "ODSymNMF" in shown
    assert f"objective {model.objective_:.4g}"[:-1] in shown
    ODSymNMF(3).fit(A)
    assert capsys.readouterr().err == ""


def fail_at(monkeypatch, number, error):
    """Raise the error instead of a fit, the first of which has number 1."""
    calls, original = [], fit.fit

    def failing(*args):
        calls.append(args)
        if len(calls) == number:
            raise error
        return original(*args)

    monkeypatch.setattr(fit, "fit", failing)


def test_interrupt_between_fits_returns_those_done(A, monkeypatch):
    two = ODSymNMF(3, n_init=2, random_state=0).fit(A)
    model = ODSymNMF(3, n_init=5, random_state=0)
    with monkeypatch.context() as patch:
        fail_at(patch, 3, KeyboardInterrupt)
        with pytest.warns(InterruptedWarning):
            model.fit(A)
    assert model.objective_ == two.objective_
    fail_at(monkeypatch, 1, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):  # before the first start is done
        model.fit(A)


def test_an_error_in_a_thread_stops_the_other_starts(A, monkeypatch):
    model = ODSymNMF(3, n_init=2, n_jobs=2, tol=0, max_iter=10**7, random_state=0)
    fail_at(monkeypatch, 2, ValueError("bad"))
    with pytest.raises(ValueError, match="bad"):
        model.fit(A)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_all_fits_and_returns_the_best():
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
