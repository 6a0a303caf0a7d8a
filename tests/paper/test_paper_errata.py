"""Each error listed in paper/ERRATA.md, shown by numbers. The tests come in its order."""

import re
from importlib.resources import files
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from odsymnmf.paper import algorithm_5, algorithm_6
from odsymnmf.paper.accuracy import accuracy
from odsymnmf.paper.algorithm_1 import odsymnmf, rank_one_l2
from odsymnmf.paper.algorithm_2 import odsymnmf_l2
from odsymnmf.paper.algorithm_3 import rank_one_l1
from odsymnmf.paper.algorithm_4 import odsymnmf_l1
from odsymnmf.paper.objective import off_diagonal_error
from odsymnmf.paper.symnmf import symnmf
from odsymnmf.paper.weighted_median import constrained_weighted_median, weighted_median

PAIR = np.array([[0.0, 1], [1, 0]])


def star(leaves):
    A = np.zeros((leaves + 1, leaves + 1))
    A[0, 1:] = A[1:, 0] = 1
    return A


def graph(n, edges):
    A = np.zeros((n, n))
    for i, j in edges:
        A[i, j] = A[j, i] = 1
    return A


def test_errata_names_these_tests():
    """Each entry names a test that exists, and each test here has its entry."""
    errata = (files("odsymnmf.paper") / "ERRATA.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", errata))
    source = "".join(p.read_text(encoding="utf-8") for p in Path(__file__).parent.glob("*.py"))
    existing = set(re.findall(r"^def (test_\w+)", source, flags=re.M))
    here = {name for name in globals() if name.startswith("test_")}
    assert named <= existing
    assert here - {"test_errata_names_these_tests"} <= named


# --- the model -----------------------------------------------------------------------------


def test_p_1_needs_the_absolute_value():
    H = np.array([[10.0], [10.0]])
    printed = (PAIR - H @ H.T)[~np.eye(2, dtype=bool)].sum()
    assert printed == -198
    assert off_diagonal_error(PAIR, H, 1) == 198


def test_negative_similarity_has_no_exact_factorization():
    A = -PAIR
    H = odsymnmf_l2(A, np.random.default_rng(0).random((2, 3)))
    assert not H.any()
    # H H^T >= 0 cannot do better than 0 on an entry of -1.
    assert off_diagonal_error(A, H, 2) == 2


def test_h_ht_is_only_semidefinite():
    h = np.array([[1.0], [2.0]])
    assert np.linalg.eigvalsh(h @ h.T)[0] == pytest.approx(0)


def test_theorem_1_needs_the_bound():
    # Binary h fits one edge of a star with four leaves: error 6. Without h <= 1, less than 0.1.
    A = star(4)
    binary = np.array([[1.0], [1], [0], [0], [0]])
    unbounded = np.array([[12.0], *[[1 / 12]] * 4])
    assert off_diagonal_error(A, binary, 1) == 6
    assert off_diagonal_error(A, unbounded, 1) == pytest.approx(12 / 12**2)
    # Algorithm 3 without a bound stays there, with it it turns binary.
    np.testing.assert_allclose(rank_one_l1(A, unbounded[:, 0], upper=np.inf), unbounded[:, 0])
    assert np.isin(rank_one_l1(A, unbounded[:, 0]), [0, 1]).all()


# --- convergence ---------------------------------------------------------------------------


def test_star_infimum_is_not_attained():
    A = star(4)
    for t in (1e1, 1e2, 1e3):
        H = np.array([[t], *[[1 / t]] * 4])
        # The 12 ordered pairs of leaves are off by 1 / t^2 each.
        assert off_diagonal_error(A, H, 1) == pytest.approx(12 / t**2)
        assert off_diagonal_error(A, H, 2) == pytest.approx(12 / t**4)
    # Zero is out of reach: two leaves joined to the hub are both > 0, so their product is too.
    # Algorithm 2 runs after it for ever: the hub grows, the error falls.
    H, hub, error = np.ones((5, 1)), 1.0, np.inf
    for _ in range(4):
        H = odsymnmf_l2(A, H, sweeps=100, upper=np.inf)
        assert H[0, 0] > hub + 0.5
        assert 0 < off_diagonal_error(A, H, 2) < error
        hub, error = H[0, 0], off_diagonal_error(A, H, 2)
    assert odsymnmf_l2(A, H).max() <= 1


