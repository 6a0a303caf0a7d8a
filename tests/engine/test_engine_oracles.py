"""Every kernel against the executable paper, in row order."""

from functools import partial

import numpy as np
import pytest
from engine_problems import (
    KINDS,
    as_kind,
    documents,
    greedy,
    pairwise,
    paper_greedy,
    swept,
    symmetric,
)
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from odsymnmf import kernels
from odsymnmf.paper import symnmf as paper_symnmf
from odsymnmf.paper.algorithm_1 import odsymnmf, rank_one_l2
from odsymnmf.paper.algorithm_2 import odsymnmf_l2
from odsymnmf.paper.algorithm_3 import rank_one_l1
from odsymnmf.paper.algorithm_4 import odsymnmf_l1

SEEDS = st.integers(0, 2**32 - 1)
FORMS = {"dense": np.asarray, "sparse": sparse.csr_array}
EACH_FORM = pytest.mark.parametrize("form", FORMS)


def binary_problem(seed, start=(0.0, 1.0)):
    rng = np.random.default_rng(seed)
    n, r = rng.integers(1, 12), rng.integers(1, 6)
    A = symmetric((rng.random((n, n)) < rng.random()).astype(float))
    return A, rng.choice(start, (n, r))


def real_problem(seed, n=None, r=None, sparsity=0.0):
    rng = np.random.default_rng(seed)
    n, r = n or rng.integers(2, 11), r or rng.integers(1, 5)
    A = symmetric(rng.random((n, n)) - (0.3 if rng.random() < 0.5 else 0.0))
    A = symmetric(A * (rng.random((n, n)) >= sparsity))
    return A, 0.05 + rng.random((n, r))


def algorithm_1(A, H, sweeps, **options):
    """The paper's l2 without cancellation (ERRATA.md), row by row."""
    return odsymnmf(A, H, partial(rank_one_l2, **options), sweeps=sweeps, order="rows")


def assert_close(found, expected, tolerance):
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


# --- l1 ------------------------------------------------------------------------------------


@EACH_FORM
@pytest.mark.parametrize("upper", [1.0, np.inf])
@pytest.mark.parametrize("empty", [0.0, 1.0])
@settings(max_examples=40)
@given(seed=SEEDS, sweeps=st.integers(1, 8))
def test_l1_on_binary_data_bit_for_bit(form, upper, empty, seed, sweeps):
    A, H = binary_problem(seed)
    expected = odsymnmf_l1(A, H, sweeps=sweeps, order="rows", empty=empty, upper=upper)
    found = swept(FORMS[form](A), H, "l1", count=sweeps, upper=upper, empty=empty)
    np.testing.assert_array_equal(found, expected)


@EACH_FORM
@settings(max_examples=60)
@given(seed=SEEDS)
def test_l1_on_halves_bit_for_bit(form, seed):
    A, H = binary_problem(seed, start=(0.0, 0.5, 1.0))
    expected = odsymnmf_l1(A, H, sweeps=1, order="rows", empty=0.0, upper=1.0)
    assume((expected * 64 % 1 == 0).all())  # no quotient had to be rounded
    found = swept(FORMS[form](A), H, "l1", count=1, upper=1.0)
    np.testing.assert_array_equal(found, expected)


@EACH_FORM
@pytest.mark.parametrize("upper", [0.5, 1.0, np.inf])  # multiples add up exactly: ties
@settings(max_examples=25)
@given(seed=SEEDS, sweeps=st.sampled_from([1, 2, 12]))
def test_l1_on_real_data(form, upper, seed, sweeps):
    A, H = real_problem(seed)
    H = np.minimum(H, upper)
    expected = odsymnmf_l1(A, H, sweeps=sweeps, order="rows", empty=0.0, upper=upper)
    found = swept(FORMS[form](A), H, "l1", count=sweeps, upper=upper)
    assert_close(found, expected, 1e-12)


def test_l1_is_algorithm_1_with_algorithm_3():
    A, H = real_problem(1, n=9, r=3)
    expected = odsymnmf(A, H, partial(rank_one_l1, upper=np.inf, empty=0.0), sweeps=5, order="rows")
    assert_close(swept(A, H, "l1", count=5), expected, 1e-12)


@EACH_FORM
def test_l1_with_many_columns_and_neighbours(form):
    # More columns and neighbours than the kernel handles in one stride.
    A, H = real_problem(3, n=30, r=19, sparsity=0.5)
    expected = odsymnmf_l1(A, H, sweeps=3, order="rows", empty=0.0, upper=np.inf)
    assert_close(swept(FORMS[form](A), H, "l1", count=3), expected, 1e-12)


@EACH_FORM
@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_l1_where_some_steps_are_much_longer_than_others(form, spread):
    # Breakpoints nearby are looked at first: here the steps before say little of the next.
    rng = np.random.default_rng(5)
    H = rng.lognormal(sigma=spread, size=(60, 3)) * (rng.random((60, 3)) < 0.7)
    A = symmetric(H @ H.T * rng.lognormal(sigma=spread, size=(60, 60)))
    start = rng.permutation(H)
    expected = odsymnmf_l1(A, start, sweeps=4, order="rows", empty=0.0, upper=np.inf)
    assert_close(swept(FORMS[form](A), start, "l1", count=4), expected, 1e-12)


