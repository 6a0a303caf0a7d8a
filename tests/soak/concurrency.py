"""Fits side by side: threads, processes of joblib, forked children; the bits of one by one."""

import multiprocessing
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from .lines import Line
from .problems import quiet

SECONDS = 120


def fit(seed, k):
    """Return the H of a problem that seed and k determine."""
    rng = np.random.default_rng([seed, k])
    A = np.triu(rng.random((40, 40)) < 0.2, 1).astype(float)
    A += A.T
    loss = ("l2", "l1")[k % 2]
    init = ("greedy", "random", "spectral")[k % 3]
    form = np.asarray if k % 4 < 2 else sparse.csr_array
    return quiet(form(A), 4, loss=loss, init=init, max_iter=30, random_state=k).H


def threads(cases):
    """Eight threads of this process."""
    # Python's list of filters belongs to the process: each thread that leaves `catch_warnings` puts
    # back what it found, others' changes included. So one filter is set around all of them.
    with warnings.catch_warnings(), ThreadPoolExecutor(8) as pool:
        warnings.simplefilter("ignore", ConvergenceWarning)
        return list(pool.map(lambda case: fit(*case), cases))


def loky(cases):
    """Two processes of joblib, with their own interpreters."""
    return Parallel(n_jobs=2, backend="loky", timeout=SECONDS)(delayed(fit)(*c) for c in cases)


def _child(pipe, case):
    pipe.send(fit(*case))


def fork(cases):
    """Children forked from a process that has fitted before."""
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        # Python 3.12 warns of threads in the parent, which is the very case to be tried.
        warnings.simplefilter("ignore", DeprecationWarning)
        found = []
        for case in cases[:2]:
            ours, theirs = context.Pipe()
            child = context.Process(target=_child, args=(theirs, case))
            child.start()
            try:
                assert ours.poll(SECONDS), "the child did not answer"
                found.append(ours.recv())
            finally:
                child.kill()
                child.join()
    return found


def once(way, seed, k):
    """Fit eight problems (two where children are forked) side by side."""
    cases = [(seed, 8 * k + j) for j in range(8)]
    for case, H in zip(cases, way(cases), strict=False):
        np.testing.assert_array_equal(H, fit(*case))


LINES = {
    f"concurrency-{way.__name__}": Line(
        f"fits side by side: {way.__doc__.rstrip('.').lower()}", 200, partial(once, way)
    )
    for way in (threads, loky, fork)
}
