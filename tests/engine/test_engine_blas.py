"""BLAS has one thread; large products are shared in pieces, and the bits depend on nobody."""

import threading

import numpy as np
import pytest
from engine_problems import quiet
from threadpoolctl import threadpool_info, threadpool_limits

import odsymnmf as od
from odsymnmf import blas, similarity
from odsymnmf.engine.team import Team


@pytest.fixture(autouse=True)
def _two_threads():
    blas._controller.cache_clear()  # libraries may have been loaded since
    with threadpool_limits(2, "blas"):
        yield


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize(("work", "size"), [(blas.LARGE - 1, 1), (blas.LARGE, 2)])
def test_blas_has_one_thread_and_large_products_a_team(work, size):
    teams = []

    def team(size):
        teams.append(size)
        return Team(size)

    with blas.threads_for(work, team):
        assert blas_threads() == {1}
        pieces = blas.share(10, 4, lambda b: (b.start, b.stop))
    assert teams == [size]
    assert pieces == ([(0, 10)] if size == 1 else [(0, 4), (4, 8), (8, 10)])
    assert blas_threads() == {2}
    assert blas.share(10, 4, lambda b: (b.start, b.stop)) == [(0, 10)]


def test_only_the_main_thread_sets_it_and_has_a_team():
    seen = []

    def team(size):
        seen.append(size)
        return Team(size)

    def other():
        with blas.threads_for(blas.LARGE, team):
            seen.append(blas_threads())
            seen.append(len(blas.share(10, 4, lambda b: b)))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [1, {2}, 3]


@pytest.mark.parametrize("loss", ["l2", "mixed"])
@pytest.mark.parametrize("kind", ["dense", "gram"])
def test_the_number_of_threads_does_not_change_a_bit(loss, kind, monkeypatch):
    monkeypatch.setattr(blas, "LARGE", 2**18)  # what is large is much smaller here
    rng = np.random.default_rng(0)
    X = rng.random((401, 75))
    A = X @ X.T
    A = similarity.gram(X) if kind == "gram" else np.maximum(A, A.T)
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, "blas"):
            f = quiet(A, 7, loss=loss, init="spectral", max_iter=3, restarts=0)
            found.append((f.H, f.history, od.objective(A, f.H, loss)))
    for H, history, objective in found[1:]:
        np.testing.assert_array_equal(H, found[0][0])
        np.testing.assert_array_equal(history, found[0][1])
        assert objective == found[0][2]


def test_shared_products_are_those_of_one_piece(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.random((301, 70))
    A = rng.random((301, 301))
    for S in (A + A.T, similarity.gram(X)):
        whole = quiet(S, 6, init="random", random_state=0, max_iter=3)
        with monkeypatch.context() as patch:
            patch.setattr(blas, "LARGE", 0)
            shared = quiet(S, 6, init="random", random_state=0, max_iter=3)
        np.testing.assert_allclose(shared.H, whole.H, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(shared.history, whole.history, rtol=1e-9)
