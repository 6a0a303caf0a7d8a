"""Pairs that weigh, and pairs that are not known: every loss and kind of input, by an oracle."""

import numpy as np
import pytest
import weights_oracle
from engine_problems import KINDS, as_kind, documents, pairwise, quiet, swept, symmetric
from scipy import sparse

import odsymnmf as od
from odsymnmf import similarity
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.restarts import restart_column

LOSSES = [("l2", "ignore"), ("l1", "ignore"), ("mixed", "ignore"), ("l2", "fit")]
EACH_LOSS = pytest.mark.parametrize(
    ("loss", "diagonal"), LOSSES, ids=["l2", "l1", "mixed", "symnmf"]
)
EACH_KIND = pytest.mark.parametrize("kind", KINDS)


def weights_of(rng, n, unknown=0.1):
    """Ordinary, light, heavy and unknown pairs."""
    W = rng.choice([1.0, 1.0, 0.25, 3.0], (n, n))
    W[rng.random((n, n)) < unknown] = 0.0
    W = symmetric(W)
    np.fill_diagonal(W, rng.random(n))  # never looked at
    return W


def scales_of(A, weights, loss):
    return make_solver(loss, similarity.as_similarity(A, weights), np.inf).scales


@pairwise(
    {
        "loss, diagonal": LOSSES,
        "kind": KINDS,
        "unknown": [0.1, 0.4, 0.8],
        "upper": [0.6, np.inf],
    }
)
def test_sweeps_are_those_of_the_oracle(loss, diagonal, kind, unknown, upper):
    rng = np.random.default_rng(0)
    X = documents(2, n=18, m=12)
    A, W = as_kind("dense", X), weights_of(rng, 18, unknown)
    H = np.minimum(0.05 + rng.random((18, 4)), upper)
    options = {"count": 5, "upper": upper, "weights": W}
    found = swept(as_kind(kind, X), H, loss, diagonal, **options)
    scales = scales_of(as_kind(kind, X), W, loss)
    for _ in range(5):
        weights_oracle.sweep(A, W, H, loss, diagonal, upper, scales)
    np.testing.assert_allclose(found, H, rtol=0, atol=1e-9 * max(1.0, H.max()))


@EACH_LOSS
@EACH_KIND
def test_the_objective_and_its_decreases(loss, diagonal, kind):
    rng = np.random.default_rng(1)
    X, W = documents(3, n=25, m=12), weights_of(rng, 25)
    A, S = as_kind("dense", X), as_kind(kind, X)
    scales = scales_of(S, W, loss)
    options = {"loss": loss, "diagonal": diagonal, "weights": W}
    found = quiet(S, 4, init="random", random_state=0, restarts=2, **options)
    expected = weights_oracle.objective(A, W, found.H, loss, diagonal, scales)
    assert found.objective == pytest.approx(expected, rel=1e-9)
    assert od.objective(S, found.H, **options) == pytest.approx(expected, rel=1e-9)
    assert (np.diff(found.history) <= 1e-12 * found.history[0]).all()
    options |= {"init": "random", "random_state": 0, "restarts": 0}
    steps = [quiet(S, 4, max_iter=m, **options) for m in range(4)]
    fresh = [od.objective(S, step.H, loss, diagonal, weights=W) for step in steps]
    np.testing.assert_allclose(steps[-1].history, fresh, rtol=1e-9)


@pairwise(
    {
        "loss, diagonal": LOSSES,
        "form": [np.asarray, sparse.csr_array],
        "start": ["greedy", "spectral", "random", "zero"],
    }
)
def test_what_stands_in_an_unknown_pair_changes_no_bit(loss, diagonal, form, start):
    rng = np.random.default_rng(2)
    A = symmetric((rng.random((30, 30)) < 0.4) * rng.random((30, 30)))
    unknown = symmetric(rng.random((30, 30)) < 0.2).astype(bool)
    W = np.where(unknown, 0.0, 1.0)
    options = {"loss": loss, "diagonal": diagonal, "init": start, "random_state": 0, "max_iter": 6}

    def fit(value, weights):
        B = A.copy()
        B[unknown] = value
        return quiet(form(B), 3, weights=weights, **options)

    expected = fit(0.0, W)
    for value, weights in [(1.0, W), (-7.0, W), (1e300, W), (np.nan, W), (np.nan, None)]:
        found = fit(value, weights)
        np.testing.assert_array_equal(found.H, expected.H)
        np.testing.assert_array_equal(found.history, expected.history)
    if form is np.asarray:
        masked = quiet(np.ma.masked_array(A, unknown), 3, **options)
        np.testing.assert_array_equal(masked.H, expected.H)


