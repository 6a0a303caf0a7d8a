from itertools import combinations
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from odsymnmf.metrics import _covers, best_match_f1, omega_index, overlapping_nmi

N = 9
covers = st.lists(st.sets(st.integers(0, N - 1), min_size=1), min_size=1, max_size=4).map(
    lambda sets: [sorted(items) for items in sets]
)


def entropy(*counts, n):
    return sum(-w * log2(w / n) for w in counts if w)


def slow_conditional(X, Y, n):
    total = 0.0
    for x in map(set, X):
        best = entropy(len(x), n - len(x), n=n)
        for y in map(set, Y):
            d, b, c = len(x & y), len(x - y), len(y - x)
            a = n - b - c - d
            if entropy(a, n=n) + entropy(d, n=n) >= entropy(b, n=n) + entropy(c, n=n):
                own = entropy(len(y), n - len(y), n=n)
                best = min(best, entropy(a, b, c, d, n=n) - own)
        total += best
    return total


def slow_overlapping_nmi(X, Y, n):
    H = [sum(entropy(len(x), n - len(x), n=n) for x in cover) for cover in (X, Y)]
    if max(H) == 0:
        return 1.0
    left = [slow_conditional(X, Y, n), slow_conditional(Y, X, n)]
    return (sum(H) - sum(left)) / 2 / max(H)


def slow_omega(X, Y, n):
    times = [
        [sum(i in s and j in s for s in cover) for i, j in combinations(range(n), 2)]
        for cover in (X, Y)
    ]
    pairs = len(times[0])
    observed = sum(a == b for a, b in zip(*times, strict=True)) / pairs
    chance = sum(times[0].count(t) * times[1].count(t) for t in range(10)) / pairs**2
    return 1.0 if chance == 1 else (observed - chance) / (1 - chance)


def slow_f1(X, Y):
    def one_way(A, B):
        return np.mean([max(2 * len({*a} & {*b}) / (len(a) + len(b)) for b in B) for a in A])

    return (one_way(X, Y) + one_way(Y, X)) / 2


@given(covers, covers, st.integers(N, 2 * N))
def test_same_as_the_definitions(X, Y, n):
    assert overlapping_nmi(X, Y, n) == pytest.approx(slow_overlapping_nmi(X, Y, n), abs=1e-9)
    assert omega_index(X, Y, n) == pytest.approx(slow_omega(X, Y, n), abs=1e-12)
    assert best_match_f1(X, Y) == pytest.approx(slow_f1(X, Y), abs=1e-12)


def test_large_sets_without_common_items_tell_something():
    X, Y = [list(range(69))], [[69]]
    assert overlapping_nmi(X, Y, 100) == pytest.approx(slow_overlapping_nmi(X, Y, 100))
    assert overlapping_nmi(X, Y, 100) > 0.01


@given(covers)
def test_the_same_cover_in_any_order(X):
    Y = [items[::-1] for items in X[::-1]]
    for metric in (overlapping_nmi, omega_index, best_match_f1):
        assert metric(X, Y) == pytest.approx(1.0)


def test_omega_of_partitions_is_the_adjusted_rand_index(monkeypatch):
    monkeypatch.setattr(_covers, "BLOCK", 500)  # several blocks
    rng = np.random.default_rng(0)
    labels = rng.integers(5, size=(2, 200))
    X, Y = ([np.flatnonzero(z == l) for l in range(5)] for z in labels)
    assert omega_index(X, Y) == pytest.approx(adjusted_rand_score(*labels))


def test_empty_sets_and_repeated_items_do_not_count():
    X, Y = [[0, 1, 2], [3, 4]], [[0, 1], [2, 3, 4]]
    for metric in (overlapping_nmi, omega_index, best_match_f1):
        assert metric([*X, []], [[0, 1, 1, 0], [2, 3, 4], []]) == metric(X, Y)


def test_items_may_be_named():
    X, Y = [["ann", "bob"], ["bob", "cy"]], [["bob", "cy"], ["ann", "cy"]]
    numbers = {"ann": 0, "bob": 1, "cy": 2}
    A, B = ([[numbers[name] for name in items] for items in cover] for cover in (X, Y))
    for metric in (overlapping_nmi, omega_index, best_match_f1):
        assert metric(X, Y) == metric(A, B)


def test_many_items_in_many_sets():
    rng = np.random.default_rng(0)
    n, groups = 100_000, 20_000
    own = rng.permutation(n).reshape(groups, -1)
    X = [np.concatenate([own[g], rng.integers(n, size=3)]) for g in range(groups)]
    Y = [items[1:] for items in X]
    assert 0.7 < overlapping_nmi(X, Y, n) < 0.95
    assert 0.7 < omega_index(X, Y, n) < 0.95
    assert 0.9 < best_match_f1(X, Y) < 0.95


@pytest.mark.parametrize("metric", [overlapping_nmi, omega_index, best_match_f1])
@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([], "found has only empty sets"),
        ([[]], "found has only empty sets"),
        ([[0.5, 1.0]], r"found\[0\] must be a flat array of items"),
        ([0, 1], r"found\[0\] must be a flat array"),
        ([["a"]], "name them alike"),
        ([[0], ["a"]], "found names some items by number"),
    ],
)
def test_what_is_not_a_cover(metric, found, words):
    with pytest.raises(ValueError, match=words):
        metric(found, [[0, 1]])


def test_too_few_items():
    for metric in (overlapping_nmi, omega_index):
        with pytest.raises(ValueError, match="the sets hold 3 items"):
            metric([[0, 1]], [[1, 7]], n=2)
