"""Ctrl-C while starts run side by side: all end, the best is kept, a second ends at once."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from odsymnmf import ODSymNMF
from odsymnmf.estimators.side_by_side import run_all
from odsymnmf.fitting import InterruptedWarning

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")


def press(*moments):
    """Press Ctrl-C after so many seconds each, from a thread of its own."""

    def go():
        for seconds in moments:
            time.sleep(seconds)
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=go).start()


def computing():
    return [t for t in threading.enumerate() if t.name.startswith("odsymnmf-start")]


def test_all_starts_end_and_the_best_is_kept():
    A = np.random.default_rng(0).random((300, 300))
    model = ODSymNMF(20, n_init=4, n_jobs=2, tol=0, max_iter=10**6, random_state=0)
    ODSymNMF(20, max_iter=1, tol=10).fit(A + A.T)  # kernels loaded
    press(1.0)
    began = time.monotonic()
    with pytest.warns(InterruptedWarning):
        model.fit(A + A.T)
    assert time.monotonic() - began < 30  # on a busy machine; seconds are left to the soak
    assert model.status_ == "interrupted"
    assert np.isfinite(model.membership_).all()
    assert model.n_iter_ > 0
    deadline = time.monotonic() + 30
    while computing() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert computing() == []


def test_a_second_ctrl_c_does_not_wait():
    release = threading.Event()
    press(0.3, 0.3)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_all(lambda k: release.wait(60), 2, 2)  # deaf to the first
    assert time.monotonic() - began < 30
    release.set()


def test_an_error_stops_the_other_starts():
    from odsymnmf.arrays import blocks

    ended = []

    def run(k):
        if k == 1:
            raise ValueError("bad")
        try:
            for _ in blocks(10**9, 1):
                time.sleep(0.001)
        except KeyboardInterrupt:
            ended.append(k)
            raise

    with pytest.raises(ValueError, match="bad"):
        run_all(run, 2, 2)
    assert ended in ([0], [])  # [] if it had not begun
