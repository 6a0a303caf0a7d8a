"""Bad input to any public function of the executable paper: a ValueError with a remedy."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from odsymnmf.paper import algorithm_5, algorithm_6
from odsymnmf.paper.accuracy import accuracy, label_accuracy
from odsymnmf.paper.algorithm_1 import odsymnmf, rank_one_l2
from odsymnmf.paper.algorithm_2 import odsymnmf_l2
from odsymnmf.paper.algorithm_3 import rank_one_l1
from odsymnmf.paper.algorithm_4 import odsymnmf_l1
from odsymnmf.paper.inputs import visits
from odsymnmf.paper.objective import off_diagonal_error
from odsymnmf.paper.symnmf import minimise_quartic, symnmf
from odsymnmf.paper.weighted_median import constrained_weighted_median, weighted_median

A = [[0, 1, 0], [1, 0, 2], [0, 2, 0]]
H = [[1, 0], [1, 1], [0, 1]]
h = [1, 1, 0]
NAN, INF = float("nan"), float("inf")


def algorithm_1(A, H0, **options):
    return odsymnmf(A, H0, rank_one_l2, **options)


def objective(A, H0):
    return off_diagonal_error(A, H0, 1)


DESCENT = [algorithm_1, odsymnmf_l2, odsymnmf_l1, symnmf]
RANK_ONE = [rank_one_l1, rank_one_l2]
GREEDY = [algorithm_5.greedy_init, algorithm_6.greedy_init]
MEDIANS = [weighted_median, constrained_weighted_median]

BAD_A = [
    ([[0, 1]], "square matrix"),
    ([0, 1, 2], "must be a matrix"),
    (np.zeros((2, 2, 2)), "must be a matrix"),
    (3.0, "must be a matrix"),
    (np.zeros((0, 0)), "n >= 1"),
    ([[0, 1], [2, 0]], r"symmetric.*\[0, 1\] = 1.0.*\[1, 0\] = 2.0.*\(A \+ A.T\) / 2"),
    ([[0, NAN], [NAN, 0]], r"\[0, 1\] is NaN or infinite; replace"),
    ([[0, INF], [INF, 0]], r"\[0, 1\] is NaN or infinite; replace"),
    ([[NAN, 1], [1, 0]], r"\[0, 0\] is NaN or infinite; replace"),
    ([[0, 1], [1]], "rows of one length"),
    ([["a", "b"], ["b", "a"]], "real numbers"),
    ([[0, 1j], [1j, 0]], "real numbers"),
    (None, "must be a matrix"),
    (csr_array(np.eye(2)), r"toarray\(\)"),
]
BAD_H = [
    ([[1, 0], [1, 1]], r"shape \(n, r\) = \(3, r >= 1\); got \(2, 2\)"),
    (np.zeros((3, 0)), "r >= 1"),
    ([1, 1, 0], "must be a matrix"),
    ([[1], [-0.5], [0]], r"\[1, 0\] is -0.5; entries must be >= 0"),
    ([[1], [NAN], [0]], r"\[1, 0\] is NaN or infinite"),
    ([[1], [0], [INF]], r"\[2, 0\] is NaN or infinite"),
    ([["x"], ["y"], ["z"]], "real numbers"),
]
BAD_UPPER = [0, -1.0, NAN, "1", None]


@pytest.mark.parametrize("function", [*DESCENT, objective])
@pytest.mark.parametrize(("bad", "message"), BAD_A)
def test_bad_similarity(function, bad, message):
    with pytest.raises(ValueError, match=f"^A(?s:.*){message}"):
        function(bad, H)


@pytest.mark.parametrize("function", RANK_ONE)
@pytest.mark.parametrize(("bad", "message"), BAD_A)
def test_bad_residual(function, bad, message):
    with pytest.raises(ValueError, match=f"^P(?s:.*){message}"):
        function(bad, h)


@pytest.mark.parametrize("function", GREEDY)
@pytest.mark.parametrize(("bad", "message"), BAD_A)
def test_bad_similarity_greedy(function, bad, message):
    with pytest.raises(ValueError, match=f"^A(?s:.*){message}"):
        function(bad, 1, 1)


@pytest.mark.parametrize("function", [*DESCENT, objective])
@pytest.mark.parametrize(("bad", "message"), BAD_H)
def test_bad_start(function, bad, message):
    with pytest.raises(ValueError, match=f"^H(?s:.*){message}"):
        function(A, bad)


@pytest.mark.parametrize("function", RANK_ONE)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1, 1], r"\(3, r >= 1\); got \(2, 1\)"),
        ([[1], [1], [0]], "must be a vector"),
        ([1, -1, 0], "must be >= 0"),
        ([1, NAN, 0], "NaN"),
    ],
)
def test_bad_vector(function, bad, message):
    with pytest.raises(ValueError, match=f"^h0.*{message}"):
        function(A, bad)


@pytest.mark.parametrize("function", RANK_ONE)
@pytest.mark.parametrize("bad", [[3], [-1], [0.5], ["0"]])
def test_bad_items(function, bad):
    with pytest.raises(ValueError, match=r"K holds .*from 0 to n - 1 = 2"):
        function(A, h, bad)


@pytest.mark.parametrize("function", DESCENT)
@pytest.mark.parametrize("bad", [-1, 1.5, NAN, "3", None])
def test_bad_sweeps(function, bad):
    with pytest.raises(ValueError, match="sweeps must be a whole number >= 0; got"):
        function(A, H, sweeps=bad)


@pytest.mark.parametrize("function", DESCENT)
@pytest.mark.parametrize("bad", ["cols", "", None, 1])
@pytest.mark.parametrize("sweeps", [0, 1])
def test_bad_order(function, bad, sweeps):
    with pytest.raises(ValueError, match=r'order must be "columns" .* or "rows"; got'):
        function(A, H, sweeps=sweeps, order=bad)
    with pytest.raises(ValueError, match="order must be"):
        list(visits(np.ones((3, 2)), bad))


@pytest.mark.parametrize(
    "call",
    [
        lambda upper: odsymnmf_l2(A, H, upper=upper),
        lambda upper: odsymnmf_l1(A, H, upper=upper),
        lambda upper: symnmf(A, H, upper=upper),
        lambda upper: rank_one_l2(A, h, upper=upper),
        lambda upper: rank_one_l1(A, h, upper=upper),
        lambda upper: algorithm_5.greedy_init(A, 1, 1, upper=upper),
        lambda upper: algorithm_6.greedy_init(A, 1, 2, upper=upper),
        lambda upper: algorithm_5.optimize_hk([1], [1], 1, upper=upper),
        lambda upper: constrained_weighted_median([0], [1], upper=upper),
        lambda upper: constrained_weighted_median([1], [1], upper=upper),
        lambda upper: minimise_quartic(1, 1, upper),
    ],
)
@pytest.mark.parametrize("bad", BAD_UPPER)
def test_bad_upper(call, bad):
    with pytest.raises(ValueError, match=r"upper must be a number > 0; got .*upper=np.inf"):
        call(bad)


@pytest.mark.parametrize(
    "call",
    [
        lambda empty: odsymnmf_l1(A, H, sweeps=0, empty=empty),
        lambda empty: rank_one_l1(A, h, [], empty=empty),
        lambda empty: constrained_weighted_median([1], [1], empty=empty),
    ],
)
@pytest.mark.parametrize("bad", [-1, NAN, INF, "1", None])
def test_bad_empty(call, bad):
    with pytest.raises(ValueError, match="empty must be a finite number >= 0; got"):
        call(bad)


@pytest.mark.parametrize("function", GREEDY)
@pytest.mark.parametrize("bad", [0, -2, 1.5, "2", None, NAN])
def test_bad_rank(function, bad):
    with pytest.raises(ValueError, match="r must be a whole number >= 1; got"):
        function(A, bad, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda p: algorithm_5.greedy_init(A, 1, p),
        lambda p: algorithm_6.greedy_init(A, 1, p),
        lambda p: algorithm_5.optimize_hk([1], [1], p),
        lambda p: off_diagonal_error(A, H, p),
    ],
)
@pytest.mark.parametrize("bad", [0, 3, 1.5, "1", None, [1]])
def test_bad_norm(call, bad):
    with pytest.raises(ValueError, match="p must be 1 or 2; got"):
        call(bad)


@pytest.mark.parametrize(
    "function", [*GREEDY, lambda A, r, p, **o: algorithm_5.with_self_similarity(A, **o)]
)
@pytest.mark.parametrize("bad", [NAN, INF, "1"])
def test_bad_self_similarity(function, bad):
    with pytest.raises(ValueError, match="self_similarity must be a finite number, or None"):
        function(A, 1, 1, self_similarity=bad)


@pytest.mark.parametrize("bad", [None, "l2", 2])
def test_bad_rank_one_solver(bad):
    with pytest.raises(ValueError, match="rank_one must be rank_one_l2 or rank_one_l1; got"):
        odsymnmf(A, H, bad)


@pytest.mark.parametrize("function", MEDIANS)
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1, 1], [1], "one length; got 2 and 1"),
        ([0, 0], [1], "one length; got 2 and 1"),
        ([[1]], [[1]], "a must be a vector"),
        ([1, -1], [1, 1], r"a\[1\] is -1.0; weights must be >= 0"),
        ([1, NAN], [1, 1], r"a\[1\] is NaN"),
        ([0], [INF], r"b\[0\] is NaN or infinite"),
        ("ab", [1], "a must be"),
    ],
)
def test_bad_weights(function, a, b, message):
    with pytest.raises(ValueError, match=message):
        function(a, b)


def test_bad_weights_of_optimize_hk():
    with pytest.raises(ValueError, match="h_J and R_kJ must have one length; got 2 and 1"):
        algorithm_5.optimize_hk([1], [1, 1], 2)
    with pytest.raises(ValueError, match=r"h_J\[0\] is -1.0"):
        algorithm_5.optimize_hk([1], [-1], 2)


@pytest.mark.parametrize("bad", [NAN, INF, 1j, "a"])
def test_bad_quartic(bad):
    with pytest.raises(ValueError, match=r"\(a, b\)"):
        minimise_quartic(bad, 0)
    with pytest.raises(ValueError, match=r"\(a, b\)"):
        minimise_quartic(0, bad)


@pytest.mark.parametrize(
    ("found", "truth", "message"),
    [
        ([[1], [1]], [[1]], r"share one shape \(n, r\)"),
        ([1, 1], [1, 1], "H must be a matrix"),
        (np.zeros((0, 2)), np.zeros((0, 2)), "share one shape"),
        ([[NAN]], [[1]], r"H\[0, 0\] is NaN"),
        ([[1]], [[INF]], r"H_star\[0, 0\] is NaN or infinite"),
        (np.ones((2, 9)), np.ones((2, 9)), "too many permutations; use metrics"),
    ],
)
def test_bad_memberships(found, truth, message):
    with pytest.raises(ValueError, match=message):
        accuracy(found, truth)


@pytest.mark.parametrize(
    ("labels", "truth", "message"),
    [
        ([0, 1], [0], "vectors of one length"),
        ([], [], "one length >= 1"),
        ([[0]], [[0]], "vectors"),
        ([0, -1], [0, 1], "leave unknown items out"),
        ([0, 1], [0, -1], "leave unknown items out"),
        ([0.5, 1], [0, 1], "whole numbers"),
        (["a", "b"], [0, 1], "whole numbers.*np.unique"),
        ([0, 1], [True, False], "whole numbers"),
        ([0, 8], [0, 1], "too many permutations; use metrics"),
    ],
)
def test_bad_labels(labels, truth, message):
    with pytest.raises(ValueError, match=message):
        label_accuracy(labels, truth)


def test_lists_numpy_numbers_and_whole_arrays_are_fine():
    H0 = odsymnmf_l1(A, H, sweeps=np.int64(2), upper=np.float32(1))
    assert H0.dtype == np.float64
    np.testing.assert_array_equal(H0, odsymnmf_l1(np.array(A), np.array(H, dtype=bool), sweeps=2))
    assert algorithm_5.greedy_init(A, np.int32(1), np.int64(1)).shape == (3, 1)
