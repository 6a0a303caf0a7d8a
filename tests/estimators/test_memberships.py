"""Reading H, against sums over all pairs written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import odsymnmf as od
from odsymnmf import memberships
from odsymnmf.memberships import (
    canonical_order,
    labels,
    overlapping_sets,
    strength,
    supporting_pairs,
)
from odsymnmf.similarity import as_similarity, cosine

KINDS = ["dense", "sparse", "gram"]


def problem(kind="dense", n=20, r=4, seed=0):
    """Return A as input, A as an array with a zero diagonal, and some H."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(size=(n, 6)) * (rng.uniform(size=(n, 6)) < 0.5)
    A = cosine(X).product(np.eye(n))
    A = (A + A.T) / 2
    H = 0.6 * rng.uniform(size=(n, r)) * (rng.uniform(size=(n, r)) < 0.6)
    if kind == "gram":
        return cosine(X), A, H
    A = A * (A > 0.4)
    if kind == "sparse":
        return sparse.csr_array(A + 3 * np.eye(n)), A, H
    noisy = A.copy()
    np.fill_diagonal(noisy, np.nan)
    return noisy, A, H


def cost_of_item(A, H, i, p):
    terms = np.abs(A[i] - H @ H[i]) ** p
    return terms.sum() - terms[i]


def test_every_public_function_has_an_example():
    for name in memberships.__all__:
        assert ">>>" in getattr(memberships, name).__doc__, name


def test_labels():
    assert_array_equal(labels([[0, 0], [0, 2], [3, 2], [1, 1]]), [-1, 1, 0, 0])
    with pytest.raises(ValueError, match=r"H must have shape \(n, r\)"):
        labels([1, 2])


def test_canonical_order_survives_shuffling_and_rounding():
    rng = np.random.RandomState(0)
    H = np.kron(np.eye(4), np.ones((5, 1)))  # equal totals: the earliest items decide
    H[-1, 3] = 2.0
    assert_array_equal(canonical_order(H), [3, 0, 1, 2])
    for _ in range(5):
        shuffled = (H * (1 + 1e-9 * rng.uniform(size=H.shape)))[:, rng.permutation(4)]
        assert_allclose(shuffled[:, canonical_order(shuffled)], H[:, [3, 0, 1, 2]], rtol=1e-8)


def test_canonical_order_of_nothing():
    assert_array_equal(canonical_order(np.zeros((3, 2))), [0, 1])


def test_strength_is_a_share_of_the_explained_similarity():
    _, _, H = problem()
    H[3] = 0
    P = np.einsum("il,jl->ijl", H, H)
    P[np.arange(20), np.arange(20)] = 0
    parts = P.sum(axis=1)
    shares = strength(H)
    assert_allclose(shares * parts.sum(axis=1, keepdims=True), parts, atol=1e-12)
    assert_array_equal(shares[3], 0)
    assert_allclose(np.delete(shares, 3, axis=0).sum(axis=1), 1)
    assert_allclose(strength(7 * H), shares)


def test_fixed_thresholds():
    H = np.array([[1.0, 0.5, 0.0], [0.1, 0.0, 0.2], [0.0, 0.0, 0.0]])
    for threshold, expected in ((None, [[0, 1], [0], [1]]), (0.51, [[0], [], [1]])):
        sets = overlapping_sets(H, threshold, rule="row")
        assert [s.tolist() for s in sets] == expected
    assert [s.tolist() for s in overlapping_sets(H, 0)] == [[0, 1], [0], [1]]
    assert [s.tolist() for s in overlapping_sets(H)] == [[0, 1], [], []]  # alone in a cluster
    sets = overlapping_sets(H, 0.2, rule="column")
    assert [s.tolist() for s in sets] == [[0], [0], [1]]
    assert [s.tolist() for s in overlapping_sets(np.array([[1.0], [3.0], [2.0]]))] == [[1, 2, 0]]


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("kind", KINDS)
def test_harm_is_what_the_objective_would_say(kind, loss):
    given, A, H = problem(kind)
    p = 2 if loss == "l2" else 1
    harm = np.zeros_like(H)
    for i, l in np.argwhere(H > 0):
        dropped = H.copy()
        dropped[i, l] = 0
        rise = cost_of_item(A, dropped, i, p) - cost_of_item(A, H, i, p)
        harm[i, l] = rise / (np.abs(A[i]) ** p).sum()
    # Just below and just above what each membership is worth.
    for worth in np.sort(harm[harm > 0])[::5]:
        for tolerance in (worth * (1 - 1e-9), worth * (1 + 1e-9)):
            sets = overlapping_sets(H, tolerance, rule="harm", A=given, loss=loss)
            for l in range(H.shape[1]):
                assert set(sets[l]) == set(np.flatnonzero(harm[:, l] > tolerance))
    assert (harm < 0).any()


def test_harm_finds_the_overlap_of_two_cliques():
    H = np.zeros((9, 2))
    H[:5, 0] = H[4:, 1] = 1
    A = np.minimum(H @ H.T, 1)
    f = od.factorize(A, 2, loss="l1")
    sets = overlapping_sets(f.H, rule="harm", A=A, loss="l1")
    assert {frozenset(s.tolist()) for s in sets} == {frozenset(range(5)), frozenset(range(4, 9))}


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("kind", KINDS)
def test_supporting_pairs(kind, loss):
    given, A, H = problem(kind)
    p = 2 if loss == "l2" else 1
    for i, l in [(0, 0), (5, 2), (19, 3)]:
        dropped = H.copy()
        dropped[i, l] = 0
        support = np.abs(A[i] - dropped @ dropped[i]) ** p - np.abs(A[i] - H @ H[i]) ** p
        support[i] = 0
        items, found = supporting_pairs(H, given, i, l, loss=loss)
        assert set(items) == set(np.flatnonzero(support > 0))
        assert_allclose(found, support[items], atol=1e-12)
        assert (np.diff(found) <= 0).all()


def test_who_holds_valjean():
    A, names = od.datasets.les_miserables()
    f = od.factorize(A, 6, max_iter=2000)
    i = names.index("Valjean")
    l = labels(f.H)[i]
    items, support = supporting_pairs(f.H, A, i, l)
    linked = set(as_similarity(A).A[[i]].indices)
    assert set(items[:3]) <= linked
    assert support[0] > 0


def test_errors():
    H = np.ones((3, 2))
    with pytest.raises(ValueError, match="pass A"):
        overlapping_sets(H, rule="harm")
    with pytest.raises(ValueError, match="rule='otsu' is not known"):
        overlapping_sets(H, rule="otsu")
    with pytest.raises(ValueError, match="from 0 to 1"):
        overlapping_sets(H, 1.5)
    with pytest.raises(ValueError, match="A is of 2 items, but H has 3 rows"):
        supporting_pairs(H, np.eye(2), 0, 0)
    with pytest.raises(ValueError, match=r"item must be .* got 'Ann'.*\.index\('Ann'\)"):
        supporting_pairs(H, np.eye(3), "Ann", 0)
    with pytest.raises(ValueError, match="loss='l3' is not known"):
        supporting_pairs(H, np.eye(3), 0, 0, loss="l3")
    with pytest.raises(ValueError, match="item=3 does not exist; H has 3"):
        supporting_pairs(H, np.eye(3), 3, 0)
    with pytest.raises(ValueError, match="cluster=-1 does not exist"):
        supporting_pairs(H, np.eye(3), 0, -1)
