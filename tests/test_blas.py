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
@pytest.mark.parametrize(("in_main_thread", "expected"), [(True, {1}), (False, {2})])
def test_fits_in_the_main_thread_use_one_blas_thread(n_jobs, in_main_thread, expected):
    A, seen = np.ones((30, 30)), []
    options = {"tol": 1, "n_jobs": n_jobs, "callback": lambda _: seen.append(blas_threads())}
    if in_main_thread:
        od.factorize(A, 2, **options)
    else:
        thread = threading.Thread(target=od.factorize, args=(A, 2), kwargs=options)
        thread.start()
        thread.join()
    assert seen == [expected]
    assert blas_threads() == {2}
