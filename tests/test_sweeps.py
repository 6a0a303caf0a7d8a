"""Sweeps and rounds against brute force, for every loss, input and storage of H."""

import numpy as np
import pytest
from problems import (
    EACH_INPUT,
    EACH_LOSS,
    as_input,
    documents,
    naive_objective,
    naive_row,
    naive_sweep,
    quiet,
    symmetric,
)
from scipy import sparse

import odsymnmf as od
from benchmarks.against import pairwise
from odsymnmf.similarity import as_similarity, gram
from odsymnmf.solvers import rounds, sparse_losses
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.rounds import Rounds
from odsymnmf.solvers.sparse_h import SparseH, links
from odsymnmf.solvers.sparse_losses import SPARSE_LOSSES

AXES = {
    "loss": ["l2", "l1", "mixed", "symnmf"],
    "kind": ["dense", "sparse", "gram", "sparse gram"],
    "dtype": ["float64", "float32"],
    "storage": ["H", "sparse H"],
    "weights": ["equal", "unknown", "zero_weight", "weights"],
    "n_threads": [1, 2],
    "upper": [np.inf, 0.6],
}
L1_RATIO = 0.3


def possible(case):
    if case["kind"] == "sparse":
        return case["storage"] == "H" or case["loss"] in ("l1", "l2")
    return case["storage"] == "H" and case["weights"] != "zero_weight"


TOGETHER = ("loss", "kind", "dtype", "storage"), ("loss", "kind", "weights")
CASES = list(pairwise(AXES, possible, TOGETHER))
IDS = ["-".join(str(v) for v in c.values() if v not in (None, np.inf, "equal", "H")) for c in CASES]


def given_similarity(kind, X, W, weights):
    """Return A as `Similarity`, with weights in the form that the case names."""
    A = X @ X.T
    A = np.maximum(A, A.T)
    form = {"dense": A, "sparse": sparse.csr_array(A), "gram": gram(X)}
    given = form.get(kind, gram(sparse.csr_array(X)) if kind == "sparse gram" else None)
    if weights == "zero_weight":
        return as_similarity(given, zero_weight=0.3)
    if weights == "unknown" and kind == "dense":
        return as_similarity(np.where(W == 0, np.nan, A))
    return as_similarity(given, None if weights == "equal" else W)


def problem(kind, dtype, weights, upper, n=27, r=4):
    """Return A as `Similarity`, A and its weights as arrays, and H."""
    rng = np.random.default_rng(1)
    X = (rng.random((n, 10)) * (rng.random((n, 10)) < 0.4)).astype(dtype)
    A = X.astype(np.float64) @ X.T.astype(np.float64)
    W = np.ones((n, n))
    if weights == "zero_weight":
        W = np.where(A > 0, 1.0, 0.3)
    elif weights != "equal":
        values = [1.0, 1.0, 0.0] if weights == "unknown" else [1.0, 0.3, 2.0, 0.0]
        W = symmetric(rng.choice(values, (n, n))) + np.eye(n)
    H = np.minimum(0.05 + rng.random((n, r)), upper) * (rng.random((n, r)) < 0.6)
    return given_similarity(kind, X, W, weights), A, W, H.astype(dtype)


def make(loss, A, H, upper, storage):
    if storage == "sparse H":
        options = {"share": 0.0} if loss == "l2" else {}
        stored = links(A.to_csr())
        M = SparseH(H, A.dtype)
        return SPARSE_LOSSES[loss](stored, M, A.weights, upper=upper, **options)
    name, diagonal = ("l2", "fit") if loss == "symnmf" else (loss, "ignore")
    solver = make_solver(name, A, upper, diagonal=diagonal, l1_ratio=L1_RATIO)
    solver.H = H.copy()
    return solver