@pytest.mark.parametrize("p", [1, 2])
def test_level_sets_are_not_compact(p):
    for t in (1.0, 2.0**10, 2.0**100):
        assert off_diagonal_error(PAIR, [[t], [1 / t]], p) == 0
        assert off_diagonal_error(PAIR, [[1, t], [1, 0]], p) == 0


def test_minimum_is_not_unique_for_a_lone_entry():
    # a_kl = 0: all values of the entry cost the same, b_kl / a_kl is 0/0.
    costs = {off_diagonal_error(PAIR, [[x], [0]], 2) for x in (0, 0.3, 7)}
    assert costs == {2}
    assert rank_one_l2(PAIR, [5, 0], [0], upper=np.inf).tolist() == [0, 0]
    # So the zero start is a fixed point of l2, though not of symNMF.
    assert not odsymnmf_l2(np.ones((3, 3)), np.zeros((3, 1))).any()
    assert symnmf(np.ones((3, 3)), np.zeros((3, 1))).any()


# --- Algorithms 1 to 4 ---------------------------------------------------------------------


def test_plus_means_overwrite_at_once():
    # Had all h_k^+ been computed from the old h, (2, 2) and (1/2, 1/2) would take turns.
    def old_h(h):
        return np.array([rank_one_l2(PAIR, h, [k], upper=np.inf)[k] for k in range(2)])

    h = np.array([2.0, 2.0])
    assert old_h(h).tolist() == [0.5, 0.5]
    assert old_h(old_h(h)).tolist() == [2, 2]
    assert rank_one_l2(PAIR, h, upper=np.inf).tolist() == [0.5, 2]


@pytest.mark.parametrize("t", [1e5, 1e8])
def test_c_minus_h_squared_cancels(t):
    H = np.array([[t], [1 / t]])
    assert off_diagonal_error(PAIR, H, 2) == pytest.approx(0, abs=1e-25)
    # Summed without item k, the exact fit stays; t^2 + 1 / t^2 - t^2 is 0 in double precision.
    np.testing.assert_allclose(rank_one_l2(PAIR, H[:, 0], upper=np.inf), H[:, 0])
    assert t**2 + t**-2 - t**2 == 0
    printed = odsymnmf_l2(PAIR, H, sweeps=1, upper=np.inf)
    assert off_diagonal_error(PAIR, printed, 2) == 2


def test_c_minus_h_squared_cancels_little_by_little():
    # At t = 1000 the entry is already wrong in its fifth digit.
    printed = odsymnmf_l2(PAIR, [[1e3], [1e-3]], sweeps=1, upper=np.inf)
    assert 1e-2 < abs(printed[0, 0] - 1e3) < 1


def test_rounding_revives_a_dead_column():
    # The first column is driven to zero; C_1 should be 0 but keeps a rounding error, and the
    # next sweep divides by it.
    A = np.array([[0, 0.5, 0.25], [0.5, 0, 0.5], [0.25, 0.5, 0]])
    revived = 0
    for c in ([0.3, 0.3, 0.3], [0.1, 0.6, 0.1], [0.2, 0.1, 0.2], [0.1, 0.7, 0.3], [0.3, 0.2, 0.1]):
        H0 = np.column_stack([c, np.ones(3)])
        assert not odsymnmf(A, H0, rank_one_l2, sweeps=3)[:, 0].any()
        revived += odsymnmf_l2(A, H0, sweeps=3)[:, 0].any()
    assert revived > 0


