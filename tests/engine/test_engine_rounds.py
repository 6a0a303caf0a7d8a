"""Sweeps in rounds: those of an oracle, with the same bits whoever shares them."""

import multiprocessing
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import rounds_oracle
import weights_oracle
from engine_problems import KINDS, as_kind, documents, quiet, symmetric
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import odsymnmf as od
from odsymnmf.engine.losses import make_loss
from odsymnmf.engine.sweeps import Rounds
from odsymnmf.engine.team import Team
from odsymnmf.fitting import InterruptedWarning
from odsymnmf.kernels.rounds import place
from odsymnmf.problem import rounds
from odsymnmf.similarity import as_similarity

LOSSES = [("l2", "ignore"), ("l1", "ignore"), ("mixed", "ignore"), ("l2", "fit")]
EACH_LOSS = pytest.mark.parametrize(
    ("loss", "diagonal"), LOSSES, ids=["l2", "l1", "mixed", "symnmf"]
)
EACH_KIND = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    """Tiles of 32 items, so that small problems have several."""
    for name, value in {"LEAST": 1, "MOST": 1, "FEWEST": 2}.items():
        monkeypatch.setattr(rounds, name, value)


@pytest.fixture(params=[1, 4], ids=["", "runs"])
def together(request, monkeypatch):
    """Let so many neighbours be in one round, however few items there are."""
    monkeypatch.setattr(rounds, "PAYS", 1)
    monkeypatch.setattr(rounds, "TOGETHER", request.param)
    return request.param


def weights_of(seed, n):
    rng = np.random.default_rng(seed)
    W = rng.choice([1.0, 1.0, 1.0, 0.25, 0.0], (n, n))
    return symmetric(W)


class Sweeps:
    """Bare sweeps in rounds, as a run makes them."""

    def __init__(self, A, H, loss="l2", diagonal="ignore", upper=np.inf, weights=None, team=None):
        self.loss = make_loss(loss, as_similarity(A, weights), upper, diagonal=diagonal)
        self.H = H.astype(self.loss.A.dtype)
        self.rounds = Rounds(self.loss, team or Team())
        self.sums = self.loss.sums(self.H)

    def sweep(self):
        return self.loss.sweep(self.H, self.sums, np.arange(len(self.H)), rounds=self.rounds)


# Rounds and tiles


