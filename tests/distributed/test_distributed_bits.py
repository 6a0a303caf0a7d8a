"""The same bits as on one machine, whatever the workers, chunks, kinds of input and losses."""

import numpy as np
import pytest
from distributed_problems import (
    KINDS,
    assert_same,
    here,
    in_blocks,
    problem,
    quiet,
    there,
    with_unknown,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import odsymnmf as od
from odsymnmf.distributed.crew import Crew
from odsymnmf.problem import rounds

RANDOM = {"init": "random", "random_state": 0, "max_iter": 5}
# Of documents, only squares are known to the members.
CASES = [
    *((kind, loss) for kind in ("sparse", "dense") for loss in ("l2", "l1", "mixed", "robust")),
    *((kind, "symnmf") for kind in ("sparse", "dense")),
    *((kind, "l2") for kind in ("documents", "features")),
]


def named(loss):
    return {"loss": "l2", "diagonal": "fit"} if loss == "symnmf" else {"loss": loss}


@pytest.mark.parametrize(("kind", "loss"), CASES)
def test_every_kind_and_loss(client, kind, loss):
    A, options = problem(kind), RANDOM | named(loss)
    chunks = (37, A.shape[1] // 2)
    assert_same(there(client, A, kind, chunks, 3, **options), here(A, kind, 3, **options), kind)


@given(
    st.sampled_from(CASES),
    st.integers(0, 2**16),
    st.integers(2, 120),
    st.integers(1, 130),
    st.integers(1, 130),
    st.integers(1, 3),
    st.integers(1, 4),
)
@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_chunks_and_workers_change_no_bit(client, case, seed, n, rows, columns, workers, r):
    kind, loss = case
    A = problem(kind, seed, n)
    options = RANDOM | named(loss) | {"random_state": seed, "max_iter": 3}
    with pytest.MonkeyPatch.context() as patch:
        all_of_them = Crew._workers
        patch.setattr(Crew, "_workers", lambda crew: sorted(all_of_them(crew))[:workers])
        found = there(client, A, kind, (rows, columns), r, **options)
    assert_same(found, here(A, kind, r, **options), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_types_of_numbers(client, kind, dtype):
    A = problem(kind)
    A = (10 * A).astype(dtype) if dtype == np.int64 else A.astype(dtype)
    found = there(client, A, kind, (40, A.shape[1]), 3, **RANDOM)
    assert found.H.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert_array_equal(found.H, here(A, kind, 3, **RANDOM).H)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_unknown_pairs(client, kind, loss):
    A = with_unknown(problem(kind))
    options = RANDOM | {"loss": loss}
    assert_same(there(client, A, kind, (25, 90), 3, **options), here(A, kind, 3, **options), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_rounds_that_would_raise_the_objective_are_split_alike(client, kind):
    # Every item alone would do well to explain all that the others leave over.
    X = np.ones((70, 5)) + 0.1 * np.random.default_rng(1).random((70, 5))
    if kind in ("sparse", "documents"):
        X = sparse.csr_array(X)
    A = X if kind in ("documents", "features") else X @ X.T
    start = np.full((70, 2), 0.05) + 0.01 * np.arange(2)
    options = {"init": start, "max_iter": 3, "tol": 0}
    splits = []
    with pytest.MonkeyPatch.context() as patch:
        halves = rounds.Round.halves
        patch.setattr(rounds.Round, "halves", lambda r: splits.append(r) or halves(r))
        mine = here(A, kind, 2, **options)
    assert splits
    assert_same(there(client, A, kind, (20, 3), 2, **options), mine, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_items_that_go_together_are_as_on_one_machine(client, kind):
    def neighbours_go_together_from(n):
        from odsymnmf.problem import rounds

        rounds.PAYS = n

    A, pays = problem(kind, n=300), rounds.PAYS
    one_by_one = here(A, kind, 2, **RANDOM)
    try:
        neighbours_go_together_from(1)
        client.run(neighbours_go_together_from, 1)
        found, mine = (
            there(client, A, kind, (70, A.shape[1]), 2, **RANDOM),
            here(A, kind, 2, **RANDOM),
        )
    finally:
        neighbours_go_together_from(pays)
        client.run(neighbours_go_together_from, pays)
    assert_same(found, mine, kind)
    assert (mine.H != one_by_one.H).any()


@pytest.mark.parametrize("kind", ["sparse", "documents"])
@pytest.mark.parametrize("init", ["spectral", "nndsvd", "auto"])
def test_starts_of_sparse_input_are_those_of_one_machine(client, kind, init):
    A = problem(kind, n=150)
    mine = here(A, kind, 4, init="spectral" if init == "auto" else init, max_iter=3)
    found = there(client, A, kind, (40, A.shape[1]), 4, init=init, max_iter=3)
    assert_array_equal(found.H, mine.H)


@pytest.mark.parametrize("kind", ["dense", "features"])
def test_spectral_starts_of_full_input_do_not_depend_on_the_chunks(client, kind):
    A = problem(kind, n=150)
    one, other = (there(client, A, kind, chunks, 4, max_iter=3) for chunks in ((40, 20), (111, 50)))
    assert_same(one, other, kind)
    assert_allclose(one.H, here(A, kind, 4, init="spectral", max_iter=3).H, atol=1e-3)


@pytest.mark.parametrize("init", ["labels", "sets", "array", "sparse"])
def test_starts_that_are_given(client, init):
    A, rng = problem("sparse"), np.random.default_rng(0)
    H = rng.random((90, 3))
    given = {
        "labels": rng.integers(-1, 3, 90),
        "sets": [[0, 1, 2], [2, 3, 4], [5, 80]],
        "array": H,
        "sparse": sparse.csr_array(H),
    }[init]
    options = {"init": given, "max_iter": 3}
    assert_same(there(client, A, "sparse", (50, 90), 3, **options), here(A, "sparse", 3, **options))


def test_similarities_out_of_the_range_of_floating_point(client):
    A = problem("sparse") * 2.0**300
    found = there(client, A, "sparse", (50, 90), 3, **RANDOM)
    assert_same(found, here(A, "sparse", 3, **RANDOM))


def test_a_perfect_fit_has_an_objective_of_zero(client):
    truth = np.kron(np.eye(3), np.ones((20, 1)))
    A = sparse.csr_array(truth @ truth.T)
    found = there(client, A, "sparse", (17, 60), 3, init=truth, max_iter=2)
    assert found.objective == 0.0
    assert found.converged


def test_workers_in_processes(processes):
    for kind, loss in (("sparse", "l2"), ("dense", "l1"), ("documents", "l2")):
        A, options = problem(kind), RANDOM | {"loss": loss}
        assert_same(
            there(processes, A, kind, (30, 20), 3, **options), here(A, kind, 3, **options), kind
        )


def test_through_the_scheduler_where_workers_cannot_be_reached(client, monkeypatch):
    async def never(crew, address):
        return False

    monkeypatch.setattr(Crew, "_reaches", never)
    A = problem("sparse")
    assert_same(there(client, A, "sparse", (30, 20), 3, **RANDOM), here(A, "sparse", 3, **RANDOM))


def test_without_a_client_threads_do_it():
    for kind in ("sparse", "dense"):
        A = problem(kind)
        D = in_blocks(A, (30, 20))
        assert_same(quiet(D, 3, **RANDOM), here(A, kind, 3, **RANDOM))
        one, other = (od.factorize(M, 2, restarts=1, n_jobs=1) for M in (D, A))
        assert_same(one, other)
