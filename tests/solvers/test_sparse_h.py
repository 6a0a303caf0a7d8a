"""Starts for many clusters, mergers, the way from a graph to sets, and the log of memberships."""

import numpy as np
from scipy import sparse

from odsymnmf import factorize
from odsymnmf.init import ego
from odsymnmf.init.arrays import sets_from_labels
from odsymnmf.init.merging import merge_sets
from odsymnmf.solvers.sparse_h import column_sets, links


def groups(count=12, size=15, inside=0.7, outside=0.01, seed=0):
    rng = np.random.default_rng(seed)
    n = count * size
    labels = rng.permutation(np.arange(n) // size)
    P = np.where(labels[:, None] == labels, inside, outside)
    A = np.triu(rng.random((n, n)) < P, 1)
    return sparse.csr_array((A + A.T).astype(float)), labels


def clusters(A, loss="l2"):
    """Return H of a sparse fit that finds the number of clusters."""
    return factorize(A, "auto", loss=loss, sparse_membership=True).H


def recovered(sets, labels):
    known = {frozenset(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)}
    grown = [set(s.tolist()) for s in sets]
    best = [max(2 * len(k & f) / (len(k) + len(f)) for f in grown) for k in known]
    return float(np.mean(best))


def test_common_neighbors_are_counted(monkeypatch):
    A, _ = groups()
    stored = links(A)
    expected = ego.ego_networks(stored)
    monkeypatch.setattr(ego, "BLOCK_ITEMS", 50)
    counts = ego.common_neighbors(stored)
    rows = np.repeat(np.arange(A.shape[0]), np.diff(stored.indptr))
    assert np.array_equal(counts, (A @ A).toarray()[rows, stored.indices])
    for one, other in zip(ego.ego_networks(stored), expected, strict=True):
        assert np.array_equal(one, other)


def test_where_half_of_the_links_leave():
    A, labels = groups(count=60, size=20, inside=0.5, outside=0.5 / 60)
    inside = (np.repeat(labels, np.diff(A.indptr)) == labels[A.indices]).mean()
    assert 0.4 < inside < 0.55
    H = clusters(A)
    assert abs(H.shape[1] - 60) <= 3
    assert recovered(column_sets(H, 0.2, 3), labels) > 0.93


def test_a_hub_is_no_seed_and_joins_in_the_sweeps():
    A, _ = groups(count=40, size=10, outside=0.0)
    n = A.shape[0]
    full = np.zeros((n + 1, n + 1))
    full[:n, :n] = A.toarray()
    full[n, :n] = full[:n, n] = 1.0
    hub = sparse.csr_array(full)
    sets = ego.ego_networks(links(hub))
    assert len(sets) == 40
    assert not any(n in s for s in sets)
    H = clusters(hub)
    assert H.shape[1] == 40
    assert 1 <= np.diff(H.indptr)[n] <= 64


def test_parts_of_a_group_are_merged_and_groups_are_not():
    A, labels = groups(seed=3)
    planted = sets_from_labels(labels)
    parts = [piece for s in planted for piece in (s[: len(s) // 2], s[len(s) // 2 :])]
    merged = merge_sets(links(A), parts)
    assert sorted(s.tolist() for s in merged) == [s.tolist() for s in sorted(planted, key=min)]
    again = merge_sets(links(A), planted)
    assert sorted(s.tolist() for s in again) == sorted(s.tolist() for s in planted)
    assert len(merge_sets(links(A), [planted[0], planted[0], planted[1]])) == 2


def test_memberships_of_sets_have_the_root_of_the_density():
    A, labels = groups()
    sets = sets_from_labels(labels)
    H = ego.memberships_of(links(A), sets)
    dense = A.toarray()
    for c, s in enumerate(sets):
        density = dense[np.ix_(s, s)].sum() / (len(s) * (len(s) - 1))
        np.testing.assert_allclose(H.toarray()[s, c], np.sqrt(density))
