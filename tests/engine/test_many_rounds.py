"""Rounds over sparse memberships: rows against fixed H and D, the same bits in any threads."""

from unittest import mock

import many_oracle as oracle
import numpy as np
from scipy import sparse

from odsymnmf.engine.many.memberships import Memberships, empty_log
from odsymnmf.engine.many.pair_sums import gram
from odsymnmf.engine.many.rounds import round_of
from odsymnmf.engine.many.sweep import SparseL2, exceptions, links
from odsymnmf.kernels import sparse_l1


def rounds(A, H, n_jobs, full_side=0, count=4, share=0.02):
    fit = SparseL2(links(A), Memberships(H), share=share, full_side=full_side)
    fit.refresh()
    for _ in range(3):
        for q in range(count):
            round_of(fit, np.arange(q, len(H), count), n_jobs)
    return fit


def test_threads_change_no_bit():
    A, H, *_ = oracle.problem(21, most=60)
    A = sparse.csr_array(A)
    with mock.patch("odsymnmf.engine.many.rounds.CHUNK", 3):
        one, four = rounds(A, H, 1), rounds(A, H, 4)
    assert np.array_equal(one.H.csr().toarray(), four.H.csr().toarray())
    assert np.array_equal(one.D.value, four.D.value)
    assert one.H.nnz > 0


def test_a_round_solves_each_row_against_the_h_of_its_beginning():
    A, H, *_ = oracle.problem(22, most=40)
    n = len(A)
    weights = np.ones((n, n))
    items = np.arange(0, n, 3)
    fit = SparseL2(links(sparse.csr_array(A)), Memberships(H), share=0.0, cap=None)
    fit.refresh()
    round_of(fit, items)
    expected = H.copy()
    for k in items:
        alone = H.copy()
        for l in range(H.shape[1]):
            alone[k, l] = oracle.best_entry_l2(A, alone, weights, k, l, 0.0, np.inf)
        expected[k] = alone[k]
    np.testing.assert_allclose(fit.H.csr().toarray(), expected, atol=1e-10)
    D, _ = gram(fit.H.csr())
    np.testing.assert_allclose(fit.D.diagonal, D.diagonal, atol=1e-10)
    np.testing.assert_allclose(fit.D.value, D.value, atol=1e-10)


def test_a_round_of_one_item_is_a_step_of_a_sweep():
    A, H, *_ = oracle.problem(23)
    A = sparse.csr_array(A)
    by_rounds = rounds(A, H, 1, full_side=99, count=len(H))
    with mock.patch.object(Memberships, "tidy"):
        by_sweeps = SparseL2(links(A), Memberships(H), share=0.02, full_side=99)
        with mock.patch("odsymnmf.engine.many.sweep.EARLY", -1):
            for _ in range(3):
                by_sweeps.sweep()
    np.testing.assert_allclose(by_rounds.H.csr().toarray(), by_sweeps.H.csr().toarray(), atol=1e-10)


def test_l1_rows_of_a_round_read_h_and_sums_only():
    A, H, *_ = oracle.problem(24, most=40)
    n, r = H.shape
    stored, weights = oracle.arrays(A)
    E = exceptions(weights)
    M = Memberships(H)
    W = M.column_sums()
    state = (W, H.any(axis=1), W.copy(), np.zeros(r), np.full(r, -1))
    before = [s.copy() for s in state]
    items = np.arange(0, n, 2)
    out = empty_log(len(items), 0, n * r, np.float64)
    sparse_l1.rows(items, 0, stored, 1.0, E, M.rows, *state, out, np.inf, r, False)
    assert np.array_equal(M.csr().toarray(), H)
    for was, now in zip(before, state, strict=True):
        assert np.array_equal(was, now)
    expected, weights = H.copy(), np.ones((n, n))
    for k in items:
        alone = H.copy()
        for l in range(r):
            alone[k, l] = oracle.best_entry_l1(A, alone, weights, k, l, np.inf)
        expected[k] = alone[k]
    W, held, _, reach, moved = state
    assert sparse_l1.put_rows(0, items, 0, out, M.rows, W, held, reach, moved)[0] == len(items)
    np.testing.assert_allclose(M.csr().toarray(), expected, atol=1e-10)
    np.testing.assert_allclose(W, expected.sum(axis=0), atol=1e-10)
