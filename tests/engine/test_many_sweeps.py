"""Sweeps over sparse memberships: the definition, full storage, and what must never happen."""

import os
from unittest import mock

import many_oracle as oracle
import numpy as np
import pytest
from scipy import sparse

from odsymnmf.engine.losses import make_loss
from odsymnmf.engine.many.l1 import SparseL1
from odsymnmf.engine.many.memberships import Memberships
from odsymnmf.engine.many.pair_sums import gram
from odsymnmf.engine.many.sweep import SparseL2, links
from odsymnmf.kernels import sparse_objective
from odsymnmf.problem import as_similarity

# All of them: ODSYMNMF_FULL=1
PROBLEMS = 5000 if os.environ.get("ODSYMNMF_FULL") else 250


def made(seed, loss, **options):
    A, H, background, own, weights, upper = oracle.problem(seed)
    stored, E = oracle.arrays(A, background, own)
    kind = SparseL1 if loss == "l1" else SparseL2
    return A, H, weights, upper, kind(stored, Memberships(H), E, upper=upper, **options)


@pytest.fixture(autouse=True)
def _no_tidying():
    """Tidying would hide what a sweep does; it has tests of its own."""
    with mock.patch.object(Memberships, "tidy"):
        yield


def test_l2_sweeps_follow_the_definition_with_price_weights_and_bound():
    for seed in range(PROBLEMS):
        share = [0.0, 0.03, 0.3][seed % 3]
        A, H, weights, upper, ours = made(
            seed, "l2", share=share, cap=None, full_side=[0, 99][seed % 2]
        )
        prices = oracle.sweep(A, H, weights, "l2", share=share, upper=upper)
        ours.sweep()
        np.testing.assert_allclose(ours.H.csr().toarray(), H, atol=1e-9, err_msg=f"seed {seed}")
        np.testing.assert_allclose(ours.price, prices, rtol=1e-9, atol=1e-12)


def test_l1_sweeps_follow_the_definition_with_weights_and_bound():
    for seed in range(PROBLEMS):
        A, H, weights, upper, ours = made(seed, "l1", cap=None)
        before = oracle.objective(A, H, weights, 1)
        oracle.sweep(A, H, weights, "l1", upper=upper)
        swept = ours.sweep()
        after = oracle.objective(A, ours.H.csr().toarray(), weights, 1)
        # Ties may be broken by rounding, and then the ways part: the value is what counts.
        assert abs(before - after - swept.decrease) <= 1e-10 * (1 + before), f"seed {seed}"
        if not np.allclose(ours.H.csr().toarray(), H, atol=1e-9):
            assert after <= before + 1e-12 * before, f"seed {seed}"


def test_l1_entries_are_minimisers_by_the_definition():
    """No tie in continuous data: the first sweep is the oracle's, entry by entry."""
    same = 0
    for seed in range(100):
        A, H, weights, upper, ours = made(seed, "l1", cap=None)
        oracle.sweep(A, H, weights, "l1", upper=upper)
        ours.sweep()
        same += np.allclose(ours.H.csr().toarray(), H, atol=1e-9)
    assert same >= 95


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_the_objective_with_its_price_never_rises(loss):
    for seed in range(PROBLEMS):
        options = {"cap": [3, 64][seed % 2]}
        if loss == "l2":
            options |= {"share": [0.0, 0.03, 0.2][seed % 3], "full_side": [0, 99][seed % 2]}
        A, H, weights, _, ours = made(seed, loss, **options)
        p = 1 if loss == "l1" else 2
        energy = 1e-10 * (1 + oracle.objective(A, 0 * H, weights, p))
        f = oracle.objective(A, H, weights, p)
        for number in range(6):
            counts = np.diff(ours.H.csr().indptr)
            swept = ours.sweep()
            new = ours.H.csr()
            # What is explained at unknown pairs comes and goes in sums over all pairs.
            scale = energy + 1e-13 * oracle.objective(0 * A, new.toarray(), 1.0, p)
            g = oracle.objective(A, new.toarray(), weights, p)
            assert abs(ours.objective() - g) <= scale, f"seed {seed}"
            assert abs(f - g - swept.decrease) <= scale, f"seed {seed}"
            price = np.zeros(len(A)) if loss == "l1" else ours.price
            paid = float(price @ (np.diff(new.indptr) - counts))
            assert abs(f - g - paid - swept.priced) <= scale, f"seed {seed}, sweep {number}"
            assert swept.priced >= -scale, f"seed {seed}, sweep {number}"
            f = g


