"""factorize from outside: results, callbacks, interrupts, seeds, imports."""

import dataclasses
import subprocess
import sys
import warnings

import numpy as np
import pytest
from engine_problems import LOSSES, STARTS, documents, quiet, symmetric
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf import kernels, similarity
from odsymnmf.fit import InterruptedWarning
from odsymnmf.init import spectral
from odsymnmf.init.arrays import lone_items
from odsymnmf.similarity import base, products
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.run import Run
from odsymnmf.utils import blocks

EACH_LOSS = pytest.mark.parametrize(("loss", "diagonal"), LOSSES, ids=["l2", "l1", "symnmf"])


@pytest.fixture
def A():
    return symmetric(np.random.default_rng(0).random((25, 25)))


# --- the result ------------------------------------------------------------------------------


def test_the_result_is_frozen(A):
    found = quiet(A, 2, max_iter=2)
    for name in ("H", "objective", "history", "n_iter", "converged"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(found, name, None)
    assert isinstance(found, od.Factorization)
    assert type(found.objective) is float
    assert type(found.n_iter) is int
    assert type(found.converged) is bool


def test_the_result_says_what_it_is(A):
    found = quiet(A, 2, max_iter=2)
    text = f"Factorization(n=25, r=2, objective={found.objective:.6g}, n_iter=2, max_iter)"
    assert repr(found) == text
    assert "converged)" in repr(od.factorize(np.eye(3), 1))


@EACH_LOSS
def test_max_iter_zero_is_the_start(A, loss, diagonal):
    H = np.random.default_rng(1).random((25, 4))
    H[:, 1] = 0
    H[:, 2] = np.eye(25)[3]  # a lone entry
    H[2:, 3] = 0  # two
    found = od.factorize(A, 4, loss=loss, diagonal=diagonal, init=H, max_iter=0)
    np.testing.assert_array_equal(found.H, H)
    assert (found.n_iter, found.status) == (0, "max_iter")
    assert len(found.history) == 1
    assert found.objective == od.objective(A, H, loss, diagonal)


def test_the_start_is_within_the_bounds(A):
    for init in [*STARTS, np.full((25, 3), 9.0)]:
        H = od.factorize(A, 3, init=init, random_state=0, upper=0.25, max_iter=0).H
        assert H.max() <= 0.25


@EACH_LOSS
def test_warning_when_the_sweeps_are_too_few(A, loss, diagonal):
    with pytest.warns(ConvergenceWarning, match="max_iter=2.*raise max_iter") as caught:
        found = od.factorize(A, 3, loss=loss, diagonal=diagonal, max_iter=2, tol=1e-9, restarts=0)
    assert caught[0].filename == __file__
    assert (found.n_iter, found.converged) == (2, False)
    assert len(found.history) == 3


@EACH_LOSS
def test_tol_decides_when_to_stop(A, loss, diagonal):
    # Restarts look at other minima, where a loose fit may be the luckier.
    options = {"loss": loss, "diagonal": diagonal, "init": "random", "random_state": 0}
    loose = od.factorize(A, 3, tol=0.3, restarts=0, **options)
    tight = od.factorize(A, 3, tol=1e-3, max_iter=5000, restarts=0, **options)
    assert loose.converged
    assert tight.converged
    assert loose.n_iter < tight.n_iter
    assert loose.objective > tight.objective


# --- callback --------------------------------------------------------------------------------


@EACH_LOSS
def test_the_callback_sees_every_sweep(A, loss, diagonal):
    seen = []

    def callback(sweep):
        assert not sweep.H.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            sweep.H[0, 0] = 1.0
        seen.append((sweep.n_iter, sweep.objective, sweep.H.copy()))

    options = {"loss": loss, "diagonal": diagonal, "restarts": 0}
    found = quiet(A, 3, max_iter=6, tol=0, callback=callback, **options)
    assert [n for n, _, _ in seen] == list(range(1, found.n_iter + 1))
    np.testing.assert_allclose([f for _, f, _ in seen], found.history[1:], rtol=1e-9)
    np.testing.assert_array_equal(seen[-1][2], found.H)
    assert found.H.flags.writeable


@pytest.mark.parametrize("answer", [True, np.True_, 1])
def test_the_callback_can_stop(A, answer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = od.factorize(
            A, 3, tol=0, callback=lambda sweep: answer if sweep.n_iter == 3 else None
        )
    assert (found.n_iter, found.converged) == (3, False)
    assert len(found.history) == 4


def test_errors_in_the_callback_are_not_hidden(A):
    def callback(sweep):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        od.factorize(A, 3, callback=callback)


def test_no_callback_without_a_sweep(A):
    od.factorize(A, 3, max_iter=0, callback=lambda sweep: pytest.fail("called"))


# --- Ctrl-C ----------------------------------------------------------------------------------


@EACH_LOSS
def test_an_interrupted_callback_keeps_its_sweep(A, loss, diagonal):
    def callback(sweep):
        if sweep.n_iter == 2:
            raise KeyboardInterrupt

    options = {"loss": loss, "diagonal": diagonal, "tol": 0, "restarts": 0}
    with pytest.warns(InterruptedWarning, match="interrupted: this is the result after"):
        found = od.factorize(A, 3, callback=callback, **options)
    expected = quiet(A, 3, max_iter=2, **options)
    np.testing.assert_array_equal(found.H, expected.H)
    assert (found.n_iter, found.converged) == (2, False)
    np.testing.assert_array_equal(found.history, expected.history)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, similarity.gram])
