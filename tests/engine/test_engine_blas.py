"""Small products run on one BLAS thread, and the number of threads comes back."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from odsymnmf import blas


@pytest.fixture(autouse=True)
def _two_threads():
    blas._controller.cache_clear()  # libraries may have been loaded since
    with threadpool_limits(2, "blas"):
        yield


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_small_products_have_one_thread_and_large_ones_all():
    with blas.threads_for(blas.LARGE - 1):
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    with blas.threads_for(blas.LARGE):
        assert blas_threads() == {2}


def test_only_the_main_thread_sets_it():
    seen = []

    def other():
        with blas.threads_for(0):
            seen.append(blas_threads())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [{2}]
