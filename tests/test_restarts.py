"""Column restarts never increase f, and find clusters that sweeps miss."""

import numpy as np
import pytest
from problems import (
    EACH_LOSS,
    INPUTS,
    LOSSES,
    as_input,
    documents,
    naive_entry,
    naive_objective,
    naive_sweep,
    pairwise,
    quiet,
    symmetric,
)
from scipy import sparse

import odsymnmf as od
from odsymnmf.datasets import cliques, flip
from odsymnmf.init import greedy
from odsymnmf.metrics import membership_accuracy
from odsymnmf.paper.algorithm_5 import with_self_similarity
from odsymnmf.similarity import as_similarity
from odsymnmf.solvers import restarts
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.restarts import restart_column, restart_order


def noisy_cliques(groups, noise, seed):
    A, truth = cliques([10] * groups)
    return flip(A, noise, seed), truth


def naive_restart(A, H, j, loss, diagonal, upper):
    """Return H with column j rebuilt, None if f does not decrease. Sums nothing incrementally."""
    before, tried = naive_objective(A, H, loss, diagonal), np.zeros(len(A), dtype=bool)
    for _ in range(restarts.N_SEEDS):
        if tried.all():
            break
        new = H.copy()
        new[:, j] = naive_column(A, np.delete(H, j, axis=1), loss, upper, H.shape[1], tried)
        tried |= new[:, j] > 0
        items = np.flatnonzero((H[:, j] > 0) | (new[:, j] > 0))
        for _ in range(restarts.N_SWEEPS):
            new = naive_sweep(A, new, loss, diagonal, upper=upper, items=items)
        if naive_objective(A, new, loss, diagonal) < before - 1e-9:
            return new
    return None


def naive_column(A, B, loss, upper, r, tried):
    """Return a new column on top of the columns B, item by item."""
    A = with_self_similarity(A, greedy.SELF_SIMILARITY)
    n, R = len(A), A - B @ B.T
    h, J, w, zeros = np.zeros(n), [], np.ones(n), 0

    def add(k):
        if J:
            h[k] = naive_entry(h[J], R[k, J], np.ones(len(J)), loss, upper)
        else:
            h[k] = min(np.sqrt(symmetric(A).max()), upper)
        J.append(k)

    for _ in range(min(n, max(restarts.MIN_PICKS, 2 * r - 2))):
        s = R @ w
        s[J if J else tried] = -np.inf
        k = int(np.argmax(s))
        w = A[:, k] + (w if J else 0.0)
        add(k)
        zeros = 0 if h[k] > 0 else zeros + 1
        if zeros == greedy.MAX_FAILURES:
            break
    s, v = R @ w, A @ w
    for k in np.argsort(-s, kind="stable"):
        if k not in J and s[k] > 0 and v[k] > 0:
            add(k)
    return h


def solver_for(A, H, loss, diagonal="ignore", upper=np.inf, weights=None):
    solver = make_solver(loss, as_similarity(A, weights), upper, diagonal=diagonal)
    solver.H = H.astype(solver.A.dtype)
    solver.refresh()
    return solver


@EACH_LOSS
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_restarts_match_brute_force(loss, diagonal, form):
    rng = np.random.default_rng(1)
    n_accepted = 0
    for _ in range(8):
        n, r = int(rng.integers(4, 25)), int(rng.integers(1, 5))
        X = rng.random((n, 3)) * (rng.random((n, 3)) < 0.5)
        A = symmetric(X @ X.T + 0.1 * rng.random((n, n)) * (rng.random((n, n)) < 0.5))
        A += np.diag(rng.random(n))
        upper = [np.inf, 0.8][rng.integers(2)]
        H = np.minimum(rng.random((n, r)) * (rng.random((n, r)) < 0.5), upper)
        solver = solver_for(form(A), H, loss, diagonal, upper)
        for j in range(r):
            before = naive_objective(A, H, loss, diagonal)
            attempt = restart_column(solver, j, solver.A.degrees(), before)
            expected = naive_restart(A, H, j, loss, diagonal, upper)
            assert (attempt.decrease > 0) == (expected is not None)
            if expected is not None:
                H, n_accepted = expected, n_accepted + 1
                after = naive_objective(A, H, loss, diagonal)
                assert attempt.decrease == pytest.approx(before - after, abs=1e-8)
            np.testing.assert_allclose(solver.H, H, rtol=0, atol=1e-8)
    assert n_accepted > 5


@pairwise(
    {
        "loss, diagonal": [*LOSSES, ("mixed", "ignore")],
        "kind": INPUTS,
        "weighted": [False, True],
        "dtype": [np.float64, np.float32],
    }
)
def test_rejected_restart_changes_nothing_and_accepted_one_is_exact(
    loss, diagonal, kind, weighted, dtype
):
    X, rng = documents(3, dtype=dtype), np.random.default_rng(0)
    W = symmetric(rng.choice([1.0, 1.0, 0.3, 0.0], (40, 40))) if weighted else None
    H = rng.random((40, 4))
    H[:, 1], H[:, 2] = H[:, 0], 0
    solver = solver_for(as_input(kind, X), H, loss, diagonal, weights=W)
    tol = 1e-9 if dtype == np.float64 else 2e-4
    decreases = []
    sums = {"D", "W"} if loss == "mixed" else {"D", "W", "Z"}
    for j in [0, 1, 2, 3] * 3:
        for _ in range(j * len(decreases)):
            solver.sweep()
        before, old = solver.objective(), solver.H.copy()
        attempt = restart_column(solver, j, solver.A.degrees(), before)
        decreases.append(attempt.decrease)
        if attempt.decrease > 0:
            assert before - solver.objective() == pytest.approx(attempt.decrease, abs=tol * before)
        else:
            np.testing.assert_array_equal(solver.H, old)
        updated = {name: array.copy() for name, array in solver.state().items()}
        solver.refresh()
        for name in updated.keys() & sums:
            recomputed = solver.state()[name]
            np.testing.assert_allclose(updated[name], recomputed, rtol=10 * tol, atol=10 * tol)
    assert max(decreases) > 0 >= min(decreases)


