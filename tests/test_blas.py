"""The number of BLAS threads during a fit."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import odsymnmf as od
from odsymnmf import utils


@pytest.fixture(autouse=True)
def _two_threads():
    utils._controller.cache_clear()  # libraries may have been loaded since
    with threadpool_limits(2, "blas"):
        yield


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_fits_use_one_blas_thread_and_restore_the_number(n_jobs):
    A = np.random.default_rng(0).random((30, 30))
    seen = []
    od.factorize(A + A.T, 2, tol=1, n_jobs=n_jobs, callback=lambda _: seen.append(blas_threads()))
    assert seen == [{1}]
    assert blas_threads() == {2}


def test_only_the_main_thread_sets_the_limit():
    seen = []

    def fit():
        with utils.limit_blas_threads():
            seen.append(blas_threads())

    thread = threading.Thread(target=fit)
    thread.start()
    thread.join()
    assert seen == [{2}]
