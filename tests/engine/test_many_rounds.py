"""Rounds over sparse memberships: the definition, full storage, the same bits in any threads."""

import os
from unittest import mock

import many_oracle as oracle
import numpy as np
import pytest
from scipy import sparse

import odsymnmf as od
from odsymnmf.engine.losses import make_loss
from odsymnmf.engine.many.l1 import SparseL1
from odsymnmf.engine.many.memberships import Memberships
from odsymnmf.engine.many.pair_sums import gram
from odsymnmf.engine.many.rounds import SparseRounds
from odsymnmf.engine.many.sweep import SparseL2, links
from odsymnmf.engine.sweeps import Rounds
from odsymnmf.engine.team import Team
from odsymnmf.problem import as_similarity

PROBLEMS = 5000 if os.environ.get("ODSYMNMF_FULL") else 250
KINDS = {"l1": SparseL1, "l2": SparseL2}


@pytest.fixture(autouse=True)
def _no_tidying():
    """Tidying would hide what a sweep does."""
    with mock.patch.object(Memberships, "tidy"):
        yield


def few(rounds=2, rows=3):
    """Let there be so few rounds, and so few rows in a piece."""
    return (
        mock.patch("odsymnmf.problem.rounds.ROUNDS", rounds),
        mock.patch.multiple("odsymnmf.engine.many.rounds", FEWEST=rows, COLUMNS=10**6),
    )


def made(seed, loss, team=None, most=25, dtype=np.float64, **options):
    A, H, background, own, weights, upper = oracle.problem(seed, most)
    A, H = A.astype(dtype).astype(np.float64), H.astype(dtype).astype(np.float64)
    stored, E = oracle.arrays(A, background, own)
    rounds = SparseRounds(team or Team())
    M = Memberships(H, dtype)
    return A, H, weights, KINDS[loss](stored, M, E, upper=upper, rounds=rounds, **options)


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_the_objective_never_rises_and_the_decrease_is_exact(loss):
    refused = 0
    for seed in range(PROBLEMS):
        options = {"cap": [3, 64][seed % 2]}
        if loss == "l2":
            options |= {"share": [0.0, 0.03, 0.2][seed % 3], "full_side": [0, 99][seed % 2]}
        p, (some_rounds, small) = 1 if loss == "l1" else 2, few([1, 2, 16][seed % 3])
        A, H, weights, ours = made(seed, loss, **options)
        energy = 1e-10 * (1 + oracle.objective(A, 0 * H, weights, p))
        f = oracle.objective(A, H, weights, p)
        for number in range(5):
            counts = np.diff(ours.H.csr().indptr)
            with some_rounds, small:
                swept = ours.sweep()
            new = ours.H.csr()
            scale = energy + 1e-13 * oracle.objective(0 * A, new.toarray(), 1.0, p)
            g = oracle.objective(A, new.toarray(), weights, p)
            assert abs(f - g - swept.decrease) <= scale, f"seed {seed}, sweep {number}"
            price = np.zeros(len(A)) if loss == "l1" else ours.price
            paid = float(price @ (np.diff(new.indptr) - counts))
            assert abs(f - g - paid - swept.priced) <= scale, f"seed {seed}, sweep {number}"
            assert swept.priced >= -scale, f"seed {seed}, sweep {number}"
            f = g
        refused += ours.rounds.refused
    assert refused > PROBLEMS // 10  # all rows at once is too much for many of them