@EACH_LOSS
def test_history_includes_restarts_and_never_increases(loss, diagonal):
    A, _ = noisy_cliques(6, 0.1, 0)
    sweeps = []
    options = {"loss": loss, "diagonal": diagonal, "init": "random", "random_state": 3}
    f = od.factorize(A, 6, restarts=20, callback=lambda s: sweeps.append(s) and False, **options)
    assert f.converged
    assert len(f.history) == 1 + f.n_iter + len(f.restart_steps)
    assert f.n_iter == sum(sweep.column is None for sweep in sweeps)
    assert (np.diff(f.history) <= 1e-9 * f.history[0]).all()
    assert (np.diff(f.history)[f.restart_steps - 1] < 0).all()
    assert f.objective == pytest.approx(naive_objective(A, f.H, loss, diagonal))
    plain = od.factorize(A, 6, restarts=0, **options)
    assert plain.restart_steps.size == 0
    assert f.objective <= plain.objective + 1e-6
    assert f.restart_steps.size > 0 or loss != "l1"


@pytest.mark.parametrize(("loss", "rounds"), [("l1", 10), ("l2", 0)])
def test_default_number_of_restarts(loss, rounds):
    A, _ = noisy_cliques(4, 0.1, 0)
    options = {"loss": loss, "init": "random", "random_state": 0}
    default = od.factorize(A, 4, **options)
    named = od.factorize(A, 4, restarts=rounds, **options)
    np.testing.assert_array_equal(default.history, named.history)
    assert (default.restart_steps.size > 0) == (loss == "l1")


def test_one_round_tries_every_column_once_after_the_sweeps():
    A, _ = noisy_cliques(10, 0.1, 1)
    columns = []
    options = {"loss": "l1", "init": "random", "random_state": 1}
    od.factorize(A, 10, restarts=1, callback=lambda s: columns.append(s.column), **options)
    assert sorted(j for j in columns if j is not None) == list(range(10))
    assert len(od.factorize(A, 3, max_iter=0, **options).history) == 1


def test_callback_stops_the_restarts():
    A, _ = noisy_cliques(6, 0.1, 0)
    columns = []

    def stop(sweep):
        columns.append(sweep.column)
        return sweep.column is not None

    f = od.factorize(A, 6, loss="l1", init="random", random_state=0, callback=stop)
    assert sum(column is not None for column in columns) == 1
    assert f.status == "stopped"
    assert f.objective == pytest.approx(od.objective(A, f.H, "l1"))


def test_work_of_restarts_is_bounded_also_after_resuming(monkeypatch, tmp_path):
    A = as_input("gram", documents(3))
    monkeypatch.setattr("odsymnmf.solvers.run.MAX_RESTART_WORK", 50)
    tries = []

    def count(sweep):
        tries.append(sweep.column is not None)
        return sum(tries) == 85 and "checkpoint" in options

    options = {"loss": "l1", "init": "random", "random_state": 0, "callback": count}
    f = quiet(A, 40, **options)
    assert f.restart_steps.size > 0
    assert 85 < (n_tries := sum(tries)) < 200  # of up to 400
    tries.clear()
    options |= {"checkpoint": tmp_path / "c", "checkpoint_every": 0}
    assert quiet(A, 40, **options).status == "stopped"
    np.testing.assert_array_equal(quiet(A, 40, **options).H, f.H)
    assert sum(tries) == n_tries


@EACH_LOSS
def test_empty_and_duplicate_columns_are_first_and_rebuilt(loss, diagonal):
    A, truth = cliques([6, 5, 4, 3])
    H = truth.copy()
    H[:, 1] = 0
    H[:, 3] = 0.9 * H[:, 0]
    assert restart_order(H) == [1, 3, 0, 2]
    f = od.factorize(A, 4, loss=loss, diagonal=diagonal, init=H, restarts=20, tol=1e-9)
    assert membership_accuracy(f.H, truth) > 0.999


def test_rank_one_l1_reaches_the_optimum_of_binary_data():
    """For 0 <= h <= 1 and binary A an optimum is among the 2^n binary h."""
    rng = np.random.default_rng(0)
    n_optimal = 0
    for _ in range(40):
        n, density = int(rng.integers(6, 11)), rng.uniform(0.2, 0.8)
        A = symmetric((rng.random((n, n)) < density).astype(float))
        h = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        B = 1 - 2 * A - np.eye(n)
        optimum = A.sum() + np.einsum("pi,ij,pj->p", h, B, h).min()
        options = {"loss": "l1", "upper": 1.0, "random_state": 0}
        values = [quiet(A, 1, init=init, **options).objective for init in ("greedy", "random")]
        assert min(values) >= optimum - 1e-9
        n_optimal += min(values) <= optimum + 1e-9
    assert n_optimal >= 36


@pytest.mark.parametrize("groups", [2, 10])
def test_random_init_recovers_noisy_cliques(groups):
    accuracies, differences = [], []
    for seed in range(5):
        A, truth = noisy_cliques(groups, 0.1, seed)
        options = {"loss": "l1", "upper": 1.0, "random_state": seed}
        f = quiet(A, groups, init="random", **options)
        without = quiet(A, groups, restarts=0, **options)
        accuracies.append(membership_accuracy(f.H, truth))
        differences.append(without.objective - f.objective)
    assert np.mean(accuracies) >= 0.97
    assert np.mean(differences) >= 0
