"""Column restarts: they do what they say, never raise the objective, and find what sweeps miss."""

import numpy as np
import pytest
import restarts_oracle
from engine_problems import (
    KINDS,
    LOSSES,
    as_kind,
    documents,
    naive_objective,
    pairwise,
    quiet,
    symmetric,
)
from scipy import sparse

import odsymnmf as od
from odsymnmf import kernels, similarity
from odsymnmf.datasets import cliques, flip
from odsymnmf.fit import InterruptedWarning
from odsymnmf.init import greedy, spectral
from odsymnmf.metrics import membership_accuracy
from odsymnmf.solvers import restarts
from odsymnmf.solvers.losses import L1, make_solver
from odsymnmf.solvers.run import Run

EACH_LOSS = pytest.mark.parametrize(("loss", "diagonal"), LOSSES, ids=["l2", "l1", "symnmf"])


def noisy_cliques(groups, noise, seed):
    A, truth = cliques([10] * groups)
    return flip(A, noise, seed), truth


def after_one_round(A, H, loss, diagonal, upper=np.inf):
    A = similarity.as_similarity(A)
    measure = make_solver(loss, A, upper, diagonal=diagonal)
    tried = []
    measure.H = H.astype(A.dtype)
    run = Run(
        measure,
        max_iter=1,
        tol=0.0,
        restarts=1,
        callback=lambda state: tried.append((state.column, state.objective)) and False,
    )
    one_round(run)
    return run, tried


def one_round(run):
    """A round of restarts, without sweeps."""
    run.state.round = run.state.work_done = 0
    assert run._begin_round()
    while run.state.queue is not None:
        run._try_column()


def check_kept_sums(run, close):
    """What the loss keeps of H is what it would compute anew."""
    kept, H = {name: array.copy() for name, array in run.solver.state().items()}, run.solver.H
    run.solver.refresh()
    fresh = run.solver.state()
    for name in kept.keys() & {"D", "W", "Z"}:
        np.testing.assert_allclose(kept[name], fresh[name], rtol=close, atol=close)
    if "nonzero" in kept:
        assert kept["nonzero"][H.any(axis=1)].all()


@EACH_LOSS
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_round_is_that_of_the_oracle(loss, diagonal, form):
    rng = np.random.default_rng(1)
    accepted = 0
    for _ in range(25):
        n, r = int(rng.integers(4, 25)), int(rng.integers(1, 5))
        X = rng.random((n, 3)) * (rng.random((n, 3)) < 0.5)
        A = symmetric(X @ X.T + 0.1 * rng.random((n, n)) * (rng.random((n, n)) < 0.5))
        A += np.diag(rng.random(n))
        H = rng.random((n, r)) * (rng.random((n, r)) < 0.5)
        upper = [np.inf, 0.8][rng.integers(2)]
        H = np.minimum(H, upper)
        run, tried = after_one_round(form(A), H, loss, diagonal, upper)
        expected, columns = restarts_oracle.one_round(A, H, loss, diagonal, upper)
        np.testing.assert_allclose(run.solver.H, expected, rtol=0, atol=1e-8)
        np.testing.assert_array_equal(run.H, run.solver.H)
        assert run.objective == pytest.approx(naive_objective(A, expected, loss, diagonal))
        assert len(run.state.restarts) == len(columns)
        assert [j for j, _ in tried] == restarts_oracle.order(H)
        accepted += len(columns)
    assert accepted > 20


@pairwise({"loss, diagonal": LOSSES, "kind": KINDS, "dtype": [np.float64, np.float32]})
def test_each_kind_of_input(loss, diagonal, kind, dtype):
    X = documents(dtype=dtype)
    A = np.asarray(as_kind("dense", X), dtype=float)
    H = np.random.default_rng(0).random((len(A), 4)).astype(dtype)
    H[:, 1] = H[:, 0]
    H[:, 2] = 0
    run, _ = after_one_round(as_kind(kind, X), H, loss, diagonal)
    assert run.state.restarts
    close = 1e-9 if dtype == np.float64 else 1e-3
    value = naive_objective(A, run.solver.H, loss, diagonal)
    assert run.objective == pytest.approx(value, rel=close)
    assert (np.array(run.state.decreases) > 0).all()
    if dtype == np.float64:
        same, _ = after_one_round(as_kind("dense", X), H, loss, diagonal)
        np.testing.assert_allclose(run.solver.H, same.solver.H, rtol=0, atol=1e-7)
    check_kept_sums(run, close)


