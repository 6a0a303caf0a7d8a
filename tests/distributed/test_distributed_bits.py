"""The same bits as n_jobs on one machine, for all inputs, chunks and numbers of workers."""

import numpy as np
import pytest
from distributed_problems import (
    assert_same,
    assert_same_model,
    factorize,
    fit,
    in_blocks,
    problem,
    with_unknown,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from odsymnmf.solvers import rounds

SIMILARITIES = ("sparse", "dense")
FEATURES = ("documents", "features")
LOSSES = ("l2", "l1")


def local(A, **options):
    return factorize(A, n_jobs=2, restarts=0, **options)


@pytest.mark.parametrize("kind", SIMILARITIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("change", ["none", "unknown", np.float32, np.int64])
def test_similarities(client, kind, loss, change):
    A = with_unknown(problem(kind)) if change == "unknown" else problem(kind)
    if change in (np.float32, np.int64):
        A = (10 * A).astype(change)
    f = factorize(in_blocks(A, (37, 45)), loss=loss)
    assert_same(f, local(A, loss=loss))
    assert f.H.dtype == (np.float32 if change == np.float32 else np.float64)


@pytest.mark.parametrize("kind", FEATURES)
@pytest.mark.parametrize("normalize", [None, "degree", "auto"])
def test_documents(client, kind, normalize):
    X, options = problem(kind), {"affinity": "cosine", "normalize": normalize}
    assert_same_model(fit(in_blocks(X), **options), fit(X, n_jobs=2, **options))


@given(
    st.sampled_from([(kind, loss) for kind in SIMILARITIES for loss in LOSSES]),
    st.integers(0, 2**16),
    st.integers(2, 120),
    st.tuples(st.integers(1, 130), st.integers(1, 130)),
    st.integers(1, 3),
    st.integers(1, 4),
)
@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_chunks_and_number_of_workers(client, case, seed, n, chunks, n_workers, r):
    kind, loss = case
    A, options = problem(kind, seed, n), {"loss": loss, "random_state": seed, "max_iter": 3}
    with pytest.MonkeyPatch.context() as patch:
        threads = client.nthreads()
        patch.setattr(client, "nthreads", lambda: dict(sorted(threads.items())[:n_workers]))
        f = factorize(in_blocks(A, chunks), r, **options)
    assert_same(f, factorize(A, r, n_jobs=2, restarts=0, **options))


@pytest.mark.parametrize("kind", [*SIMILARITIES, *FEATURES])
def test_rejected_rounds(client, kind, monkeypatch):
    # Each item alone would explain what all others leave over.
    X = np.ones((70, 5)) + 0.1 * np.random.default_rng(1).random((70, 5))
    H = np.full((70, 2), 0.05) + 0.01 * np.arange(2)
    affinity = "cosine" if kind in FEATURES else "precomputed"
    options = {"n_clusters": 2, "init": H, "tol": 0, "affinity": affinity, "normalize": None}
    rejected, halves = [], rounds.halves
    monkeypatch.setattr(rounds, "halves", lambda *r: rejected.append(r) or halves(*r))
    X = X if kind in FEATURES else X @ X.T
    X = sparse.csr_array(X) if kind in ("documents", "sparse") else X
    expected = fit(X, n_jobs=2, max_iter=3, **options)
    assert rejected
    assert_same_model(fit(in_blocks(X, (20, 3)), max_iter=3, **options), expected)


@pytest.mark.parametrize("init", ["auto", "spectral", "labels", "sets", "array", "sparse", "exact"])
def test_initializations(client, init):
    A, rng = problem("sparse", n=150), np.random.default_rng(0)
    H = rng.random((150, 3))
    if init == "exact":
        H = np.kron(np.eye(3), np.ones((50, 1)))
        A = sparse.csr_array(H @ H.T)
    given = {
        "auto": "spectral",
        "labels": rng.integers(-1, 3, 150),
        "sets": [[0, 1, 2], [2, 3, 4], [5, 80]],
        "array": H,
        "sparse": sparse.csr_array(H),
        "exact": H,
    }.get(init, init)
    f = factorize(in_blocks(A, (40, 150)), init=init if init == "auto" else given)
    expected = local(A, init=given)
    assert_array_equal(f.H, expected.H)
    assert_allclose(f.history, expected.history, rtol=1e-12)
    assert init != "exact" or (f.objective, f.converged) == (0.0, True)


def test_threads_without_client():
    for kind in SIMILARITIES:
        A = problem(kind)
        assert_same(factorize(in_blocks(A), n_jobs=2), factorize(A, n_jobs=2))
