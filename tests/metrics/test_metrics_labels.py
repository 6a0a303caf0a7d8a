from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from odsymnmf.metrics import label_accuracy, membership_accuracy, scores

entries = st.floats(0, 4, width=32)
shapes = st.tuples(st.integers(1, 6), st.integers(1, 4))
pairs_of_memberships = shapes.flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, shape, elements=entries), arrays(np.float64, shape, elements=entries)
    )
)
pairs_of_labels = st.lists(
    st.tuples(st.integers(-1, 4), st.sampled_from(["a", "b", "c", -1])), min_size=1, max_size=12
).filter(lambda items: any(truth != -1 for _, truth in items))

# The matching knows squared distances to machine precision, their square root to half the digits.
ROUNDING = 1e-7


def brute_force_membership_accuracy(H, H_true):
    n, r = H.shape
    return 1 - min(
        np.sqrt(((H[:, list(P)] - H_true) ** 2).sum() / (r * n)) for P in permutations(range(r))
    )


def brute_force_label_accuracy(labels, truth):
    """Try every way to name the clusters; None is a name that fits nothing."""
    known = [(a, b) for a, b in zip(labels, truth, strict=True) if b != -1]
    clusters = sorted({a for a, _ in known} - {-1})
    classes = sorted({b for _, b in known})
    best = 0
    for names in permutations(classes + [None] * len(clusters), len(clusters)):
        name_of = dict(zip(clusters, names, strict=True))
        best = max(best, sum(name_of.get(a) == b for a, b in known))
    return best / len(known)


class TestMembershipAccuracy:
    @given(pairs_of_memberships)
    def test_is_the_formula(self, memberships):
        H, H_true = memberships
        expected = brute_force_membership_accuracy(H, H_true)
        assert membership_accuracy(H, H_true) == pytest.approx(expected, abs=ROUNDING)

    @given(pairs_of_memberships, st.randoms())
    def test_order_of_columns_does_not_matter(self, memberships, random):
        H, H_true = memberships
        order = list(range(H.shape[1]))
        random.shuffle(order)
        assert membership_accuracy(H[:, order], H) == pytest.approx(1, abs=ROUNDING)
        assert membership_accuracy(H[:, order], H_true) == pytest.approx(
            membership_accuracy(H, H_true), abs=ROUNDING
        )

    def test_a_small_difference_beside_a_large_entry_counts(self):
        H = np.array([[1.5e-8, 2.0, 0.0]])
        for order in permutations(range(3)):
            assert membership_accuracy(H[:, order], H) == 1

    def test_zero_memberships_score_as_in_the_paper(self):
        # One entry per row of H_true is 1, so the zero start scores 1 - 1/sqrt(r): 29, 55, 68 %.
        for r, expected in ((2, 29), (5, 55), (10, 68)):
            H_true = np.repeat(np.eye(r), 10, axis=0)
            assert round(100 * membership_accuracy(np.zeros_like(H_true), H_true)) == expected

    def test_raw_entries_may_score_below_zero(self):
        assert membership_accuracy([[5.0]], [[1.0]]) == -3

    def test_shapes_must_agree(self):
        with pytest.raises(ValueError, match=r"same shape, got \(4, 2\) and \(4, 3\)"):
            membership_accuracy(np.ones((4, 2)), np.ones((4, 3)))

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            (np.ones(3), r"n x r and not empty, got shape \(3,\)"),
            (np.ones((0, 2)), r"got shape \(0, 2\)"),
            ([["a", "b"]], "dense array of numbers"),
            (csr_array(np.eye(2)), r"\.toarray\(\)"),
            ([[1.0, np.nan]], r"\[0, 1\] is nan"),
            ([[np.inf, 1.0]], r"\[0, 0\] is inf"),
        ],
    )
    def test_bad_input(self, bad, message):
        good = np.ones((1, 2))
        with pytest.raises(ValueError, match=f"H.*{message}"):
            membership_accuracy(bad, good)
        with pytest.raises(ValueError, match=f"H_true.*{message}"):
            membership_accuracy(good, bad)


class TestLabelAccuracy:
    @given(pairs_of_labels)
    def test_is_the_best_matching(self, items):
        labels, truth = zip(*items, strict=True)
        assert label_accuracy(labels, truth) == pytest.approx(
            brute_force_label_accuracy(labels, truth), abs=1e-15
        )

    @pytest.mark.parametrize("rows", [1, 3, 500])
    def test_is_that_of_the_full_table(self, monkeypatch, rows):
        monkeypatch.setattr("odsymnmf.metrics._labels.PART_ROWS", rows)
        rng = np.random.default_rng(0)
        for clusters, classes in [(1, 9), (9, 1), (30, 20), (20, 60), (60, 60)] * 4:
            found, truth = rng.integers(0, clusters, 60), rng.integers(0, classes, 60)
            table = np.zeros((clusters, classes))
            np.add.at(table, (found, truth), 1)
            best = table[linear_sum_assignment(table, maximize=True)].sum() / 60
            assert label_accuracy(found, truth) == pytest.approx(best, abs=1e-12)

    def test_as_many_classes_as_items_take_little_memory(self):
        # The full table would take 75 GB.
        items = np.random.default_rng(0).permutation(100_000)
        assert label_accuracy(items, items[::-1] // 2) == 0.5

    def test_more_clusters_than_classes(self):
        assert label_accuracy([0, 1, 2, 3], ["a", "a", "b", "b"]) == 0.5

    def test_fewer_clusters_than_classes(self):
        assert label_accuracy([7, 7, 7, 7], [0, 1, 1, 2]) == 0.5

    def test_unassigned_is_never_right(self):
        assert label_accuracy([-1, -1, 0], ["a", "a", "b"]) == pytest.approx(1 / 3)
        assert label_accuracy([-1, -1], ["a", "a"]) == 0

    def test_unknown_truth_is_left_out(self):
        assert label_accuracy([0, 0, 1, 1], [5, 5, -1, 5]) == pytest.approx(2 / 3)

    def test_a_known_number_is_not_its_string(self):
        assert label_accuracy([0, 0], [1, "1"]) == 0.5

    @pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pd.Categorical, iter])
    def test_any_sequence(self, kind):
        assert label_accuracy(kind([0, 0, 1, -1]), kind(["x", "x", "y", "y"])) == 0.75

    @pytest.mark.parametrize(
        ("labels", "truth", "message"),
        [
            ([0, 1], [0], "same length, got 2 and 1"),
            ([], [], "no known class among its 0 items"),
            ([0, 1], [-1, -1], "no known class among its 2 items"),
            ([[0], [1]], [0, 1], "labels must be a flat sequence"),
            ([0, 1], np.eye(2), "truth must be a flat sequence"),
            ([0, 1], [0.0, float("nan")], "truth holds nan at place 1; mark it with -1"),
        ],
    )
    def test_bad_input(self, labels, truth, message):
        for function in (label_accuracy, scores):
            with pytest.raises(ValueError, match=message):
                function(labels, truth)


class TestScores:
    @given(pairs_of_labels)
    def test_are_those_of_the_known_items(self, items):
        labels, truth = zip(*items, strict=True)
        known = [(a, str(b)) for a, b in items if b != -1]
        clusters, classes = zip(*known, strict=True)
        got = scores(labels, truth)
        assert list(got) == ["accuracy", "nmi", "ari"]
        assert all(type(value) is float for value in got.values())
        assert got["accuracy"] == label_accuracy(labels, truth)
        assert got["nmi"] == pytest.approx(normalized_mutual_info_score(classes, clusters))
        assert got["ari"] == pytest.approx(adjusted_rand_score(classes, clusters))