@EACH_LOSS
def test_an_interrupted_sweep_is_undone(monkeypatch, form, loss, diagonal):
    # Blocks of 8 rows: the 3rd sweep of 32 items is cut off in its 2nd block.
    X = documents(3, n=32)
    A = form(X if form is similarity.gram else X @ X.T)
    monkeypatch.setattr(products, "BLOCK", 8)
    monkeypatch.setattr(products, "_rows_at_once", lambda A, r: 8)
    monkeypatch.setattr(base, "BLOCK_ENTRIES", 8)
    eight = lambda self, count=None: blocks(count or self.n, 8)  # noqa: E731
    monkeypatch.setattr(similarity.Sparse, "item_blocks", eight)
    options = {"loss": loss, "diagonal": diagonal, "tol": 0, "restarts": 0}
    expected = quiet(A, 3, max_iter=2, **options)
    room, name = (kernels.l1, "l1_rows") if loss == "l1" else (kernels.l2, "l2_rows")
    original, done, calls = getattr(room, name), [], []

    def interrupted(*args):
        if len(done) == 2:
            calls.append(args)
            if len(calls) == 2:
                raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(room, name, interrupted)
    with pytest.warns(InterruptedWarning, match="interrupted: this is the result after"):
        found = od.factorize(A, 3, callback=lambda sweep: done.append(sweep.n_iter), **options)
    assert len(calls) == 2
    np.testing.assert_array_equal(found.H, expected.H)
    np.testing.assert_array_equal(found.history, expected.history)
    assert (found.n_iter, found.status) == (2, "interrupted")


def test_an_interrupt_before_the_first_sweep_is_done_gives_the_start(monkeypatch, A):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(kernels.l2, "l2_rows", interrupted)
    H = np.random.default_rng(0).random((25, 3))
    with pytest.warns(InterruptedWarning, match="interrupted: this is the result after"):
        found = od.factorize(A, 3, init=H)
    np.testing.assert_array_equal(found.H, H)
    assert (found.n_iter, found.status) == (0, "interrupted")