# --- l2 ------------------------------------------------------------------------------------


@EACH_FORM
@pytest.mark.parametrize("upper", [0.6, 1.0, np.inf])
@settings(max_examples=12)
@given(seed=SEEDS, sweeps=st.sampled_from([1, 3, 35]))
def test_l2_is_algorithm_1(form, upper, seed, sweeps):
    A, H = real_problem(seed, sparsity=0.2)
    H = np.minimum(H, upper)
    expected = algorithm_1(A, H, sweeps, upper=upper)
    assert_close(swept(FORMS[form](A), H, count=sweeps, upper=upper), expected, 1e-10)


@EACH_FORM
def test_l2_from_a_start_with_zeros(form):
    # Rows and columns of zeros, lone entries: 0 / 0 counts as 0.
    A, H = real_problem(8, n=10, r=5)
    H[3] = H[:, 2] = 0.0
    H[:, 4] = np.eye(10)[6]
    assert_close(swept(FORMS[form](A), H, count=25), algorithm_1(A, H, 25, upper=np.inf), 1e-10)


@EACH_FORM
@pytest.mark.parametrize(("n", "r"), [(150, 2), (30, 19), (6, 9)])
def test_l2_with_many_items_or_columns(form, n, r):
    # More than one block of rows, more than one stride of columns, r > n.
    A, H = real_problem(4, n=n, r=r, sparsity=0.5)
    assert_close(swept(FORMS[form](A), H, count=4), algorithm_1(A, H, 4, upper=np.inf), 1e-10)