@EACH_LOSS
@EACH_KIND
def test_weights_of_one_change_no_bit(loss, diagonal, kind):
    S = as_kind(kind, documents(4))
    options = {"loss": loss, "diagonal": diagonal, "restarts": 1}
    expected = quiet(S, 3, **options)
    ones = np.ones((40, 40))
    for weights in (ones, sparse.csr_array(ones), sparse.csr_array((40, 40))):
        found = quiet(S, 3, weights=weights, **options)
        np.testing.assert_array_equal(found.H, expected.H)
        np.testing.assert_array_equal(found.history, expected.history)


@EACH_LOSS
@pytest.mark.parametrize("zero_weight", [0.0, 0.03, 0.5, 2.0])
def test_zero_weight_is_what_unstored_pairs_weigh(loss, diagonal, zero_weight):
    rng = np.random.default_rng(3)
    A = symmetric((rng.random((20, 20)) < 0.3) * rng.random((20, 20)))
    np.fill_diagonal(A, 0.5)
    W = np.where((A != 0) & ~np.eye(20, dtype=bool), 1.0, zero_weight)
    H = 0.05 + rng.random((20, 3))
    found = swept(sparse.csr_array(A), H, loss, diagonal, count=4, zero_weight=zero_weight)
    scales = make_solver(
        loss, similarity.as_similarity(sparse.csr_array(A), zero_weight=zero_weight), np.inf
    ).scales
    for _ in range(4):
        weights_oracle.sweep(A, W, H, loss, diagonal, np.inf, scales)
    np.testing.assert_allclose(found, H, rtol=0, atol=1e-9)
    full = swept(A, 0.05 + np.random.default_rng(4).random((20, 3)), "l2", count=3, weights=W)
    again = swept(
        sparse.csr_array(A),
        0.05 + np.random.default_rng(4).random((20, 3)),
        "l2",
        count=3,
        zero_weight=zero_weight,
    )
    np.testing.assert_allclose(full, again, rtol=0, atol=1e-9)


def test_sparse_weights_leave_other_pairs_as_they_are():
    rng = np.random.default_rng(5)
    A = symmetric((rng.random((12, 12)) < 0.5).astype(float))
    some = np.zeros((12, 12))
    some[2, 3] = some[3, 2] = 5.0
    weights = sparse.csr_array(some)
    unknown = sparse.csr_array(([0.0, 0.0], ([4, 7], [7, 4])), shape=(12, 12))
    W = np.where(A > 0, 1.0, 0.5)
    W[2, 3] = W[3, 2] = 5.0
    H = rng.random((12, 2))
    S = sparse.csr_array(A)
    options = {"weights": weights, "zero_weight": 0.5}
    expected = weights_oracle.objective(A, W, H, "l2")
    assert od.objective(S, H, **options) == pytest.approx(expected)
    W = np.ones((12, 12))
    W[4, 7] = W[7, 4] = 0.0
    for form in (np.asarray, sparse.csr_array):
        found = od.objective(form(A), H, "l1", weights=unknown)
        assert found == pytest.approx(weights_oracle.objective(A, W, H, "l1"))


@EACH_LOSS
@EACH_KIND
def test_worth_of_a_column_and_restarts(loss, diagonal, kind):
    rng = np.random.default_rng(7)
    X, W = documents(3, n=20, m=9), weights_of(rng, 20)
    S = similarity.as_similarity(as_kind(kind, X), W)
    measure = make_solver(loss, S, np.inf, diagonal=diagonal)
    H = rng.random((20, 3)) * (rng.random((20, 3)) < 0.7)
    measure.H = H
    for j in range(3):
        without = H.copy()
        without[:, j] = 0
        rise = measure.objective(without) - measure.objective(H)
        assert measure.column_gain(j, np.flatnonzero(H[:, j])).value == pytest.approx(rise)
    measure.refresh()
    before = measure.objective(H)
    for j in range(3):
        trial = restart_column(measure, j, S.degrees(), before)
        after = measure.objective(H)
        if trial.decrease > 0:
            assert before - after == pytest.approx(trial.decrease, rel=1e-6)
        else:
            assert after == pytest.approx(before, rel=1e-12)
        before = after


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_the_ends_of_the_mix_are_l2_and_l1_to_the_bit(kind, ratio):
    S = as_kind(kind, documents(5))
    loss = "l1" if ratio else "l2"
    expected = quiet(S, 4, loss=loss)
    found = quiet(S, 4, loss="mixed", l1_ratio=ratio)
    np.testing.assert_array_equal(found.H, expected.H)
    np.testing.assert_array_equal(found.history, expected.history)