def naive_rounds(A, H, objective, **options):
    """Return H after a sweep in rounds of items k, k + 16: at once, or in turn if f increases."""
    H = H.astype(np.float64)
    for first in range(min(16, len(A))):
        items = range(first, len(A), 16)
        assert len(items) <= 2  # the halves of a round are single rows
        new = H.copy()
        for k in items:
            new[k] = naive_row(A, H, k, **options)
        if objective(new) > objective(H):
            new = naive_sweep(A, H, items=items, **options)
        H = new
    return H


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_sweep_and_objective_match_brute_force(monkeypatch, case):
    loss, upper = case["loss"], case["upper"]
    S, A, W, H = problem(case["kind"], case["dtype"], case["weights"], upper)
    options = {"loss": loss, "diagonal": "ignore", "W": W}
    if loss == "symnmf":
        options |= {"loss": "l2", "diagonal": "fit"}
    if loss == "mixed":
        zero = [naive_objective(A, 0 * H, p, W=W) for p in ("l1", "l2")]
        options["scales"] = np.array([L1_RATIO / zero[0], (1 - L1_RATIO) / zero[1]])

    def objective(H):
        return naive_objective(A, H, **options)

    solver = make(loss, S, H, upper, case["storage"])
    whole, pieces = (Rounds(solver, case["n_threads"]) for _ in range(2))
    size, tol = objective(0 * H), 1e-9 if case["dtype"] == "float64" else 3e-5
    for sweep in [solver.sweep, solver.sweep, whole, pieces]:
        if sweep == pieces:  # with a sparse H, every row of a round is a piece of work
            monkeypatch.setattr(sparse_losses, "MIN_ROWS", 1)
        if (np.count_nonzero(H, axis=0) < 3).any():
            assert sweep != solver.sweep
            break  # such columns are cleaned between sweeps
        if sweep == solver.sweep:
            expected = naive_sweep(A, H, upper=upper, **options)
        else:
            expected = naive_rounds(A, H, objective, upper=upper, **options)
        before, result = objective(H), sweep()
        H = solver.H.csr().toarray() if case["storage"] == "sparse H" else solver.H.copy()
        assert H.dtype == case["dtype"]
        assert upper + 1e-7 > H.max()
        np.testing.assert_allclose(H, expected, rtol=0, atol=10 * tol)
        value = objective(H)
        assert solver.objective() == pytest.approx(value, rel=tol, abs=tol * size)
        assert result.loss_decrease == pytest.approx(before - value, abs=tol * size)
        assert value <= before + tol * size


# --- properties on random problems -----------------------------------------------------------


@pytest.mark.parametrize("loss", ["l2", "l1", "mixed", "robust"])
@EACH_INPUT
def test_results_are_bit_identical_for_every_n_jobs(monkeypatch, loss, kind):
    # Several pieces of work in a round, as for thousands of items.
    monkeypatch.setattr(rounds, "MIN_ROWS", 1)
    monkeypatch.setattr(rounds, "MIN_WORK", 1)
    monkeypatch.setattr(sparse_losses, "MIN_ROWS", 1)
    A = as_input(kind, documents(3, n=120))
    H = np.random.default_rng(0).random((120, 5))
    for is_sparse in {False, kind == "sparse" and loss in SPARSE_LOSSES}:
        options = {"loss": loss, "init": H, "max_iter": 3, "tol": 0.0, "restarts": 1 - is_sparse}
        options["sparse_membership"] = is_sparse
        one, two = (quiet(A, 5, n_jobs=k, **options) for k in (1, 2))
        assert sparse.csr_array(one.H != two.H).nnz == 0
        np.testing.assert_array_equal(one.history, two.history)
        if not is_sparse or loss == "l1":  # without penalty, no decrease is missed
            assert one.history[0] == pytest.approx(od.objective(A, H, loss))


def test_a_round_that_would_increase_f_is_split():
    # Every row alone would explain what all of them leave.
    solver = make_solver("l2", as_similarity(np.ones((64, 64))), np.inf)
    solver.H = np.full((64, 1), 1e-3)
    sweep = Rounds(solver)
    before, result = solver.objective(), sweep()
    assert sweep.n_splits > 0
    assert before - solver.objective() == pytest.approx(result.decrease)
    assert result.decrease > 0


@EACH_LOSS
@EACH_INPUT
def test_sums_over_h_are_those_of_h_after_sweeps(loss, diagonal, kind):
    """D = H^T H, W = H^T 1 and products with A are updated, also where H decreases a lot."""
    A = as_similarity(as_input(kind, documents(3)))
    solver = make_solver(loss, A, np.inf, diagonal=diagonal)
    for sweep in (solver.sweep, Rounds(solver)):
        solver.H = (1e9 if loss == "l1" else 1e5) * np.random.default_rng(0).random((40, 5))
        for _ in range(5):
            sweep()
            updated = {name: array.copy() for name, array in solver.state().items()}
            solver.refresh()
            recomputed = solver.state()
            for name in updated.keys() & {"D", "W", "Z"}:
                np.testing.assert_allclose(updated[name], recomputed[name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weights", ["equal", "weights"])
def test_no_single_entry_of_a_sparse_h_lowers_the_penalized_objective(weights):
    S, A, W, H = problem("sparse", "float64", weights, np.inf)
    solver = SPARSE_LOSSES["l2"](links(S.to_csr()), SparseH(H, S.dtype), S.weights)
    solver.sweep()
    first = solver.penalties
    while solver.sweep().decrease > 1e-13:
        pass
    H = solver.H.csr().toarray()

    def f(H, k, l, x):
        H = H.copy()
        H[k, l] = x
        return naive_objective(A, H, W=W), solver.penalties @ (H > 0).sum(1)

    assert (solver.penalties > 0).all()
    assert (solver.penalties != first).any()  # set again in the third sweep
    for k, l in np.ndindex(*H.shape):
        a, b, _ = np.polyfit([0, 1, 2], [f(H, k, l, x)[0] for x in range(3)], 2)
        for x in (0.0, max(0.0, -b / (2 * a)) if a > 1e-12 else 0.0):
            assert sum(f(H, k, l, x)) >= sum(f(H, k, l, H[k, l])) - 1e-8
