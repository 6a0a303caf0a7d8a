"""Sweeps and rounds of every solver against brute force: the objective and the optimum of a row."""

import numpy as np
import pytest
from scipy import sparse

import odsymnmf as od
from benchmarks import against
from odsymnmf.similarity import as_similarity, gram
from odsymnmf.solvers import rounds
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.new_items import solve_new_rows
from odsymnmf.solvers.objective import Scales
from odsymnmf.solvers.rounds import Rounds, halves, partition
from odsymnmf.solvers.sparse_h import SparseH, links
from odsymnmf.solvers.sparse_losses import SPARSE_LOSSES

AXES = {
    "loss": ["l2", "l1", "mixed", "symnmf"],
    "storage": ["dense", "sparse", "gram", "dense gram"],
    "weights": [False, True],
    "dtype": ["float64", "float32"],
    "n_threads": [None, 1, 2],
    "upper": [np.inf, 0.6],
    "storage_of_h": ["dense", "sparse"],
}


def possible(choice):
    if choice["storage_of_h"] == "sparse":
        return choice["storage"] == "sparse" and choice["loss"] in ("l1", "l2")
    return True


CHOICES = [tuple(choice.values()) for choice in against.pairwise(AXES, possible)]


def items(seed, n=27, m=10):
    """Rows of features: n n nonnegative similarities, of which many are zero."""
    rng = np.random.default_rng(seed)
    return rng.random((n, m)) * (rng.random((n, m)) < 0.25)


def problem(choice, seed=0):
    """Return A as stored, A and its weights in full, and H."""
    _, storage, weighted, dtype, _, upper, _ = choice
    X, rng = items(seed).astype(dtype), np.random.default_rng(seed + 1)
    n = len(X)
    A = (X @ X.T).astype(np.float64)
    A = (A + A.T) / 2
    W = np.ones((n, n))
    if weighted:
        W = np.triu(rng.choice([1.0, 1.0, 0.3, 2.0, 0.0], (n, n)), 1)
        W += W.T
    given = {
        "dense": A.astype(dtype),
        "sparse": sparse.csr_array(A.astype(dtype)),
        "gram": gram(sparse.csr_array(X)),
        "dense gram": gram(X),
    }[storage]
    H = rng.random((n, 4)) * (rng.random((n, 4)) < 0.5)
    H = np.minimum(H, upper).astype(dtype)
    return as_similarity(given, W if weighted else None), A, W, H


def brute_force(A, W, H, scales, diagonal):
    """The objective by its definition."""
    H = H.astype(np.float64)
    E, W = A - H @ H.T, W - np.diag(np.diag(W))
    value = scales.l1 * np.sum(W * np.abs(E)) + scales.l2 * np.sum(W * E**2)
    return value + (np.sum(np.diag(E) ** 2) if diagonal else 0.0)


def solver_of(choice, A, H):
    loss, *_, upper, storage_of_h = choice
    if storage_of_h == "sparse":
        options = {"share": 0.0} if loss == "l2" else {}
        H = SparseH(H, A.dtype)
        stored = links(A.to_csr())
        return SPARSE_LOSSES[loss](stored, H, A.weights, upper=upper, cap=None, **options)
    diagonal = "fit" if loss == "symnmf" else "ignore"
    solver = make_solver("l2" if diagonal == "fit" else loss, A, upper, diagonal=diagonal)
    solver.H = H.copy()
    return solver


def dense(H):
    return H.csr().toarray() if isinstance(H, SparseH) else H


@pytest.mark.parametrize("choice", CHOICES, ids=["-".join(map(str, c)) for c in CHOICES])
def test_sweeps_match_brute_force(choice):
    loss, _, _, dtype, n_threads, upper, _ = choice
    S, A, W, H = problem(choice)
    solver = solver_of(choice, S, H)
    sweep = solver.sweep if n_threads is None else Rounds(solver, n_threads)
    scales, diagonal = solver.scales, loss == "symnmf"
    tol = 1e-9 if dtype == "float64" else 2e-5
    zero = brute_force(A, W, 0 * H, scales, diagonal)
    previous = None
    for _ in range(10):
        result = sweep()
        H = dense(solver.H)
        assert np.isfinite(H).all()
        assert (H >= 0).all()
        assert H.max() <= np.asarray(upper, H.dtype)
        value = brute_force(A, W, H, scales, diagonal)
        assert solver.objective() == pytest.approx(value, rel=tol, abs=tol * zero)
        assert result.loss_decrease >= -tol * zero
        if previous is not None:
            assert previous - value == pytest.approx(result.loss_decrease, abs=tol * zero)
        previous = value
    # Every entry is at its optimum, as far as sweeps have converged.
    for k in range(0, len(H), 9):
        for l in range(H.shape[1]):
            best = value
            for x in np.append(H[k, l] * np.array([0.0, 0.9, 1.1]), 0.01):
                other = H.astype(np.float64)
                other[k, l] = min(x, upper)
                best = min(best, brute_force(A, W, other, scales, diagonal))
            assert value - best <= 3e-3 * zero