@pytest.mark.parametrize("method", ["_sweep", "_record", "_report"])
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_at_any_step_gives_a_consistent_result(monkeypatch, A, method, after):
    original, calls = getattr(Run, method), []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 2 and not after:
            raise KeyboardInterrupt
        value = original(*args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return value

    monkeypatch.setattr(Run, method, interrupted)
    with pytest.warns(InterruptedWarning):
        found = od.factorize(A, 3, loss="l1", init="random", random_state=1, tol=0)
    assert len(found.history) == 1 + found.n_iter + len(found.restart_steps)
    assert (np.diff(found.history) <= 1e-9).all()
    assert found.history[-1] == found.objective
    assert found.objective == pytest.approx(od.objective(A, found.H, loss="l1"))


# --- seeds -----------------------------------------------------------------------------------


@EACH_LOSS
@pytest.mark.parametrize("init", STARTS)
def test_same_seed_same_bits(A, loss, diagonal, init):
    for form in (np.asarray, sparse.csr_array):
        options = {"loss": loss, "diagonal": diagonal, "init": init, "max_iter": 3}
        first = quiet(form(A), 3, random_state=7, **options)
        second = quiet(form(A), 3, random_state=7, **options)
        np.testing.assert_array_equal(first.H, second.H)
        np.testing.assert_array_equal(first.history, second.history)


def test_every_kind_of_seed(A):
    def fit(seed):
        return quiet(A, 3, init="random", random_state=seed, max_iter=2).H

    np.testing.assert_array_equal(fit(3), fit(np.random.RandomState(3)))
    np.testing.assert_array_equal(fit(np.random.default_rng(3)), fit(np.random.default_rng(3)))
    assert np.abs(fit(3) - fit(4)).max() > 0
    state = np.random.RandomState(3)
    assert np.abs(fit(state) - fit(state)).max() > 0
    assert np.abs(fit(None) - fit(None)).max() > 0


@pytest.mark.parametrize("init", ["greedy", "zero"])
def test_these_starts_draw_no_numbers(A, init):
    state = np.random.RandomState(0)
    quiet(A, 3, init=init, random_state=state, max_iter=2)
    assert state.randint(2**31) == np.random.RandomState(0).randint(2**31)


def large_graphs():
    n = 150
    yield sparse.csr_array((n, n))
    yield sparse.csr_array(symmetric(np.eye(n, k=n - 1)))  # a single edge
    yield sparse.csr_array(np.kron(np.eye(15), np.ones((10, 10))))


@pytest.mark.parametrize("graph", range(3))
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_the_spectral_start_of_graphs_with_few_eigenvalues(graph, form):
    # Larger than what is decomposed in full; Lanczos breaks down and continues at random.
    A = list(large_graphs())[graph]
    A = A if form == "sparse" else A.toarray()
    runs = [od.factorize(A, 5, init="spectral", random_state=1) for _ in range(3)]
    for run in runs:
        if spectral.EIGSH_SEED:
            np.testing.assert_array_equal(run.H, runs[0].H)
        assert np.isfinite(run.H).all()


def test_a_random_start_has_the_best_scale(A):
    H = od.factorize(A, 3, init="random", random_state=0, max_iter=0).H
    best = od.objective(A, H)
    assert best < od.objective(A, 1.01 * H)
    assert best < od.objective(A, 0.99 * H)
    drawn = np.random.RandomState(0).uniform(size=(25, 3))
    np.testing.assert_allclose(H / drawn, (H / drawn)[0, 0])


def test_a_zero_start_has_a_single_item_in_every_column(A):
    star = np.zeros((6, 6))
    star[0, 1:] = star[1:, 0] = 4.0
    measure = make_solver("l2", similarity.as_similarity(star), np.inf)
    H = lone_items(measure, 3)
    np.testing.assert_array_equal(np.count_nonzero(H, axis=0), 1)
    np.testing.assert_array_equal(H.max(axis=0), 2.0)
    assert H[0, 0] == 2.0
    assert np.count_nonzero(H.sum(axis=1)) == 3
    many = lone_items(measure, 9)
    np.testing.assert_array_equal(np.count_nonzero(many, axis=0), [1] * 6 + [0] * 3)


# --- imports ---------------------------------------------------------------------------------


def test_numba_waits_for_a_kernel():
    code = """
import sys
import numpy as np
import odsymnmf
assert "numba" not in sys.modules
from odsymnmf import similarity
A = similarity.cosine(np.eye(3))
A.matmul(np.eye(3)), A.sum_of_squares, A.max_value
similarity.as_similarity(np.eye(3)).matmul(np.eye(3))
assert "numba" not in sys.modules
odsymnmf.factorize(np.ones((3, 3)), 1)
assert "numba" in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_upper_auto_is_no_bound():
    A = np.random.default_rng(0).uniform(size=(8, 8))
    A += A.T
    with_names = [od.factorize(A, 2, random_state=0, **o) for o in ({}, {"upper": "auto"})]
    for f in with_names:
        np.testing.assert_array_equal(f.H, od.factorize(A, 2, random_state=0, upper=None).H)
    with pytest.raises(ValueError, match="upper must be a number > 0"):
        od.factorize(A, 2, upper="none")