def test_algorithm_2_adds_and_subtracts_the_diagonal():
    H0 = [[0.3], [0.7]]
    # A_kk H_kl enters b twice, with both signs; a large one swallows the rest.
    assert odsymnmf_l2(PAIR, H0, sweeps=1).tolist() == [[1], [1]]
    assert odsymnmf_l2(PAIR + np.diag([1e20, 1e20]), H0, sweeps=1).tolist() == [[0], [0]]
    huge = np.diag([1e20, 1e20])
    assert odsymnmf(PAIR + huge, H0, rank_one_l2, sweeps=1).tolist() == [[1], [1]]


def test_l1_can_profit_from_sparsity():
    # One update from the neighbors of k alone: items with A_ik <= 0 have b_i <= 0, and only
    # their total weight T matters. Whole numbers, so that equal means equal.
    rng = np.random.default_rng(0)
    positive = 0
    for _ in range(300):
        n, r = rng.integers(2, 12), rng.integers(1, 4)
        A = np.triu(rng.integers(-1, 6, (n, n)) * (rng.random((n, n)) < 0.4), 1)
        A = (A + A.T).astype(float)
        H = rng.integers(0, 3, (n, r)).astype(float)
        W = H.sum(axis=0)
        k, l = rng.integers(n), rng.integers(r)
        T = W[l] - H[k, l]
        near = np.flatnonzero((A[k] > 0) & (np.arange(n) != k))
        a = H[near, l]
        b = A[near, k] - H[near] @ H[k] + a * H[k, l]
        a, b = a[(a > 0) & (b > 0)], b[(a > 0) & (b > 0)]
        P = a.sum()
        x = 1.0 if T == 0 else 0.0
        if 2 * P > T:
            order = np.argsort(b / a)
            reached = np.cumsum(a[order]) >= P - T / 2
            x = (b / a)[order][np.argmax(reached)]
            positive += 1
        P_without_l = A - np.delete(H, l, axis=1) @ np.delete(H, l, axis=1).T
        assert rank_one_l1(P_without_l, H[:, l], [k], upper=np.inf)[k] == x
    assert positive > 30


# --- the appendix --------------------------------------------------------------------------


def printed_median(a, b):
    """The appendix to the letter: S a set, Inds applied to all of a, weights divided."""
    S = []
    for i in range(len(a)):
        if a[i] != 0 and b[i] / a[i] not in S:
            S.append(b[i] / a[i])
    Inds = np.argsort(S)
    S = [S[i] for i in Inds]
    a = [a[i] / sum(a) for i in Inds]
    i, CumulatedSum = 0, 0.0
    while CumulatedSum < 0.5:
        CumulatedSum += a[i]
        x = S[i]
        i += 1
    return x


def test_median_is_not_clamped():
    assert printed_median([1, 1, 1], [-3, -1, 2]) == -1
    assert weighted_median([1, 1, 1], [-3, -1, 2]) == -1
    assert constrained_weighted_median([1, 1, 1], [-3, -1, 2]) == 0


def test_median_of_nothing_is_undefined():
    with pytest.raises((IndexError, ZeroDivisionError)):
        printed_median([0, 0], [5, 7])
    assert constrained_weighted_median([0, 0], [5, 7]) == 1
    # The value decides whether l1 can leave a zero start.
    A, zero = np.ones((3, 3)), np.zeros((3, 1))
    assert odsymnmf_l1(A, zero).tolist() == [[1], [1], [1]]
    assert odsymnmf_l1(A, zero, empty=0).tolist() == zero.tolist()


def test_median_sorts_only_the_nonzero_weights():
    # Inds = (1, 2) refers to the two breakpoints 1 and 2, but picks the weights 0 and 1 from a.
    with pytest.raises(IndexError):
        printed_median([0, 1, 3], [9, 1, 6])
    assert constrained_weighted_median([0, 1, 3], [9, 1, 6]) == 2