@pytest.mark.parametrize("loss", ["l2", "l1", "mixed", "robust"])
@pytest.mark.parametrize("form", ["dense", "sparse", "gram", "dense gram"])
def test_the_number_of_threads_changes_no_bit(loss, form, monkeypatch):
    monkeypatch.setattr(rounds, "MIN_ROWS", 1)
    monkeypatch.setattr(rounds, "MIN_WORK", 1)
    X = items(3, n=120)
    A = {
        "dense": lambda: X @ X.T,
        "sparse": lambda: sparse.csr_array(X @ X.T),
        "gram": lambda: gram(sparse.csr_array(X)),
        "dense gram": lambda: gram(X),
    }[form]()
    H = np.random.default_rng(0).random((120, 5))
    options = {"loss": loss, "init": H, "max_iter": 5, "tol": 0.0, "restarts": 0}
    with pytest.warns(Warning, match="no convergence"):
        one, two = (od.factorize(A, 5, n_jobs=k, **options) for k in (1, 2))
    np.testing.assert_array_equal(one.H, two.H)
    np.testing.assert_array_equal(one.history, two.history)


def test_a_round_that_would_increase_f_is_split():
    # Every row alone would explain what all of them leave.
    A = np.ones((64, 64))
    solver = make_solver("l2", as_similarity(A), np.inf)
    solver.H = np.full((64, 1), 1e-3)
    sweep = Rounds(solver)
    before, result = solver.objective(), sweep()
    assert sweep.n_splits > 0
    assert before - solver.objective() == pytest.approx(result.decrease)
    assert result.decrease > 0


@pytest.mark.parametrize("run", [1, 8])
@pytest.mark.parametrize("n", [1, 5, 16, 17, 100, 267])
def test_rounds_contain_every_item_once(n, run):
    parts = partition(n, run)
    assert sorted(np.concatenate(parts)) == list(range(n))
    for items_of_round in parts:
        todo = [items_of_round]
        while todo:
            part = todo.pop()
            if len(part) > 1:
                first, second = halves(part, run)
                assert len(first)
                assert len(second)
                assert sorted([*first, *second]) == list(part)
                todo += [first, second]


class Exchange:
    """Two processes in one: each solves its own pieces, and receives those of the other."""

    def __init__(self):
        self.results = []

    def __call__(self, own):
        self.results.append(own)
        return [own, []]


def test_exchanged_results_are_those_of_one_process(monkeypatch):
    monkeypatch.setattr(rounds, "MIN_WORK", 1)
    A, H = (
        as_similarity(items(1, n=80) @ items(1, n=80).T),
        np.random.default_rng(0).random((80, 3)),
    )
    alone, shared = (make_solver("l2", A, np.inf) for _ in range(2))
    alone.H, shared.H = H.copy(), H.copy()
    exchange = Exchange()
    sweep = Rounds(shared, exchange=exchange, owners=np.zeros(80, dtype=int), rank=0)
    assert sweep() == Rounds(alone)()
    np.testing.assert_array_equal(alone.H, shared.H)
    assert len(exchange.results) == 2 * 16


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scales", [Scales(0.0, 1.0), Scales(1.0, 0.0)])
def test_new_items_are_at_the_optimum_of_every_entry(storage, scales):
    rng = np.random.default_rng(2)
    H = rng.random((30, 4)) * (rng.random((30, 4)) < 0.6)
    S = rng.random((9, 30)) * (rng.random((9, 30)) < 0.7)
    X = solve_new_rows(S, storage(H), scales, upper=0.9, penalized=False)
    X = X.toarray() if sparse.issparse(X) else X

    def loss(x, s):
        e = s - H @ x
        return scales.l1 * np.sum(np.abs(e)) + scales.l2 * np.sum(e**2)

    for x, s in zip(X, S, strict=True):
        assert (x >= 0).all()
        assert (x <= 0.9).all()
        for l in range(4):
            for step in (-1e-4, 1e-4):
                other = x.copy()
                other[l] = min(max(other[l] + step, 0.0), 0.9)
                assert loss(x, s) <= loss(other, s) + 1e-12