def test_the_mix_lies_between():
    S = as_kind("dense", documents(6))
    start = np.random.default_rng(0).random((40, 4))
    fits = [
        quiet(S, 4, loss="mixed", l1_ratio=t, init=start, tol=1e-6) for t in (0.001, 0.5, 0.999)
    ]
    for end, loss in ((fits[0], "l2"), (fits[2], "l1")):
        pure = quiet(S, 4, loss=loss, init=start, restarts=10, tol=1e-6)
        value = od.objective(S, end.H, loss)
        assert value <= 1.1 * pure.objective
    assert fits[1].loss_terms["l1_ratio"] == 0.5
    value = 0.5 * (fits[1].loss_terms["l1"] + fits[1].loss_terms["l2"])
    assert fits[1].objective == pytest.approx(value)


def test_robust_lowers_the_larger_of_the_two():
    rng = np.random.default_rng(0)
    A = symmetric((rng.random((40, 40)) < 0.3) * rng.lognormal(sigma=1.5, size=(40, 40)))
    zero = np.zeros((40, 1))
    for loss in ("l1", "l2"):
        other = quiet(A, 4, loss=loss)
        found = quiet(A, 4, loss="robust", init=other.H)
        assert (np.diff(found.history) <= 1e-12).all()
        assert found.objective == pytest.approx(max(found.loss_terms["l1"], found.loss_terms["l2"]))
        larger = max(od.objective(A, other.H, p) / od.objective(A, zero, p) for p in ("l1", "l2"))
        assert found.objective < larger


WRONG = [
    (np.ones((3, 3)), r"weights has shape \(3, 3\); it must be \(n, n\) = \(4, 4\)"),
    (-np.ones((4, 4)), r"weights\[0, 1\] is -1.0; weights must be finite and >= 0"),
    (np.full((4, 4), np.nan), r"weights\[0, 1\] is nan"),
    (np.triu(np.ones((4, 4))), r"weights must be symmetric, but weights\[0, 1\] = 1.0"),
    (np.full((4, 4), "a"), r"weights must hold real numbers"),
]


@pytest.mark.parametrize(("weights", "message"), WRONG)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        od.factorize(np.ones((4, 4)), 2, weights=weights)


def test_other_wrong_options_are_refused():
    A = np.ones((4, 4))
    with pytest.raises(ValueError, match=r"zero_weight=0.5 applies to the pairs that a sparse A"):
        od.factorize(A, 2, zero_weight=0.5)
    with pytest.raises(ValueError, match=r"zero_weight must be a number >= 0; got -1"):
        od.factorize(sparse.csr_array(A), 2, zero_weight=-1)
    with pytest.raises(ValueError, match=r"l1_ratio must be a number from 0 to 1; got 2"):
        od.factorize(A, 2, loss="mixed", l1_ratio=2)
    with pytest.raises(ValueError, match=r'loss="mixed" cannot fit the diagonal'):
        od.factorize(A, 2, loss="mixed", diagonal="fit")
    A[1, 2] = np.nan
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match=r"of A\[1, 2\] and A\[2, 1\] only one is NaN"):
            od.factorize(form(A), 2)


@pytest.mark.parametrize("loss", ["l2", "l1", "mixed"])
def test_an_item_of_which_nothing_is_known_belongs_nowhere(loss):
    A = np.kron(np.eye(2), np.ones((5, 5)))
    A[3] = A[:, 3] = np.nan
    found = quiet(A, 2, loss=loss, init="random", random_state=0)
    np.testing.assert_array_equal(found.H[3], 0.0)
    assert np.isfinite(found.H).all()