@EACH_LOSS
def test_a_refused_trial_leaves_no_trace(loss, diagonal):
    for kind in KINDS:
        X = documents(3)
        found = quiet(as_kind(kind, X), 3, loss=loss, diagonal=diagonal, restarts=20, tol=1e-8)
        run, _ = after_one_round(as_kind(kind, X), found.H, loss, diagonal)
        again, tried = after_one_round(as_kind(kind, X), run.solver.H, loss, diagonal)
        if not again.state.restarts:
            np.testing.assert_array_equal(again.solver.H, run.solver.H)
            np.testing.assert_array_equal(again.H, run.solver.H)
        check_kept_sums(again, 1e-9)
        assert len(tried) == 3


def test_a_refused_column_waits_until_the_objective_has_fallen_as_much():
    A, seen = as_kind("dense", documents(3)), []
    run, _ = after_one_round(A, np.random.default_rng(0).random((len(A), 3)), "l1", "ignore")
    below = run.state.retry_below = np.full(3, np.inf)
    run.callback = lambda state: seen.append(state.column) and False
    while np.isinf(below).any():
        one_round(run)
    run.solver.objective = lambda H: run.state.objective  # those below are made up
    worst, middle, _ = np.sort(below)
    assert worst < middle < run.objective
    run.state.objective = (worst + middle) / 2  # as if others had brought f down
    run.state.retry_below = below.copy()
    seen.clear()
    one_round(run)
    assert sorted(seen) == sorted(np.argsort(below)[1:])
    seen.clear()
    run.state.objective, run.state.retry_below = np.inf, below
    one_round(run)
    assert seen == []


@EACH_LOSS
def test_worth_is_what_the_objective_says(loss, diagonal):
    rng = np.random.default_rng(7)
    A = symmetric(rng.standard_normal((9, 9))) + np.diag(rng.random(9))
    H = rng.random((9, 3)) * (rng.random((9, 3)) < 0.7)
    S = similarity.as_similarity(sparse.csr_array(A))
    measure = make_solver(loss, S, np.inf, diagonal=diagonal)
    measure.H = H
    for j in range(3):
        without = H.copy()
        without[:, j] = 0
        rise = naive_objective(A, without, loss, diagonal) - naive_objective(A, H, loss, diagonal)
        assert measure.column_gain(j, np.flatnonzero(H[:, j])).value == pytest.approx(rise)


@EACH_LOSS
def test_history_marks_the_restarts_and_never_rises(loss, diagonal):
    seen = []
    A, _ = noisy_cliques(6, 0.1, 0)
    options = {"loss": loss, "diagonal": diagonal, "init": "random", "random_state": 3}
    found = od.factorize(A, 6, restarts=20, callback=lambda s: seen.append(s) and False, **options)
    assert found.converged
    assert len(found.history) == 1 + found.n_iter + len(found.restart_steps)
    assert found.n_iter == sum(state.column is None for state in seen)
    assert (np.diff(found.history) <= 1e-9 * found.history[0]).all()
    assert found.objective == pytest.approx(naive_objective(A, found.H, loss, diagonal))
    falls = -np.diff(found.history)[found.restart_steps - 1]
    assert (falls > 0).all()
    plain = od.factorize(A, 6, restarts=0, **options)
    assert plain.restart_steps.size == 0
    assert found.objective <= plain.objective + 1e-6
    if loss == "l1":
        assert found.restart_steps.size > 0
    again = od.factorize(A, 6, restarts=20, **options)
    np.testing.assert_array_equal(again.H, found.H)


def test_the_default_restarts_l1_and_not_l2():
    A, _ = noisy_cliques(4, 0.1, 0)
    for loss, rounds in (("l1", 10), ("l2", 0)):
        options = {"loss": loss, "init": "random", "random_state": 0}
        default, named = (
            od.factorize(A, 4, **options),
            od.factorize(A, 4, restarts=rounds, **options),
        )
        np.testing.assert_array_equal(default.history, named.history)
        assert (default.restart_steps.size > 0) == (loss == "l1")