@settings(max_examples=25)
@given(seed=SEEDS)
def test_l2_is_algorithm_2_where_that_does_not_cancel(seed):
    # Items all similar and a single column: no entry dominates it.
    rng = np.random.default_rng(seed)
    A = symmetric(0.5 + rng.random((8, 8)))
    H = 0.5 + rng.random((8, 1))
    expected = odsymnmf_l2(A, H, sweeps=10, order="rows", upper=np.inf)
    assert_close(swept(A, H, count=10), expected, 1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_every_kind_of_input(kind, loss):
    X = documents(2, n=24, m=15)
    A = as_kind("dense", X)
    H = 0.05 + np.random.default_rng(0).random((24, 5))
    if loss == "l2":
        expected = algorithm_1(A, H, 25, upper=np.inf)
        assert_close(swept(as_kind(kind, X), H, count=25), expected, 1e-10)
    else:
        expected = odsymnmf_l1(A, H, sweeps=6, order="rows", empty=0.0, upper=np.inf)
        assert_close(swept(as_kind(kind, X), H, "l1", count=6), expected, 1e-12)


# --- symNMF --------------------------------------------------------------------------------


@EACH_FORM
@pytest.mark.parametrize("upper", [0.6, np.inf])
@settings(max_examples=15)
@given(seed=SEEDS, sweeps=st.sampled_from([1, 3, 20]))
def test_symnmf(form, upper, seed, sweeps):
    A, H = real_problem(seed)
    np.fill_diagonal(A, np.random.default_rng(seed).uniform(-1, 2, len(A)))
    H = np.minimum(H, upper)
    expected = paper_symnmf.symnmf(A, H, sweeps=sweeps, order="rows", upper=upper)
    found = swept(FORMS[form](A), H, diagonal="fit", count=sweeps, upper=upper)
    assert_close(found, expected, 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_symnmf_on_every_kind_of_input(kind):
    X = documents(2, n=20, m=15)
    A = as_kind("dense", X)
    H = 0.05 + 0.5 * np.random.default_rng(1).random((20, 5))
    expected = paper_symnmf.symnmf(A, H, sweeps=12, order="rows")
    assert_close(swept(as_kind(kind, X), H, diagonal="fit", count=12), expected, 1e-9)


COEFFICIENTS = st.floats(-1e3, 1e3).map(lambda x: round(x, 6))


@settings(max_examples=400)
@given(a=COEFFICIENTS, b=COEFFICIENTS, upper=st.sampled_from([0.5, 3.0, np.inf]))
@example(a=0.0, b=0.0, upper=np.inf)
@example(a=-3.0, b=2.0, upper=np.inf)  # a double root
@example(a=-3.0, b=-2.0, upper=np.inf)
@example(a=0.0, b=-8.0, upper=np.inf)
@example(a=-1.0, b=0.0, upper=np.inf)
@example(a=1e3, b=-1e-6, upper=np.inf)  # the cube roots cancel
def test_quartic(a, b, upper):
    def value(x):
        return x**4 / 4 + a * x**2 / 2 + b * x

    x = kernels.symnmf.minimise_quartic(a, b, upper)
    expected = paper_symnmf.minimise_quartic(a, b, upper)
    assert 0 <= x <= upper
    size = expected**4 / 4 + abs(a) * expected**2 / 2 + abs(b) * expected
    assert value(x) <= value(expected) + 1e-12 * size
    if abs(value(expected)) > 1e-9 * size:  # not a tie with 0
        assert x == pytest.approx(expected, rel=1e-6)
        if 0 < x < upper:
            assert abs(x**3 + a * x + b) <= 1e-14 * (x**3 + abs(a * x) + abs(b)) * 8


@given(
    a=st.floats(-10, 10),
    b=st.floats(-10, 10),
    e=st.integers(-60, 60),
)
@example(a=-1e-220, b=0.0, e=0)  # whose root has a cube that is no number but zero
def test_quartic_at_every_scale(a, b, e):
    """Cube roots of libraries have other digits at other scales."""
    x = kernels.symnmf.minimise_quartic(a, b, np.inf)
    scaled = kernels.symnmf.minimise_quartic(np.ldexp(a, 2 * e), np.ldexp(b, 3 * e), np.inf)
    # Squares and cubes of small numbers vanish, and their digits with them.
    if min(abs(a), abs(b)) > 1e-20:
        assert scaled == np.ldexp(x, e)


# --- the greedy start ------------------------------------------------------------------------


@EACH_FORM
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("upper", [0.5, np.inf])
@settings(max_examples=25)
@given(seed=SEEDS, r=st.integers(1, 4), c=st.sampled_from([1.0, 0.25, 64.0]))
def test_greedy_on_real_data(form, p, upper, seed, r, c):
    # Enough items that no column is left without a residual, where rounding would choose.
    A, _ = real_problem(seed, n=12)
    A *= c / A.max()
    found = greedy(FORMS[form](A), r, f"l{p}", upper)
    assert_close(found, paper_greedy(A, r, p, upper=upper), 1e-10)


@EACH_FORM
@pytest.mark.parametrize("upper", [0.5, 1.0, np.inf])
@settings(max_examples=40)
@given(seed=SEEDS)
def test_greedy_l1_on_binary_data_bit_for_bit(form, upper, seed):
    # Ties everywhere: the first item wins.
    A, H = binary_problem(seed)
    r = H.shape[1]
    found = greedy(FORMS[form](A), r, "l1", upper)
    np.testing.assert_array_equal(found, paper_greedy(A, r, 1, upper=upper))


@pairwise({"kind": KINDS, "p": [1, 2], "r": [1, 4, 30]})
def test_greedy_on_every_kind_of_input(kind, p, r):
    X = documents(3, n=30, m=20, twins=False)
    dense = as_kind("dense", X)
    # A Gram matrix is never formed, and its largest entry is not known: 1 bounds it.
    scale = 1.0 if kind.startswith("gram") else symmetric(dense).max()
    found = greedy(as_kind(kind, X), r, f"l{p}")
    assert_close(found, paper_greedy(dense, r, p, scale), 1e-10)


# --- selection and symmetry ------------------------------------------------------------------

WEIGHTED = st.lists(
    st.tuples(st.integers(-3, 12).map(float), st.integers(1, 8).map(lambda w: w / 4)),
    min_size=1,
    max_size=150,
)


@settings(max_examples=400)
@given(pairs=WEIGHTED, share=st.floats(0.001, 1.0))
def test_select_is_what_sorting_gives(pairs, share):
    # Quarters add up exactly, so a tie is a tie.
    points, weights = map(np.array, zip(*pairs, strict=True))
    total = weights.sum()
    target = np.ceil(share * total * 4) / 4
    order = np.argsort(points)
    reached = np.cumsum(weights[order]) >= target
    expected = points[order][np.argmax(reached)]
    scratch = np.append(points, -99.0), np.append(weights, 99.0)  # beyond m: not to be read
    assert kernels.weighted_median.select(*scratch, len(points), target) == expected
    np.testing.assert_array_equal(np.sort(scratch[0][:-1]), np.sort(points))


def test_select_without_enough_weight_takes_the_largest_point():
    points, weights = np.array([2.0, 5.0, 3.0]), np.ones(3)
    assert kernels.weighted_median.select(points, weights, 3, 3.0000001) == 5.0


@settings(max_examples=200)
@given(seed=SEEDS)
def test_worst_asymmetry(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 12)
    A = rng.integers(-3, 4, (n, n)) * (rng.random((n, n)) < rng.random())
    A = A + A.T + rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.1)
    S = sparse.csr_array(A.astype(float))
    arrays = S.indptr, S.indices, S.data, S.indptr.copy()
    halves = [(0, n // 2), (n // 2, n)]
    found = [kernels.checks.worst_asymmetry(*arrays, *half) for half in halves]
    worst, i, j = max(found, key=lambda one: one[0])
    assert worst == np.abs(A - A.T).max()
    if worst > 0:
        assert abs(A[i, j] - A[j, i]) == worst
    else:
        assert (i, j) == (-1, -1)