def test_median_breakpoints_are_not_a_set():
    assert printed_median([1, 1, 1], [1, 1, 5]) == 5
    assert constrained_weighted_median([1, 1, 1], [1, 1, 5]) == 1


def test_median_normalized_weights_break_ties():
    # Fourteen equal weights: seven make a half, and the smallest minimizer is the seventh
    # breakpoint. 7 * (1/14), added up in double precision, is less than 0.5.
    a, b = [1.0] * 14, list(range(14))
    assert printed_median(a, b) == 7
    assert constrained_weighted_median(a, b) == 6


# --- the greedy start ----------------------------------------------------------------------


def test_greedy_swaps_the_arguments_of_the_median():
    R_Jk, H_J = [0.5, 0.5], [1.0, 1.0]
    assert constrained_weighted_median(R_Jk, H_J) == 2  # as printed
    assert constrained_weighted_median(H_J, R_Jk) == 0.5  # minimizes |H_J x - R_Jk|
    A = np.full((3, 3), 0.5)
    assert algorithm_6.greedy_init(A, 1, 1, upper=np.inf).tolist() == [[1], [0.5], [0.5]]
    # As printed, a negative residual would be a weight.
    with pytest.raises(ValueError, match="weights must be >= 0"):
        constrained_weighted_median([-1.0], [1.0])


def test_greedy_reads_the_diagonal():
    A = graph(5, [(0, 3), (0, 4), (1, 2), (2, 3), (2, 4), (3, 4)])
    errors = {}
    for diagonal in (0.0, 1.0):
        H = algorithm_5.greedy_init(A + diagonal * np.eye(5), 2, 1, self_similarity=None)
        errors[diagonal] = off_diagonal_error(A, H, 1)
    assert errors == {0.0: 4, 1.0: 2}
    # The argument self_similarity puts the same diagonal under every A.
    H = algorithm_5.greedy_init(A, 2, 1)
    np.testing.assert_array_equal(H, algorithm_5.greedy_init(A + 9 * np.eye(5), 2, 1))
    assert off_diagonal_error(A, H, 1) == 2


def test_greedy_refreshes_2r_minus_1_times():
    # n = 2r + 1 = 5: with 2r refreshes only the last pick, which has no choice, would use old
    # scores, and Algorithms 5 and 6 would agree. With 2r - 1 they do not.
    A = graph(5, [(0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4)])
    five, six = (g.greedy_init(A, 2, 1) for g in (algorithm_5, algorithm_6))
    assert five[:, 0].tolist() == [1, 0, 1, 1, 1]
    assert six[:, 0].tolist() == [0, 1, 1, 1, 1]
    # With one node less they agree on every graph: n = 2r.
    rng = np.random.default_rng(0)
    for _ in range(30):
        A = np.triu(rng.integers(0, 2, (4, 4)), 1)
        A = A + A.T
        five, six = (g.greedy_init(A, 2, 1) for g in (algorithm_5, algorithm_6))
        np.testing.assert_array_equal(five, six)


def test_greedy_c_j_takes_the_new_entry():
    # Three similar items. With H_kj^2 read before H_kj^+ is stored, C_j stays 1 and the third
    # entry is (1 + 1) / 1 = 2; with the new value it is (1 + 1) / 2.
    A = np.ones((3, 3))
    assert algorithm_6.greedy_init(A, 1, 2, upper=np.inf).tolist() == [[1], [1], [1]]


# --- the experiments -----------------------------------------------------------------------


def test_accuracy_needs_the_minimum():
    H = np.eye(2)
    distances = [np.sqrt(np.sum((H[:, list(P)] - H) ** 2) / 4) for P in permutations(range(2))]
    assert 1 - max(distances) == 0  # as printed, for a perfect H
    assert accuracy(H, H) == 1 - min(distances) == 1


def test_accuracy_can_be_negative():
    assert accuracy([[3], [3]], [[1], [1]]) == -1
