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
from numpy.testing import assert_array_equal
from scipy import sparse

from odsymnmf.distributed.worker import pack, unpack
from odsymnmf.solvers import rounds

SIMILARITIES = ("sparse", "dense")
FEATURES = ("documents", "features")
LOSSES = ("l2", "l1")


def local(A, **options):
    return factorize(A, n_jobs=2, restarts=0, **options)


@pytest.mark.parametrize("kind", SIMILARITIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("unknown", [False, True])
def test_similarities(client, kind, loss, unknown):
    A = with_unknown(problem(kind)) if unknown else problem(kind)
    assert_same(factorize(in_blocks(A, (37, 45)), loss=loss), local(A, loss=loss))


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
        found = factorize(in_blocks(A, chunks), r, **options)
    assert_same(found, factorize(A, r, n_jobs=2, restarts=0, **options))


@pytest.mark.parametrize("kind", SIMILARITIES)
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_dtypes(client, kind, dtype):
    A = (10 * problem(kind)).astype(dtype)
    found = factorize(in_blocks(A, (40, 90)))
    assert found.H.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert_array_equal(found.H, local(A).H)


@pytest.mark.parametrize("kind", [*SIMILARITIES, *FEATURES])
def test_rejected_rounds(client, kind, monkeypatch):
    # Each item alone would explain what all others leave over.
    X = np.ones((70, 5)) + 0.1 * np.random.default_rng(1).random((70, 5))
    H = np.full((70, 2), 0.05) + 0.01 * np.arange(2)
    options = {"init": H, "max_iter": 3, "tol": 0}
    rejected, halves = [], rounds.halves
    monkeypatch.setattr(rounds, "halves", lambda *r: rejected.append(r) or halves(*r))
    if kind in FEATURES:
        X = sparse.csr_array(X) if kind == "documents" else X
        options |= {"n_clusters": 2, "affinity": "cosine", "normalize": None}
        expected = fit(X, n_jobs=2, **options)
        assert rejected
        assert_same_model(fit(in_blocks(X, (20, 3)), **options), expected)
    else:
        A = sparse.csr_array(X @ X.T) if kind == "sparse" else X @ X.T
        expected = factorize(A, 2, n_jobs=2, **options)
        assert rejected
        assert_same(factorize(in_blocks(A, (20, 3)), 2, **options), expected)


@pytest.mark.parametrize("init", ["spectral", "auto"])
def test_initializations(client, init):
    A = problem("sparse", n=150)
    expected = local(A, init="spectral" if init == "auto" else init, max_iter=3)
    assert_array_equal(factorize(in_blocks(A, (40, 150)), init=init, max_iter=3).H, expected.H)


@pytest.mark.parametrize("init", ["labels", "sets", "array", "sparse"])
def test_given_initializations(client, init):
    A, rng = problem("sparse"), np.random.default_rng(0)
    H = rng.random((90, 3))
    given = {
        "labels": rng.integers(-1, 3, 90),
        "sets": [[0, 1, 2], [2, 3, 4], [5, 80]],
        "array": H,
        "sparse": sparse.csr_array(H),
    }[init]
    assert_same(factorize(in_blocks(A), init=given), local(A, init=given))


def test_scaled_similarities(client):
    A = problem("sparse") * 2.0**300  # out of the range in which squares are safe
    assert_same(factorize(in_blocks(A)), local(A))


def test_perfect_fit(client):
    truth = np.kron(np.eye(3), np.ones((20, 1)))
    found = factorize(in_blocks(sparse.csr_array(truth @ truth.T)), init=truth, max_iter=2)
    assert found.objective == 0.0
    assert found.converged


def test_threads_without_client():
    for kind in SIMILARITIES:
        A = problem(kind)
        assert_same(factorize(in_blocks(A), n_jobs=2), factorize(A, n_jobs=2))


@given(
    st.integers(0, 99),
    st.integers(0, 9),
    st.integers(1, 20),
    st.floats(0, 1),
    st.sampled_from([np.float32, np.float64]),
)
def test_packed_rows(seed, n, r, density, dtype):
    rng = np.random.default_rng(seed)
    rows = (rng.standard_normal((n, r)) * (rng.random((n, r)) < density)).astype(dtype)
    rows[rng.random((n, r)) < 0.05] = np.nan
    rows[rng.random((n, r)) < 0.05] = -0.0
    bits = rows.view(f"u{rows.dtype.itemsize}")
    mask, values = pack(rows)
    assert_array_equal(mask, np.packbits(bits.ravel() != 0, bitorder="little"))
    assert_array_equal(values, np.append(bits[bits != 0], bits.dtype.type(0)))
    again = np.full_like(rows, 7.0)
    unpack((mask, values), again)
    assert_array_equal(again.view(bits.dtype), bits)