def full_sweep(A, H, upper):
    loss = make_loss("l1", as_similarity(A), upper)
    loss.sweep(H, loss.sums(H), np.arange(len(H)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_l1_gives_the_bits_of_full_storage(dtype):
    for seed in range(PROBLEMS):
        A, H, *_, upper = oracle.problem(seed, most=60)
        if seed % 5 == 0:  # sums that cancel
            rng = np.random.default_rng(seed)
            H = np.where(H > 0, 10.0 ** rng.integers(-6, 4, H.shape), 0.0)
        A, H = sparse.csr_array(A.astype(dtype)), np.minimum(H, upper).astype(dtype)
        ours = SparseL1(links(A), Memberships(H, dtype), upper=upper, cap=None)
        for _ in range(8):
            full_sweep(A, H, upper)
            ours.sweep()
            assert np.array_equal(ours.H.csr().toarray(), H), f"seed {seed}"


def test_l2_without_a_price_is_full_storage_from_label_starts():
    rng = np.random.default_rng(3)
    for n, r, full_side in [(60, 6, 0), (60, 6, 99), (300, 15, 0), (300, 40, 99), (50, 30, 0)]:
        A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 12 / n), 1)
        A = sparse.csr_array(A + A.T)
        H = np.zeros((n, r))
        H[np.arange(n), rng.integers(r, size=n)] = 0.5 + 0.2 * rng.random(n)
        ours = SparseL2(links(A), Memberships(H), share=0.0, cap=None, full_side=full_side)
        theirs = make_loss("l2", as_similarity(A), np.inf)
        sums = theirs.sums(H)
        for _ in range(10):
            theirs.sweep(H, sums, np.arange(n))
            ours.sweep()
        assert np.abs(ours.H.csr().toarray() - H).max() <= 1e-10
        assert ours.objective() == pytest.approx(theirs.objective(H), rel=1e-12)


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_nothing_on_the_diagonal_or_at_unknown_pairs_is_read(loss):
    A, H, *_ = oracle.problem(4)
    n = len(A)
    unknown = np.triu(np.random.default_rng(0).random((n, n)) < 0.3, 1)
    i, j = np.nonzero(unknown | unknown.T)
    own = sparse.csr_array((np.zeros(len(i)), (i, j)), shape=(n, n))
    found = []
    for fill in (0.0, 1e6):
        B = A.copy()
        B[i, j] = fill
        B = sparse.csr_array(B) if fill else sparse.csr_array(B + np.diag(np.full(n, np.nan)))
        stored = links(B)
        kind = SparseL1 if loss == "l1" else SparseL2
        ours = kind(stored, Memberships(H), oracle.pair_weights(stored, 1.0, own))
        for _ in range(5):
            ours.sweep()
        found.append(ours.H.csr().toarray())
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    assert found[0].any()


def test_the_table_of_pairs_is_the_gram_matrix_after_sweeps():
    A, H, *_ = oracle.problem(11)
    ours = SparseL2(links(sparse.csr_array(A)), Memberships(H), share=0.01, full_side=0)
    for _ in range(5):
        ours.sweep()
    D, _ = gram(ours.H.csr(), full_side=99)
    dense = ours.H.csr().toarray()
    np.testing.assert_allclose(D.diagonal, np.diag(dense.T @ dense))
    for key, value in zip(ours.D.key, ours.D.value, strict=True):
        if key >= 0:
            l, t = int(key) >> 32, int(key) & 0xFFFFFFFF
            assert value == pytest.approx(dense[:, l] @ dense[:, t], abs=1e-12)
            assert value == pytest.approx(D.value[l * H.shape[1] + t], abs=1e-12)


def test_a_hub_has_no_more_memberships_than_the_cap():
    groups, size = 60, 6
    n = groups * size + 1
    labels = np.arange(n - 1) // size
    A = np.zeros((n, n))
    A[:-1, :-1] = labels[:, None] == labels
    A[-1, :] = A[:, -1] = 1.0
    H = np.zeros((n, groups))
    H[np.arange(n - 1), labels] = 1.0
    stored = links(sparse.csr_array(A))
    for loss in (SparseL2(stored, Memberships(H), cap=7), SparseL1(stored, Memberships(H), cap=7)):
        loss.sweep()
        assert np.diff(loss.H.csr().indptr)[-1] == 7
    free = SparseL2(stored, Memberships(H), cap=None, share=0.0)
    free.sweep()
    assert np.diff(free.H.csr().indptr)[-1] > 7


def test_progress_is_told_the_rows_and_may_interrupt():
    A, H, *_ = oracle.problem(5)
    ours = SparseL2(links(sparse.csr_array(A)), Memberships(H))
    told = []
    with mock.patch("odsymnmf.engine.many.sweep.BLOCK", 4):
        ours.sweep(told.append)
        assert told == [*range(4, len(A), 4), len(A)]
        with pytest.raises(KeyboardInterrupt):
            ours.sweep(mock.Mock(side_effect=KeyboardInterrupt))


def test_blocks_change_no_bit():
    A, H, *_ = oracle.problem(12)
    stored = links(sparse.csr_array(A))
    for kind in (SparseL1, SparseL2):
        found = []
        for block in (1, 5, 1000):
            with mock.patch("odsymnmf.engine.many.sweep.BLOCK", block):
                ours = kind(stored, Memberships(H))
                for _ in range(4):
                    ours.sweep()
            found.append(ours.H.csr().toarray())
        assert np.array_equal(found[0], found[1])
        assert np.array_equal(found[0], found[2])


def test_the_sum_of_all_entries_of_h_gram():
    rng = np.random.default_rng(3)
    H = rng.random((30, 7)) * (rng.random((30, 7)) < 0.3)
    M = Memberships(H)
    M.compact()
    assert np.array_equal(M.csr().toarray(), H)
    assert sparse_objective.sum_of_products(M.rows) == pytest.approx((H @ (H.T @ H)).sum())
