from itertools import combinations, permutations
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from odsymnmf.metrics import (
    best_match_f1,
    label_accuracy,
    membership_accuracy,
    omega_index,
    overlapping_nmi,
    scores,
)

entries = st.floats(0, 4, width=32)
shapes = st.tuples(st.integers(1, 6), st.integers(1, 4))
pairs_of_memberships = shapes.flatmap(
    lambda shape: st.tuples(*[arrays(np.float64, shape, elements=entries)] * 2)
)
pairs_of_labels = st.lists(
    st.tuples(st.integers(-1, 4), st.sampled_from(["a", "b", "c", -1])), min_size=1, max_size=12
).filter(lambda items: any(truth != -1 for _, truth in items))
N = 9
covers = st.lists(st.sets(st.integers(0, N - 1), min_size=1), min_size=1, max_size=4).map(
    lambda sets: [sorted(items) for items in sets]
)
COVER_METRICS = [overlapping_nmi, omega_index, best_match_f1]

# The square root halves the digits of the matched squared distances.
ROUNDING = 1e-7


def brute_force_membership_accuracy(H, H_true):
    n, r = H.shape
    return 1 - min(
        np.sqrt(((H[:, list(P)] - H_true) ** 2).sum() / (r * n)) for P in permutations(range(r))
    )


def brute_force_label_accuracy(labels, truth):
    """Try every assignment of classes to clusters; None matches nothing."""
    known = [(a, b) for a, b in zip(labels, truth, strict=True) if b != -1]
    clusters = sorted({a for a, _ in known} - {-1})
    classes = sorted({b for _, b in known})
    matchings = permutations(classes + [None] * len(clusters), len(clusters))
    matchings = [dict(zip(clusters, names, strict=True)) for names in matchings]
    return max(sum(m.get(a) == b for a, b in known) for m in matchings) / len(known)


def entropy(*counts, n):
    return sum(-w * log2(w / n) for w in counts if w)


def brute_force_conditional(X, Y, n):
    total = 0.0
    for x in map(set, X):
        best = entropy(len(x), n - len(x), n=n)
        for y in map(set, Y):
            d, b, c = len(x & y), len(x - y), len(y - x)
            a = n - b - c - d
            if entropy(a, n=n) + entropy(d, n=n) >= entropy(b, n=n) + entropy(c, n=n):
                given = entropy(len(y), n - len(y), n=n)
                best = min(best, entropy(a, b, c, d, n=n) - given)
        total += best
    return total


def brute_force_overlapping_nmi(X, Y, n):
    H = [sum(entropy(len(x), n - len(x), n=n) for x in cover) for cover in (X, Y)]
    if max(H) == 0:
        return 1.0
    conditional = [brute_force_conditional(X, Y, n), brute_force_conditional(Y, X, n)]
    return (sum(H) - sum(conditional)) / 2 / max(H)


def brute_force_omega(X, Y, n):
    times = [
        [sum(i in s and j in s for s in cover) for i, j in combinations(range(n), 2)]
        for cover in (X, Y)
    ]
    pairs = len(times[0])
    observed = sum(a == b for a, b in zip(*times, strict=True)) / pairs
    chance = sum(times[0].count(t) * times[1].count(t) for t in range(10)) / pairs**2
    return 1.0 if chance == 1 else (observed - chance) / (1 - chance)


def brute_force_f1(X, Y):
    def one_way(A, B):
        return np.mean([max(2 * len({*a} & {*b}) / (len(a) + len(b)) for b in B) for a in A])

    return (one_way(X, Y) + one_way(Y, X)) / 2


@given(pairs_of_memberships)
def test_membership_accuracy_matches_brute_force(memberships):
    H, H_true = memberships
    expected = brute_force_membership_accuracy(H, H_true)
    assert membership_accuracy(H, H_true) == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.ones(3), "2D array"),
        (np.ones((0, 2)), r"shape=\(0, 2\)"),
        (csr_array(np.eye(2)), "dense"),
        ([[1.0, np.nan]], "H_true contains NaN"),
    ],
)
def test_bad_input_of_membership_accuracy(bad, message):
    with pytest.raises((TypeError, ValueError), match=message):
        membership_accuracy(np.ones((1, 2)), bad)


