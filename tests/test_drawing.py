"""Memberships read by their non-zeros, beside the functions of `memberships` on full arrays."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from odsymnmf import memberships
from odsymnmf.drawing import as_members
from odsymnmf.drawing.pies import slices


def memberships_of(n, r, seed):
    rng = np.random.default_rng(seed)
    # Few values, so that some are equal.
    return rng.integers(0, 5, (n, r)) / 4 * (rng.random((n, r)) < 0.6)


@given(n=st.integers(1, 12), r=st.integers(1, 6), seed=st.integers(0, 10**6), single=st.booleans())
def test_members_are_those_of_the_full_array(n, r, seed, single):
    H = memberships_of(n, r, seed).astype(np.float32 if single else np.float64)
    for kind in (H, sparse.csr_array(H), sparse.coo_matrix(H)):
        members = as_members(kind)
        np.testing.assert_array_equal(members.label, memberships.labels(H))
        strength = memberships.strength(H)
        np.testing.assert_allclose(strength[members.rows, members.H.indices], members.strength)
        own = np.where(members.label < 0, 0, strength[np.arange(n), members.label])
        np.testing.assert_allclose(members.own, own)
        sets = memberships.overlapping_sets(H)
        assert [a.tolist() for a in members.sets()] == [a.tolist() for a in sets]
        explained = [np.sum(np.outer(h, h)) - h @ h for h in H.T.astype(float)]
        np.testing.assert_allclose(members.explained, explained, atol=1e-9)
        assert members.order.tolist() == sorted(
            range(n), key=lambda i: (members.label[i] if members.label[i] >= 0 else r, -H[i].max())
        )


@given(n=st.integers(1, 12), r=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_slices_make_a_whole(n, r, seed):
    H = memberships_of(n, r, seed)
    members = as_members(H)
    for item in range(n):
        parts = slices(members, item)
        assert bool(parts) == H[item].any()
        if parts:
            assert parts[0][0] == members.label[item]
            assert parts[0][2] == 0
            assert parts[-1][3] == pytest.approx(1)
            assert all(a[3] == b[2] for a, b in pairwise(parts))


def test_what_was_given_is_left_as_it_is():
    H = sparse.csr_array(
        (np.array([0.0, 1.0, 2.0]), np.array([1, 0, 0]), np.array([0, 1, 3])), shape=(2, 2)
    )
    members = as_members(H)
    assert members.H.toarray().tolist() == [[0, 0], [3, 0]]
    assert H.data.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"H must have shape .*got \(0, 3\)"):
        as_members(sparse.csr_array((0, 3)))