def test_rounds_are_counted():
    A, _ = noisy_cliques(10, 0.1, 1)
    tried = []
    options = {"loss": "l1", "init": "random", "random_state": 1}
    od.factorize(A, 10, restarts=1, callback=lambda s: tried.append(s.column) and False, **options)
    assert sorted(j for j in tried if j is not None) == list(range(10))
    for bad in (-1, 1.5, "many"):
        with pytest.raises(ValueError, match="restarts must be a whole number >= 0"):
            od.factorize(A, 2, restarts=bad)


def rows_of_restarts(monkeypatch, A, r, allowance, **options):
    """Fit l1; return how many rows its restarts placed and swept, as it was asked for them."""
    rows, sweep, place = [0], L1.sweep, L1.set_greedy_entries

    def counted_sweep(self, items=None, empty=0.0):
        rows[0] += 0 if items is None else len(items)
        return sweep(self, items, empty)

    def counted_place(self, items, *args):
        rows[0] += len(items)
        return place(self, items, *args)

    with monkeypatch.context() as patch:
        patch.setattr("odsymnmf.solvers.run.MAX_RESTART_WORK", allowance)
        patch.setattr(L1, "sweep", counted_sweep)
        patch.setattr(L1, "set_greedy_entries", counted_place)
        found = quiet(A, r, loss="l1", init="random", random_state=0, **options)
    return rows[0], found


def test_with_as_many_clusters_as_items_restarts_keep_to_their_allowance(monkeypatch, tmp_path):
    X = documents(3)
    A, n = as_kind("gram", X), len(X)
    freely, best = rows_of_restarts(monkeypatch, A, n, 10**6)
    bound = 10 * 3 * n  # rounds, sweeps a round, rows a sweep
    rows, found = rows_of_restarts(monkeypatch, A, n, 3)
    last = restarts.N_SEEDS * (restarts.N_SWEEPS + 2) * n  # the column at which it was spent
    assert bound <= rows <= bound + last < freely / 3
    assert (
        best.objective
        < found.objective
        < quiet(A, n, loss="l1", init="random", restarts=0, random_state=0).objective
    )
    # What was spent before a crash stays spent.
    kept = {"checkpoint": tmp_path / "c", "checkpoint_every": 0}
    stop = {"callback": lambda sweep: sweep.column is not None}
    rows_of_restarts(monkeypatch, A, n, 3, **kept, **stop)
    resumed = rows_of_restarts(monkeypatch, A, n, 3, **kept)[1]
    np.testing.assert_array_equal(resumed.H, found.H)


@EACH_LOSS
def test_empty_and_repeated_columns_come_first_and_are_filled(loss, diagonal):
    A, truth = cliques([6, 5, 4, 3])
    H = truth.copy()
    H[:, 1] = 0  # the group of 5 has no column, that of 6 has two
    H[:, 3] = 0.9 * H[:, 0]
    assert restarts.restart_order(H) == [1, 3, 0, 2]
    found = od.factorize(A, 4, loss=loss, diagonal=diagonal, init=H, restarts=20, tol=1e-9)
    assert membership_accuracy(found.H, truth) > 0.999


def test_the_callback_stops_between_columns():
    A, _ = noisy_cliques(6, 0.1, 0)
    seen = []

    def stop(state):
        seen.append(state.column)
        return state.column is not None

    found = od.factorize(A, 6, loss="l1", init="random", random_state=0, callback=stop)
    assert sum(column is not None for column in seen) == 1
    assert seen[-1] is not None
    assert found.objective == pytest.approx(od.objective(A, found.H, "l1"))


@pytest.mark.parametrize("room", ["greedy", "l1"])
@pytest.mark.parametrize("after", [1, 3, 10])
def test_an_interrupt_returns_the_last_accepted_state(monkeypatch, room, after):
    A, _ = noisy_cliques(6, 0.1, 0)
    H = quiet(A, 6, loss="l1", init="random", random_state=0, restarts=0).H
    accepted, calls = [], 0
    kernel = {"greedy": "place_l1", "l1": "stored_gain"}[room]
    original = getattr(getattr(kernels, room), kernel)

    def interrupted(*arguments):
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(getattr(kernels, room), kernel, interrupted)
    with pytest.warns(InterruptedWarning):
        found = od.factorize(
            A, 6, loss="l1", init=H, callback=lambda s: accepted.append(s.H.copy()) and False
        )
    assert not found.converged
    np.testing.assert_array_equal(found.H, accepted[-1])
    assert found.objective == pytest.approx(od.objective(A, found.H, "l1"))