def expected_round(A, H, weights, loss, items):
    """Each row of the items at its optimum, all others as they are."""
    found = H.copy()
    for k in items:
        alone = H.copy()
        for l in range(H.shape[1]):
            if loss == "l2":
                alone[k, l] = oracle.best_entry_l2(A, alone, weights, k, l, 0.0, np.inf)
            else:
                alone[k, l] = oracle.best_entry_l1(A, alone, weights, k, l, np.inf)
        found[k] = alone[k]
    return found


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_a_round_solves_each_row_against_the_h_of_its_beginning(loss):
    A, H, *_ = oracle.problem(22, most=40)
    weights, options = np.ones(A.shape), {} if loss == "l1" else {"share": 0.0}
    rounds = SparseRounds(Team())
    fit = KINDS[loss](
        links(sparse.csr_array(A)), Memberships(H), rounds=rounds, cap=None, **options
    )
    some_rounds, small = few(8)
    with some_rounds, small:
        fit.sweep()
    assert rounds.refused == 0
    for q in range(8):
        H = expected_round(A, H, weights, loss, range(q, len(A), 8))
    np.testing.assert_allclose(fit.H.csr().toarray(), H, atol=1e-10)
    if loss == "l2":
        D, _ = gram(fit.H.csr())
        np.testing.assert_allclose(fit.D.diagonal, D.diagonal, atol=1e-10)
        np.testing.assert_allclose(fit.D.value, D.value, atol=1e-10)
    else:
        np.testing.assert_allclose(fit.sums.W, H.sum(axis=0), atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_threads_change_no_bit(loss, dtype):
    for seed in range(12):
        found = []
        for size in (1, 2, 8):
            some_rounds, small = few(2)
            with Team(size) as team, some_rounds, small:
                *_, fit = made(seed, loss, team, most=60, dtype=dtype)
                passes = [fit.sweep() for _ in range(4)]
            found.append((passes, fit.H.csr().toarray(), fit.rounds.refused))
        for passes, H, refused in found[1:]:
            assert passes == found[0][0]
            assert np.array_equal(H, found[0][1])
            assert refused == found[0][2]


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_rounds_are_those_of_full_storage(loss):
    rng = np.random.default_rng(3)
    for n, r in [(200, 6), (300, 15)]:
        A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 12 / n), 1)
        A = sparse.csr_array(A + A.T)
        H = np.zeros((n, r))
        H[np.arange(n), rng.integers(r, size=n)] = 0.5 + 0.2 * rng.random(n)
        options = {} if loss == "l1" else {"share": 0.0}
        rounds = SparseRounds(Team())
        ours = KINDS[loss](links(A), Memberships(H), cap=None, rounds=rounds, **options)
        theirs = make_loss(loss, as_similarity(A), np.inf)
        full = Rounds(theirs, Team())
        for _ in range(5):
            theirs.sweep(H, theirs.sums(H), np.arange(n), rounds=full)
            ours.sweep()
        assert np.abs(ours.H.csr().toarray() - H).max() <= 1e-10
        assert rounds.refused == full.refused


def test_sums_that_cancel_are_done_anew():
    hub = np.array([[1e4, 1.0], [1e-4, 0.5], [1e-4, 0.0], [0.0, 0.7]] * 5)
    A = sparse.csr_array(np.ones((20, 20)))
    for kind, p in KINDS.items():
        fit = KINDS[kind](links(A), Memberships(hub), rounds=SparseRounds(Team()))
        f = fit.objective()
        for _ in range(3):
            swept = fit.sweep()
            assert fit.objective() <= f * (1 + 1e-9), p
            assert f - fit.objective() == pytest.approx(swept.decrease, rel=1e-6, abs=1e-9 * f)
            f = fit.objective()


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_factorize_gives_the_same_bits_for_every_number_of_threads(loss):
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(30), 12)
    A = np.triu((groups[:, None] == groups) * (rng.random((360, 360)) < 0.7), 1).astype(float)
    A += np.triu(rng.random((360, 360)) < 0.01, 1)
    A = sparse.csr_array(np.minimum(A + A.T, 1.0))
    weights = sparse.random_array((360, 360), density=0.01, random_state=rng, format="csr")
    weights = weights + weights.T
    options = {"loss": loss, "weights": weights, "zero_weight": 0.5, "tol": 1e-3}
    told = []
    with mock.patch("odsymnmf.engine.many.rounds.FEWEST", 5):
        found = [
            od.factorize(A, "auto", n_jobs=jobs, callback=lambda s: told.append(s.rows), **options)
            for jobs in (1, 2, 8)
        ]
    by_rows = od.factorize(A, "auto", **options)
    for f in found:
        assert f.memberships == "sparse"
        assert np.array_equal(f.H.toarray(), found[0].H.toarray())
        assert np.array_equal(f.history, found[0].history)
        assert (np.diff(f.history) <= 1e-12 * f.history[0]).all()
        assert f.objective == pytest.approx(by_rows.objective, rel=0.05)
    assert {23, 46, None} <= set(told)  # after every round: 360 items in 16 of them
