"""Ctrl-C and errors while starts run in threads."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from odsymnmf import ODSymNMF
from odsymnmf.fit import InterruptedWarning, _run_all

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")


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


def test_an_error_stops_the_other_starts():
    stop, begun = threading.Event(), []

    def run(start):
        begun.append(start)
        if start == 1:
            raise ValueError("bad")
        while not stop.is_set():
            time.sleep(0.001)

    with pytest.raises(ValueError, match="bad"):
        _run_all(run, 2, 2, stop)
    assert sorted(begun) == [0, 1]
