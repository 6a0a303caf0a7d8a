"""factorize(): its result, options, callback, interrupts and random numbers."""

import dataclasses
import subprocess
import sys
import warnings

import numpy as np
import pytest
from problems import (
    DEGENERATE,
    EACH_FORM,
    EACH_LOSS,
    INITS,
    LOSSES,
    as_input,
    documents,
    naive_objective,
    pairwise,
    quiet,
    symmetric,
)
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf.fit import InterruptedWarning
from odsymnmf.solvers import losses


@pytest.fixture
def A():
    return symmetric(np.random.default_rng(0).random((25, 25)))


# --- the result ------------------------------------------------------------------------------


def test_result_is_frozen_and_has_plain_types(A):
    f = quiet(A, np.int32(2), max_iter=np.int64(2), tol=np.float32(0), upper=np.float64(1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        f.H = None
    assert (type(f.objective), type(f.n_iter), type(f.converged)) == (float, int, bool)
    text = f"Factorization(n=25, r=2, objective={f.objective:.6g}, n_iter=2, max_iter)"
    assert repr(f) == text
    assert "converged)" in repr(od.factorize(np.eye(3), 1))


@EACH_LOSS
def test_max_iter_0_returns_init_unchanged(A, loss, diagonal):
    H = np.random.default_rng(1).random((25, 4))
    H[:, 1] = 0
    H[:, 2] = np.eye(25)[3]
    H[2:, 3] = 0
    options = {"loss": loss, "diagonal": diagonal, "init": H, "max_iter": 0}
    f = od.factorize(A, 4, callback=lambda _: pytest.fail("called"), **options)
    np.testing.assert_array_equal(f.H, H)
    assert (f.n_iter, f.status, len(f.history)) == (0, "max_iter", 1)
    assert f.objective == od.objective(A, H, loss, diagonal)


@EACH_LOSS
def test_warning_at_max_iter_points_to_the_caller(A, loss, diagonal):
    options = {"loss": loss, "diagonal": diagonal, "init": "random", "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="max_iter=2.*Increase max_iter") as caught:
        f = od.factorize(A, 3, max_iter=2, tol=1e-9, restarts=0, **options)
    assert caught[0].filename == __file__
    assert (f.n_iter, f.converged, len(f.history)) == (2, False, 3)


@pytest.mark.parametrize("r", range(2, 13))
def test_max_iter_warns_only_if_labels_changed_in_the_second_half(r):
    data, labels = od.datasets.les_miserables(), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f = od.factorize(data, r, callback=lambda sweep: labels.append(sweep.H.argmax(axis=1)))
    moved = f.status == "max_iter" and (labels[98] != labels[-1]).any()
    assert f.labels_changed == moved == bool(caught)
    assert not (moved and r in (6, 10))


@pytest.mark.parametrize("max_iter", [1, 2])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_random_starts_that_end_too_early_warn(max_iter, storage):
    A = storage(od.datasets.cliques([10] * 6)[0])
    for seed in range(5):
        with pytest.warns(ConvergenceWarning, match="labels changed"):
            od.factorize(A, 6, init="random", random_state=seed, max_iter=max_iter)


@EACH_LOSS
def test_smaller_tol_takes_more_sweeps_and_lowers_f(A, loss, diagonal):
    options = {"loss": loss, "diagonal": diagonal, "init": "random", "random_state": 0}
    options |= {"max_iter": 5000, "restarts": 0}
    loose, tight = (od.factorize(A, 3, tol=tol, **options) for tol in (0.3, 1e-3))
    assert loose.converged
    assert tight.converged
    assert loose.n_iter < tight.n_iter
    assert loose.objective > tight.objective


@pairwise({"loss, diagonal": LOSSES, "dtype": [np.float64, np.float32], "kind": ["dense", "gram"]})
def test_fit_that_cannot_improve_converges(loss, diagonal, dtype, kind):
    # For any tol: the rounding of the violation must not be taken for progress.
    rng = np.random.default_rng(1)
    X = (rng.random((18, 18)) * (rng.random((18, 18)) < 0.3) + np.eye(18)).astype(dtype)
    A = as_input(kind, X)
    tol = 1e-6 if (loss, dtype) == ("l1", np.float32) else 1e-14
    options = {"loss": loss, "diagonal": diagonal, "tol": tol}
    best = od.factorize(A, 3, max_iter=3000, **options)
    again = od.factorize(A, 3, init=best.H, max_iter=11, **options)
    np.testing.assert_allclose(again.H, best.H, rtol=0, atol=1e-3)
    rounding = 10 * np.finfo(dtype).eps * best.history[0]
    assert again.objective <= best.objective + rounding


@pairwise({"loss, diagonal": LOSSES, "init": INITS, "upper": [None, 1.0]})
def test_degenerate_similarities(loss, diagonal, init, upper):
    """On every graph and more columns than items, f decreases to the reported objective."""
    for name, A in DEGENERATE.items():
        size = naive_objective(A, np.zeros((len(A), 1)), loss, diagonal) or 1.0
        form = sparse.csr_array if len(name) % 2 else np.asarray
        for r in (1, len(A) + 1):
            options = {"loss": loss, "diagonal": diagonal, "init": init, "upper": upper}
            f = quiet(form(A), r, **options, max_iter=40, random_state=0, restarts=0)
            assert np.isfinite(f.H).all(), name
            assert (f.H >= 0).all(), name
            assert f.H.max() <= (upper or np.inf), name
            value = naive_objective(A, f.H, loss, diagonal)
            assert f.objective == pytest.approx(value, rel=1e-9, abs=1e-9 * size), name
            assert (np.diff(f.history) <= 1e-10 * max(size, f.history[0])).all(), name
            if symmetric(A).max(initial=0.0) <= 0 and diagonal == "ignore":
                assert not f.H.any(), name


@pairwise({"kind": ["dense", "sparse"], "upper": [None, 0.8], "diagonal": ["ignore", "fit"]})
def test_l2_converges_to_the_optimality_conditions(kind, upper, diagonal):
    rng = np.random.default_rng(0)
    H = np.eye(3)[np.arange(18) % 3] + (rng.random((18, 3)) < 0.1)
    A = symmetric(H @ H.T * rng.uniform(0.7, 1.3, (18, 18)) + 0.1 * rng.random((18, 18)))
    A += np.diag(rng.random(18))
    form = sparse.csr_array if kind == "sparse" else np.asarray
    options = {"upper": upper, "tol": 1e-10, "max_iter": 3000, "diagonal": diagonal}
    H = od.factorize(form(A), 3, **options).H
    R, bound = A - H @ H.T, upper or np.inf
    if diagonal == "ignore":
        np.fill_diagonal(R, 0)
    slope, scale = R @ H, 1e-8 * np.abs(A @ H).max()
    assert (H == 0).any()
    assert (bound <= H).any() == (upper is not None)
    assert np.abs(slope[(H > 0) & (bound > H)]).max(initial=0.0) <= scale
    assert slope[H == 0].max() <= scale
    assert slope[bound <= H].min(initial=1.0) >= -scale


@pytest.mark.parametrize("seed", range(3))
def test_l1_converges_where_no_entry_alone_lowers_f(seed):
    rng = np.random.default_rng(seed)
    A = symmetric(rng.random((10, 10)) * (rng.random((10, 10)) < 0.8))
    f = od.factorize(sparse.csr_array(A), 2, loss="l1", tol=0.0)
    assert f.converged
    for k, l in np.ndindex(f.H.shape):
        for x in np.linspace(0, 2, 101):
            H = f.H.copy()
            H[k, l] = x
            assert naive_objective(A, H, "l1") >= f.objective - 1e-12


def test_mixed_and_robust_lie_between_l1_and_l2():
    A = as_input("dense", documents(6))
    start = np.random.default_rng(0).random((40, 4))
    for ratio, loss in ((0.001, "l2"), (0.999, "l1")):
        options = {"init": start, "tol": 1e-6}
        f = quiet(A, 4, loss="mixed", l1_ratio=ratio, **options)
        pure = quiet(A, 4, loss=loss, restarts=10, **options)
        assert od.objective(A, f.H, loss) <= 1.1 * pure.objective
    f = quiet(A, 4, loss="mixed", l1_ratio=0.3, init=start)
    zero = np.zeros((40, 1))
    l1, l2 = (od.objective(A, f.H, p) / od.objective(A, zero, p) for p in ("l1", "l2"))
    assert f.objective == pytest.approx(0.3 * l1 + 0.7 * l2)
    rng = np.random.default_rng(0)
    A = symmetric((rng.random((40, 40)) < 0.3) * rng.lognormal(sigma=1.5, size=(40, 40)))
    for loss in ("l1", "l2"):
        pure = quiet(A, 4, loss=loss)
        f = quiet(A, 4, loss="robust", init=pure.H)
        assert (np.diff(f.history) <= 1e-12).all()
        # Sweeps that are undone leave no trace.
        assert f.history[0] == pytest.approx(od.objective(A, pure.H, "robust"))
        assert f.objective < od.objective(A, pure.H, "robust")


# --- options ---------------------------------------------------------------------------------

WRONG_OPTIONS = [
    *(({"r": r}, f"r must be a whole number >= 1; got {r}") for r in (0, -2, True, None)),
    ({"r": 2.0}, r"r must be a whole number >= 1; got 2\.0"),
    ({"loss": "l3"}, r"loss='l3' is not known; use one of 'l2', 'l1', 'mixed', 'robust'"),
    ({"diagonal": "yes"}, r"diagonal='yes' is not known; use \"ignore\" or \"fit\""),
    ({"init": "best"}, r"init='best' is not known; use 'multilevel', .*'zero', an array"),
    ({"init": None}, r"init has shape \(\); it must be \(n, r\) = \(25, 2\)"),
    ({"init": np.ones((25, 3))}, r"init has shape \(25, 3\); it must be \(n, r\) = \(25, 2\)"),
    ({"init": np.ones(25)}, r"labels must be one whole number per item"),
    ({"init": -np.ones((25, 2))}, r"init\[0, 0\] is -1\.0; entries must be finite and >= 0"),
    ({"init": np.full((25, 2), np.nan)}, r"init\[0, 0\] is nan; entries must be finite"),
    ({"init": np.full((25, 2), 1j)}, r"init must hold real numbers; got dtype complex128"),
    ({"upper": 0}, r"upper must be a number > 0, or None for no bound; got 0"),
    ({"upper": "none"}, r"upper must be a number > 0"),
    ({"tol": -1e-3}, r"tol must be a number >= 0; got -0\.001"),
    ({"tol": np.nan}, r"tol must be a number >= 0"),
    ({"max_iter": -1}, r"max_iter must be a whole number >= 0; got -1"),
    ({"max_iter": 2.5}, r"max_iter must be a whole number >= 0"),
    ({"restarts": 1.5}, r"restarts must be a whole number >= 0"),
    ({"random_state": -1}, r"random_state=-1 cannot seed a generator; pass None, an int"),
    ({"loss": "l1", "diagonal": "fit"}, r"l1\" cannot fit the diagonal; use diagonal=\"ignore\""),
    ({"loss": "mixed", "l1_ratio": 2}, r"l1_ratio must be a number from 0 to 1; got 2"),
    ({"zero_weight": 0.5}, r"zero_weight=0.5 applies to the pairs that a sparse A"),
    ({"zero_weight": -1}, r"zero_weight must be a number >= 0; got -1"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG_OPTIONS)
def test_invalid_options_are_named_with_their_value(A, wrong, message):
    with pytest.raises(ValueError, match=message):
        od.factorize(A, **{"r": 2, **wrong})


@pairwise(
    {"form": [np.asarray, sparse.csr_array], "loss, diagonal": LOSSES, "upper": [0.1, 0.7, 2.0]}
)
def test_upper_bounds_every_sweep(form, loss, diagonal, upper):
    A = 4 * symmetric(0.5 + np.random.default_rng(0).random((10, 10)))
    for init in [*INITS, np.full((10, 3), 50.0)]:
        options = {"loss": loss, "diagonal": diagonal, "init": init, "random_state": 0}
        largest = [od.factorize(form(A), 3, upper=upper, max_iter=0, **options).H.max()]
        quiet(form(A), 3, upper=upper, callback=lambda s: largest.append(s.H.max()), **options)  # noqa: B023
        assert max(largest) <= upper
    assert max(largest) == upper or upper == 2.0


def test_objective_refuses_invalid_input(A):
    with pytest.raises(ValueError, match=r"H has shape \(3, 2\); it must be .* = \(25, 2\)"):
        od.objective(A, np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"H\[0, 0\] is -1\.0; entries must be finite and >= 0"):
        od.objective(A, -np.ones((25, 1)))
    with pytest.raises(ValueError, match="loss='l7' is not known"):
        od.objective(A, np.ones((25, 1)), "l7")


# --- callback --------------------------------------------------------------------------------


@EACH_LOSS
def test_callback_receives_every_sweep_with_its_objective(A, loss, diagonal):
    sweeps = []

    def callback(sweep):
        with pytest.raises(ValueError, match="read-only"):
            sweep.H[0, 0] = 1.0
        sweeps.append((sweep.n_iter, sweep.objective, sweep.H.copy()))

    options = {"loss": loss, "diagonal": diagonal, "restarts": 0}
    f = quiet(A, 3, max_iter=6, tol=0, callback=callback, **options)
    assert [n for n, _, _ in sweeps] == list(range(1, f.n_iter + 1))
    for _, value, H in sweeps:
        assert value == pytest.approx(naive_objective(A, H, loss, diagonal), rel=1e-9)
    np.testing.assert_allclose([value for _, value, _ in sweeps], f.history[1:], rtol=1e-9)
    np.testing.assert_array_equal(sweeps[-1][2], f.H)
    assert f.H.flags.writeable


@pytest.mark.parametrize("value", [True, np.True_, 1])
def test_callback_stops_the_fit_by_returning_true(A, value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = od.factorize(A, 3, tol=0, callback=lambda s: value if s.n_iter == 3 else None)
    assert (f.n_iter, f.status, len(f.history)) == (3, "stopped", 4)
    with pytest.raises(TypeError, match="unsupported operand"):  # errors are raised
        od.factorize(A, 3, callback=lambda s: s + 1)


# --- Ctrl-C ----------------------------------------------------------------------------------


def interrupt(monkeypatch, loss, diagonal, call, restarts=False):
    """Press Ctrl-C in the middle of a sweep, or of a sweep of a column restart."""
    base, calls = losses.LOSSES[loss, diagonal], []

    class Interrupted(base):
        def sweep(self, items=None, empty=0.0):
            if restarts == (items is not None):
                calls.append(items)
                if len(calls) == call:
                    self.refresh()
                    base.sweep(self, np.arange(self.n // 2), empty)
                    raise KeyboardInterrupt
            return base.sweep(self, items, empty)

    monkeypatch.setitem(losses.LOSSES, (loss, diagonal), Interrupted)


@EACH_FORM
@EACH_LOSS
@pytest.mark.parametrize("n_iter", [0, 2])
def test_interrupted_sweep_is_undone(monkeypatch, A, form, loss, diagonal, n_iter):
    H = np.random.default_rng(0).random((25, 3))
    options = {"loss": loss, "diagonal": diagonal, "tol": 0, "restarts": 0, "init": H}
    expected = quiet(form(A), 3, max_iter=n_iter, **options)
    interrupt(monkeypatch, loss, diagonal, call=n_iter + 1)
    with pytest.warns(InterruptedWarning, match=f"the result is that after {n_iter}"):
        f = od.factorize(form(A), 3, **options)
    np.testing.assert_array_equal(f.H, expected.H)
    np.testing.assert_array_equal(f.history, expected.history)
    assert (f.n_iter, f.status) == (n_iter, "interrupted")


@pytest.mark.parametrize("call", [1, 4, 11])
def test_interrupted_restart_is_undone(monkeypatch, A, call):
    accepted = []

    def callback(sweep):
        accepted.append(sweep.H.copy())

    interrupt(monkeypatch, "l1", "ignore", call, restarts=True)
    with pytest.warns(InterruptedWarning):
        f = od.factorize(A, 3, loss="l1", init="random", random_state=0, callback=callback)
    np.testing.assert_array_equal(f.H, accepted[-1])
    assert f.objective == pytest.approx(naive_objective(A, f.H, "l1"))
    assert len(f.history) == 1 + f.n_iter + len(f.restart_steps)


def test_interrupt_in_the_callback_includes_its_sweep(A):
    def callback(sweep):
        if sweep.n_iter == 2:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning):
        f = od.factorize(A, 3, callback=callback, tol=0)
    np.testing.assert_array_equal(f.H, quiet(A, 3, max_iter=2, tol=0).H)
    assert f.n_iter == 2


# --- random numbers --------------------------------------------------------------------------


@EACH_LOSS
@pytest.mark.parametrize("init", INITS)
def test_same_seed_gives_the_same_bits(A, loss, diagonal, init):
    options = {"loss": loss, "diagonal": diagonal, "init": init, "max_iter": 3}
    first, second = (quiet(A, 3, random_state=7, **options) for _ in range(2))
    np.testing.assert_array_equal(first.H, second.H)
    np.testing.assert_array_equal(first.history, second.history)


def test_every_type_of_random_state(A):
    def fit(seed):
        return quiet(A, 3, init="random", random_state=seed, max_iter=2).H

    np.testing.assert_array_equal(fit(3), fit(np.random.RandomState(3)))
    np.testing.assert_array_equal(fit(np.random.default_rng(3)), fit(np.random.default_rng(3)))
    state = np.random.RandomState(3)
    for one, other in [(fit(3), fit(4)), (fit(state), fit(state)), (fit(None), fit(None))]:
        assert np.abs(one - other).max() > 0


def test_numba_is_imported_when_a_kernel_is_first_needed():
    code = """
import sys
import numpy as np
import odsymnmf
from odsymnmf import similarity
A = similarity.cosine(np.eye(3))
A.matmul(np.eye(3)), A.sum_of_squares, A.max_value
similarity.as_similarity(np.eye(3)).matmul(np.eye(3))
assert "numba" not in sys.modules
odsymnmf.factorize(np.ones((3, 3)), 1)
assert "numba" in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