@pytest.mark.parametrize("n", [1, 5, 16, 17, 100, 267])
def test_every_item_is_in_one_round_and_one_tile(n, together):
    seen = []
    for first, round in enumerate(rounds.rounds(n)):
        assert round.size == len(round.members)
        np.testing.assert_array_equal(round.members // together % 16, first)
        assert [place(k, round.lattice) for k in round.members] == list(range(round.size))
        for share in round.shares(rounds.tiles(n, 3, 4)):
            seen.extend(share.items)
            np.testing.assert_array_equal(share.items, round.members[share.places])
            np.testing.assert_array_equal(share.items, round.members[share.numbers])
    assert sorted(seen) == list(range(n))


@pytest.mark.parametrize("n", [3, 200, 201, 202, 203, 204])
def test_halves_end_with_single_items(n, together):
    def ends(round):
        assert round.size > 0
        if round.size == 1:
            return round.members.tolist()
        halves = round.halves()
        assert sum(half.size for half in halves) == round.size
        return [e for half in halves for e in ends(half)]

    for round in rounds.rounds(n):
        assert round.is_whole
        assert sorted(ends(round)) == round.members.tolist()


def test_neighbours_go_together_where_there_are_many():
    few, many = (rounds.rounds(n)[1].members[:3] for n in (rounds.PAYS - 1, rounds.PAYS))
    assert few.tolist() == [1, 17, 33]
    assert many.tolist() == [rounds.TOGETHER + k for k in range(3)]


def test_tiles_follow_the_problem_alone():
    assert len(rounds.tiles(10**7, 50, 20)) <= rounds.TILES
    # All r x r sums together are no larger than an eighth of H.
    n, r = 10**5, 1000
    assert len(rounds.tiles(n, r, 10)) * r * r <= n * r / 8 + r * r


# Sweeps


@EACH_LOSS
@EACH_KIND
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_sweeps_are_those_of_the_oracle(loss, diagonal, kind, weighted, together):
    X, rng = documents(2, n=70, m=12), np.random.default_rng(0)
    A, H = as_kind("dense", X), 0.05 + rng.random((70, 3))
    W = weights_of(1, 70) if weighted else np.ones((70, 70))
    made = Sweeps(as_kind(kind, X), H, loss, diagonal, 0.9, W if weighted else None)
    scales, refused = made.loss.scales, []
    for _ in range(2):
        before = weights_oracle.objective(A, W, H, loss, diagonal, scales)
        rounds_oracle.sweep(A, W, H, loss, diagonal, 0.9, scales, refused, together)
        step = made.sweep()
        np.testing.assert_allclose(made.H, H, rtol=0, atol=1e-9)
        after = weights_oracle.objective(A, W, H, loss, diagonal, scales)
        assert step.decrease == pytest.approx(before - after, rel=1e-8)
    assert made.rounds.refused == len(refused)


@EACH_KIND
@pytest.mark.parametrize("loss", ["l2", "l1", "mixed"])
def test_a_round_that_would_raise_the_objective_is_split(loss, kind, together):
    # Every item alone would do well to explain all that the others leave over; together they
    # explain it many times over.
    X = np.ones((70, 2)) + 0.1 * np.random.default_rng(1).random((70, 2))
    A, H = as_kind("dense", X), np.full((70, 2), 0.05) + 0.01 * np.arange(2)
    W, refused = np.ones((70, 70)), []
    made = Sweeps(as_kind(kind, X), H, loss)
    scales = made.loss.scales
    before = weights_oracle.objective(A, W, H, loss, scales=scales)
    rounds_oracle.sweep(A, W, H, loss, "ignore", np.inf, scales, refused, together)
    step = made.sweep()
    assert made.rounds.refused == len(refused) > 0
    after = weights_oracle.objective(A, W, made.H, loss, scales=scales)
    assert after == pytest.approx(weights_oracle.objective(A, W, H, loss, scales=scales))
    assert step.decrease == pytest.approx(before - after, rel=1e-9)
    assert after < before


@pytest.mark.parametrize("loss", ["l2", "l1", "mixed"])
def test_sums_that_cancel_are_computed_anew(loss):
    # A hub whose entry is a million times those of the others, then is not.
    rng = np.random.default_rng(4)
    A = symmetric((rng.random((60, 60)) < 0.2).astype(float))
    H = 1e-3 * rng.random((60, 2))
    H[7, 0] = 1e3
    made, W = Sweeps(sparse.csr_array(A), H, loss), np.ones((60, 60))
    value = weights_oracle.objective(A, W, made.H, loss, scales=made.loss.scales)
    for _ in range(3):
        step = made.sweep()
        left = weights_oracle.objective(A, W, made.H, loss, scales=made.loss.scales)
        assert left == pytest.approx(value - step.decrease, rel=1e-9)
        assert left <= value * (1 + 1e-12)
        value = left
    fresh = made.loss.sums(made.H).state()
    for name in {"D", "W", "W_1"} & fresh.keys():
        np.testing.assert_allclose(made.sums.state()[name], fresh[name], rtol=1e-9, atol=1e-12)


# Fits


@st.composite
def problems(draw):
    seed = draw(st.integers(0, 2**16))
    X = documents(seed, n=draw(st.integers(17, 90)), m=10)
    return as_kind(draw(st.sampled_from(KINDS)), X), seed


@given(problems(), st.sampled_from([*LOSSES, ("robust", "ignore")]), st.integers(1, 5))
@settings(max_examples=30)
def test_the_number_of_threads_changes_no_bit(problem, loss, r):
    A, seed = problem
    options = {"loss": loss[0], "diagonal": loss[1], "init": "random", "random_state": seed}
    options |= {"max_iter": 6, "restarts": seed % 2}
    values = []

    def look(sweep):
        values.append((sweep.objective, od.objective(A, sweep.H, *loss)))

    found = [quiet(A, r, **options, n_jobs=n_jobs) for n_jobs in (1, 2, 8)]
    look_at = quiet(A, r, **options, n_jobs=2, callback=look)
    for other in (*found[1:], look_at):
        np.testing.assert_array_equal(other.H, found[0].H)
        np.testing.assert_array_equal(other.history, found[0].history)
    if loss[0] in ("l2", "l1"):  # the mix of the others is not what od.objective assumes
        told, true = np.transpose(values)
        slack = 1e-9 * found[0].history[0]
        np.testing.assert_allclose(told, true, rtol=1e-9, atol=slack)
        assert (np.diff(true) <= slack).all()


@pytest.mark.parametrize(("loss", "kind"), [("l2", "sparse"), ("l2", "dense"), ("l1", "sparse")])
def test_single_precision(loss, kind):
    A = as_kind(kind, documents(5, n=60, dtype=np.float32))
    options = {"loss": loss, "init": "random", "random_state": 0, "max_iter": 8}
    one, two = (quiet(A, 3, **options, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.H.dtype == np.float32
    np.testing.assert_array_equal(one.H, two.H)
    assert (np.diff(one.history) <= 1e-6 * one.history[0]).all()
    assert one.objective == pytest.approx(od.objective(A, one.H, loss), rel=1e-5)


def test_rounds_come_as_far_as_rows_one_by_one():
    truth = np.kron(np.eye(4), np.ones((20, 1)))
    flips = symmetric((np.random.default_rng(0).random((80, 80)) < 0.05).astype(float))
    A = sparse.csr_array(np.abs(truth @ truth.T - flips) * (1 - np.eye(80)))
    for loss in ("l2", "l1"):
        one = od.factorize(A, 4, loss=loss)
        many = od.factorize(A, 4, loss=loss, n_jobs=2)
        assert many.converged
        assert many.objective == pytest.approx(one.objective, rel=1e-3)


def test_few_items_are_rows_one_by_one():
    # No more items than rounds: every round is a row.
    A = as_kind("sparse", documents(3, n=16))
    one, many = (quiet(A, 3, max_iter=5, n_jobs=n_jobs) for n_jobs in (None, 2))
    np.testing.assert_allclose(many.H, one.H, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_what_n_jobs_may_not_be(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be a whole number"):
        od.factorize(np.ones((3, 3)), 1, n_jobs=n_jobs)


def test_all_cores():
    A = as_kind("sparse", documents(3))
    np.testing.assert_array_equal(*(quiet(A, 3, n_jobs=n_jobs).H for n_jobs in (-1, 1)))


# Side by side


def fit(k):
    A = as_kind(KINDS[k % 4], documents(k % 3, n=50))
    options = {"init": "random", "random_state": 0, "max_iter": 10, "n_jobs": 3}
    return od.factorize(A, 3, loss=("l2", "l1")[k % 2], **options).H


# One filter for all threads: `quiet` has each set its own, and they would meet.
IGNORE_MAX_ITER = pytest.mark.filterwarnings("ignore:no convergence")


@IGNORE_MAX_ITER
def test_fits_from_eight_threads_at_once():
    cases = [*range(8)] * 3
    alone = [fit(k) for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for k, H in zip(cases, pool.map(fit, cases), strict=True):
            np.testing.assert_array_equal(H, alone[k])


def _child(pipe):
    pipe.send(fit(1))


@IGNORE_MAX_ITER
def test_a_forked_child_of_a_process_that_has_used_threads():
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    H = fit(1)
    with warnings.catch_warnings():
        # Python 3.12 warns of threads in the parent, should any be left.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = multiprocessing.get_context("fork").Process(target=_child, args=(theirs,))
        child.start()
    try:
        assert ours.poll(60), "the child did not answer"
        np.testing.assert_array_equal(ours.recv(), H)
    finally:
        child.kill()
        child.join()


def test_ctrl_c_keeps_the_last_complete_sweep():
    A = as_kind("sparse", documents(3, n=60))

    def press(sweep):
        if sweep.n_iter == 3:
            raise KeyboardInterrupt

    options = {"init": "random", "random_state": 0, "tol": 0, "n_jobs": 2}
    with pytest.warns(InterruptedWarning):
        found = od.factorize(A, 3, **options, callback=press)
    assert found.status == "interrupted"
    np.testing.assert_array_equal(found.H, quiet(A, 3, **options, max_iter=3).H)


# The team


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_team_returns_what_its_tasks_do_in_their_order(size):
    with Team(size) as team:
        for count in (0, 1, 3, 40):
            assert team.all([lambda k=k: k * k for k in range(count)]) == [
                k * k for k in range(count)
            ]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_when_a_task_fails_no_other_is_begun(error):
    begun = []

    def task(k):
        begun.append(k)
        if k == 5:
            raise error

    with Team(3) as team:
        with pytest.raises(error):
            team.all([lambda k=k: task(k) for k in range(10_000)])
        assert len(begun) < 10_000
        assert team.all([lambda: 1, lambda: 2]) == [1, 2]