def test_no_sweeps_no_restarts():
    A, _ = noisy_cliques(3, 0.1, 0)
    found = od.factorize(A, 3, loss="l1", init="random", random_state=0, max_iter=0)
    assert len(found.history) == 1


def best_binary_column(A):
    """The optimum for rank one, 0 <= h <= 1, binary A: among the 2^n binary h."""
    n = len(A)
    h = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    return A.sum() + np.einsum("pi,ij,pj->p", h, 1 - 2 * A - np.diag(1 - 2 * A.diagonal()), h).min()


def test_rank_one_against_brute_force():
    rng = np.random.default_rng(0)
    optimal = 0
    for _ in range(200):
        n, density = int(rng.integers(6, 11)), rng.uniform(0.2, 0.8)
        A = symmetric((rng.random((n, n)) < density).astype(float))
        optimum = best_binary_column(A)
        options = {"loss": "l1", "upper": 1.0, "random_state": 0}
        starts = ("greedy", "random", "spectral", "nndsvd")
        values = [quiet(A, 1, init=start, **options).objective for start in starts]
        assert min(values) >= optimum - 1e-9
        optimal += min(values) <= optimum + 1e-9
    assert optimal >= 180


@pytest.mark.parametrize("groups", [2, 5, 10])
def test_a_random_start_recovers_noisy_cliques(groups):
    accuracies, falls = [], []
    for seed in range(10):
        A, truth = noisy_cliques(groups, 0.1, seed)
        options = {"loss": "l1", "upper": 1.0, "random_state": seed}
        found = quiet(A, groups, init="random", **options)
        greedy = quiet(A, groups, restarts=0, **options)
        accuracies.append(membership_accuracy(found.H, truth))
        falls.append(greedy.objective - found.objective)
    assert np.mean(accuracies) >= 0.97
    assert np.mean(falls) >= 0


def test_restarts_help_the_greedy_start_at_20_percent_noise(monkeypatch):
    # with the paper's self-similarity; a larger one leaves the greedy start less to mend
    monkeypatch.setattr(greedy, "SELF_SIMILARITY", 1.0)
    gains = []
    for seed in range(30):
        A, truth = noisy_cliques(10, 0.2, seed)
        plain, better = (
            membership_accuracy(quiet(A, 10, loss="l1", upper=1.0, restarts=rounds).H, truth)
            for rounds in (0, 10)
        )
        gains.append(better - plain)
    assert np.mean(gains) >= 0.08


@pytest.mark.parametrize("kind", KINDS)
def test_the_start_from_l2(kind):
    A = as_kind(kind, documents(2))
    found = quiet(A, 3, loss="l1", init="l2", max_iter=50, restarts=0)
    H = quiet(A, 3, loss="l2").H
    same = quiet(A, 3, loss="l1", init=H, max_iter=50, restarts=0)
    np.testing.assert_allclose(found.H, same.H, atol=1e-6)
    with pytest.raises(ValueError, match="init='l2' starts from the fit of that loss"):
        od.factorize(A, 3, init="l2")


@pytest.mark.parametrize("kind", KINDS)
def test_nndsvd_is_that_of_scikit_learn(kind):
    from sklearn.decomposition._nmf import _initialize_nmf

    X = np.kron(np.diag([1.2, 1.1, 1.0]), np.ones((6, 1)))
    X += 0.1 * np.random.default_rng(0).random(X.shape)
    A = as_kind(kind, X)
    S = similarity.as_similarity(A)
    found = spectral.nndsvd(make_solver("l2", S, np.inf), 3, np.random.RandomState(0))
    dense = symmetric(X @ X.T)
    W, H = _initialize_nmf(dense, 3, init="nndsvd", random_state=0)
    np.testing.assert_allclose(W, H.T, atol=1e-5)
    np.testing.assert_allclose(found, spectral.scale_to_fit(S, W), atol=1e-4)