@given(pairs_of_labels)
def test_label_accuracy_matches_brute_force(items):
    labels, truth = zip(*items, strict=True)
    assert label_accuracy(labels, truth) == pytest.approx(
        brute_force_label_accuracy(labels, truth), abs=1e-15
    )


@pytest.mark.parametrize(
    ("labels", "truth", "message"),
    [
        ([0, 1], [0], "same length, got 2 and 1"),
        ([], [], "no known class among its 0 items"),
        ([0, 1], [-1, -1], "no known class among its 2 items"),
        ([[0], [1]], [0, 1], r"labels\[0\] is \[0\]; pass one label per item"),
        ([0, 1], [0.0, float("nan")], r"truth\[1\] is nan; .* mark unknown items with -1"),
    ],
)
def test_bad_input_of_label_accuracy(labels, truth, message):
    for function in (label_accuracy, scores):
        with pytest.raises(ValueError, match=message):
            function(labels, truth)


@given(pairs_of_labels)
def test_scores_leave_out_unknown_items(items):
    labels, truth = zip(*items, strict=True)
    known = [(a, str(b)) for a, b in items if b != -1]
    clusters, classes = zip(*known, strict=True)
    got = scores(labels, truth)
    assert all(type(value) is float for value in got.values())
    assert got == {
        "accuracy": label_accuracy(labels, truth),
        "nmi": pytest.approx(normalized_mutual_info_score(classes, clusters)),
        "ari": pytest.approx(adjusted_rand_score(classes, clusters)),
    }


@given(covers, covers, st.integers(N, 2 * N))
def test_cover_metrics_matches_brute_force(X, Y, n):
    nmi = brute_force_overlapping_nmi(X, Y, n)
    assert overlapping_nmi(X, Y, n) == pytest.approx(nmi, abs=1e-9)
    assert omega_index(X, Y, n) == pytest.approx(brute_force_omega(X, Y, n), abs=1e-12)
    assert best_match_f1(X, Y) == pytest.approx(brute_force_f1(X, Y), abs=1e-12)


def test_large_disjoint_sets_are_informative():
    X, Y = [list(range(69))], [[69]]
    nmi = brute_force_overlapping_nmi(X, Y, 100)
    assert overlapping_nmi(X, Y, 100) == pytest.approx(nmi)
    assert nmi > 0.01


def test_empty_sets_repeated_items_and_names_change_nothing():
    X, Y = [[0, 1, 2], [3, 4]], [[0, 1], [2, 3, 4]]
    named = [["abcde"[i] for i in items] for items in X], [["a", "b"], ["c", "d", "e"]]
    for metric in COVER_METRICS:
        assert metric([*X, []], [[0, 1, 1, 0], [2, 3, 4], []]) == metric(X, Y) == metric(*named)


@pytest.mark.parametrize(
    ("cover", "message"),
    [
        ([[]], "cover has only empty sets"),
        ([[0.5, 1.0]], r"cover\[0\] must be a flat array of items"),
        ([0, 1], r"cover\[0\] must be a flat array"),
        ([["a"]], "cover and truth mix numbers and names"),
        ([[0], ["a"]], "cover and truth mix numbers and names"),
    ],
)
def test_bad_input_of_cover_metrics(cover, message):
    for metric in COVER_METRICS:
        with pytest.raises(ValueError, match=message):
            metric(cover, [[0, 1]])
    for metric in (overlapping_nmi, omega_index):
        with pytest.raises(ValueError, match=r"n, the number of items, must be .* >= 3; got 2"):
            metric([[0, 1]], [[1, 7]], n=2)
