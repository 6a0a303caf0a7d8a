"""Fits side by side: threads, processes of joblib, forked children; the bits of one by one."""

import multiprocessing
import warnings
from functools import partial
from threading import Thread

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from odsymnmf import similarity

from .lines import Line
from .problems import quiet

SECONDS = 120


def problem(kind, rng):
    """Return similarities and a number of clusters that make several pieces of every round."""
    if kind == "gram":
        words = sparse.random_array((1200, 200), density=0.15, random_state=rng, format="csr")
        return similarity.cosine(words), 50
    n, r, links = (2400, 50, 10) if kind == "sparse" else (700, 20, 200)
    A = sparse.random_array((n, n), density=links / n, random_state=rng, format="csr")
    A = A + A.T
    return (A if kind == "sparse" else A.toarray()), r


def fit(seed, k, n_jobs=2):
    """Return the H of a problem that seed and k determine."""
    loss, kind = ("l2", "l1")[k % 2], ("sparse", "dense", "gram")[k % 3]
    A, r = problem(kind, np.random.default_rng([seed, k]))
    options = {"loss": loss, "init": ("random", "spectral")[k // 4 % 2], "restarts": 0}
    return quiet(A, r, max_iter=3, random_state=k, n_jobs=n_jobs, **options).H


def threads(cases):
    """Eight threads of this process, each with two of its own."""
    found = [None] * len(cases)

    def work(k):
        found[k] = fit(*cases[k])

    # Fits in threads of one's own leave BLAS as it is set (reliability.md, "The same bits"). And
    # Python's list of filters belongs to the process: each thread that leaves `catch_warnings` puts
    # back what it found, others' changes included. So both are set around all of them.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        workers = [Thread(target=work, args=(k,), daemon=True) for k in range(len(cases))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(SECONDS)
            assert not worker.is_alive(), "a fit did not end"
    return found


def loky(cases):
    """Two processes of joblib, with their own interpreters."""
    return Parallel(n_jobs=2, backend="loky", timeout=SECONDS)(delayed(fit)(*c) for c in cases)


def _child(pipe, case):
    pipe.send(fit(*case))


def fork(cases):
    """Children forked from a process that has fitted in threads before."""
    context = multiprocessing.get_context("fork")
    fit(*cases[-1])
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
        np.testing.assert_array_equal(H, fit(*case, n_jobs=1))


# So that there are 200 fits of each.
ROUNDS = {threads: 25, loky: 25, fork: 100}
LINES = {
    f"concurrency-{way.__name__}": Line(
        f"fits side by side: {way.__doc__.rstrip('.').lower()}", rounds, partial(once, way)
    )
    for way, rounds in ROUNDS.items()
}
