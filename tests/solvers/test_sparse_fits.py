"""Fits with sparse memberships: the same problem, the same rules, never n x r."""

import tracemalloc
import warnings
from unittest import mock

import numpy as np
import pytest
from problems import naive_objective, quiet
from scipy import sparse

import odsymnmf as od
from odsymnmf.defaults import stores_sparse
from odsymnmf.fit import FitOptions, InterruptedWarning
from odsymnmf.similarity import as_similarity
from odsymnmf.solvers import losses
from odsymnmf.solvers.sparse_losses import SPARSE_LOSSES


def cliques(count=4, size=6, dtype=np.float64):
    return sparse.csr_array(np.kron(np.eye(count), np.ones((size, size))).astype(dtype))


def noisy(seed=0, count=8, size=12, dtype=np.float64):
    """Groups with most of their links, some links between them, and items in two groups."""
    rng = np.random.default_rng(seed)
    n = count * size
    group = np.arange(n) // size
    chance = np.where(group[:, None] == group, 0.8, 0.02)
    shared = np.arange(0, n, size)
    chance[shared] = np.maximum(chance[shared], 0.8 * ((group[shared, None] + 1) % count == group))
    A = np.triu(rng.random((n, n)) < np.maximum(chance, chance.T), 1)
    return sparse.csr_array((A + A.T).astype(dtype)), group


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_number_of_clusters_is_found(loss, dtype):
    f = od.factorize(cliques(dtype=dtype), "auto", loss=loss)
    assert isinstance(f.H, sparse.csr_array)
    assert f.H.dtype == dtype
    assert f.H.shape == (24, 4)
    assert f.objective == pytest.approx(0.0, abs=1e-6)
    assert f.converged


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_objective_and_history_are_those_of_the_definition(loss, weighted):
    A, _ = noisy()
    n, W, w0, weights = A.shape[0], None, 1.0, np.ones(A.shape)
    if weighted:
        w0 = 0.4
        rng = np.random.default_rng(1)
        i, j = np.triu_indices(n, 1)
        listed = rng.random(len(i)) < 0.1
        i, j, w = i[listed], j[listed], rng.choice([0.0, 0.5, 2.0], listed.sum())
        W = sparse.csr_array((np.r_[w, w], (np.r_[i, j], np.r_[j, i])), shape=(n, n))
        weights = np.where(A.toarray() > 0, 1.0, w0)
        weights[i, j] = weights[j, i] = w
    options = {"loss": loss, "weights": W, "zero_weight": w0}
    f = od.factorize(A, "auto", **options)
    expected = naive_objective(A.toarray(), f.H.toarray(), loss, W=weights)
    assert f.objective == pytest.approx(expected, rel=1e-10)
    H = sparse.csr_array(np.ones(f.H.shape))
    H.data = f.H.toarray().ravel()  # zeros are stored, and remain
    assert od.objective(A, H, **options) == pytest.approx(expected, rel=1e-10)
    assert H.nnz == H.shape[0] * H.shape[1]
    assert len(f.history) == 1 + f.n_iter
    assert (np.diff(f.history) <= 1e-9 * f.history[0]).all()
    assert f.H.max() <= 1.0 or loss == "l1"
    if loss == "l1":
        assert f.history[-1] == pytest.approx(f.objective)
    else:
        assert f.history[-1] > f.objective  # the price of the memberships


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_l1_is_full_storage_from_the_same_start(dtype):
    A, group = noisy(3, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (
            od.factorize(A, 8, loss="l1", init=group, restarts=0, sparse_membership=m, max_iter=6)
            for m in (True, False)
        )
    assert (sparse.issparse(ours.H), sparse.issparse(theirs.H)) == (True, False)
    # Items are swept in the order of their groups, which is their own order here.
    assert np.array_equal(ours.H.toarray(), theirs.H)
    assert ours.history == pytest.approx(theirs.history, rel=1e-6)


def test_the_order_of_items_in_a_sweep_does_not_show():
    A, group = noisy(4)

    def fitted(order):
        options = {"init": group[order], "sparse_membership": True}
        return od.factorize(A[order][:, order], 8, **options).H.toarray()

    order, H = np.random.default_rng(0).permutation(96), fitted(np.arange(96))
    assert (H.max() < 2 * H).any(axis=1).all()
    assert (H[order].argmax(axis=1) == fitted(order).argmax(axis=1)).mean() > 0.95
    # One item of each group after the other: they are swept group by group.
    order = np.arange(96).reshape(8, 12).T.ravel()
    np.testing.assert_array_equal(fitted(order), H[order])


@pytest.mark.parametrize("sparse_membership", [True, False])
def test_labels_sets_and_arrays_are_initializations(sparse_membership):
    A, group = noisy(5)
    sets = [np.flatnonzero(group == l) for l in range(8)]
    given = [group, group.tolist(), sets, [set(s.tolist()) for s in sets]]
    fits = [od.factorize(A, 8, init=init, sparse_membership=sparse_membership) for init in given]
    full = [f.H.toarray() if sparse.issparse(f.H) else f.H for f in fits]
    for H in full[1:]:
        assert np.array_equal(full[0], H)
    if sparse_membership:
        again = od.factorize(A, 8, init=fits[0].H, max_iter=0, sparse_membership=True).H
        assert np.array_equal(again.toarray(), full[0])
    for init, message in [
        ([{0, 96}, {1}], "set 0 holds item 96, but items go from 0 to 95"),
        (group[:-1], r"one whole number per item \(96 in all\)"),
        (group / 2, "one whole number per item"),
        (np.arange(96) % 9, "init has 9 sets, but r=8"),
        ([{0.5, 1}, {2}], "set 0 must hold whole numbers, not float64"),
        (-np.ones((96, 8)), r"\[0, 0\] is -1"),
        (np.full((96, 8), np.nan), r"\[0, 0\] is nan"),
        (np.ones((96, 7)), r"init has shape \(96, 7\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            od.factorize(A, 8, init=init, sparse_membership=sparse_membership)


def test_columns_beyond_those_found_are_empty():
    A = cliques(6)
    assert od.factorize(A, 4, sparse_membership=True).H.shape == (36, 4)
    with pytest.warns(UserWarning, match="the initialization finds 6 clusters, fewer than r=9"):
        f = od.factorize(A, 9, sparse_membership=True)
    assert f.H.shape == (36, 9)
    assert (np.bincount(f.H.indices, minlength=9) > 0).sum() == 6


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_where_there_is_no_cluster_one_is_empty(loss):
    for A in (np.zeros((1, 1)), np.zeros((5, 5)), -np.ones((4, 4)), np.eye(2)[::-1]):
        f = od.factorize(sparse.csr_array(A), "auto", loss=loss)
        assert f.H.shape == (len(A), 1)
        assert f.H.nnz == 0
        assert (od.memberships.labels(f.H) == -1).all()


def test_empty_columns_are_dropped():
    A, group = noisy(7)
    sets = [np.flatnonzero(group == l) for l in range(8)]
    for init in ([*sets, np.array([3])], sparse.csr_array(np.eye(9)[group])):
        f = od.factorize(A, "auto", init=init)
        assert f.H.shape[1] == 8
        assert (np.bincount(f.H.indices, minlength=8) > 1).all()


def test_storage_is_chosen_by_size_and_memory():
    A = as_similarity(cliques())

    def is_sparse(r, **options):
        return stores_sparse(A, r, FitOptions(**options))

    assert not is_sparse(600)
    with (
        mock.patch("odsymnmf.defaults.available_memory", return_value=1000),
        mock.patch("odsymnmf.defaults.MAX_DENSE_ENTRIES", 10),
    ):
        assert is_sparse(5)
        assert not is_sparse(5, sparse_membership=False)
        assert not is_sparse(5, init="greedy")
        assert not is_sparse(5, loss="mixed")
        assert not is_sparse(5, init=np.ones((24, 5)))
    with mock.patch("odsymnmf.defaults.MAX_DENSE_ENTRIES", 10**4):
        assert is_sparse(600)
    assert not sparse.issparse(od.factorize(cliques(), 4).H)


@pytest.mark.parametrize(
    ("A", "options", "message"),
    [
        (np.ones((4, 4)), {}, r"pass scipy.sparse.csr_array\(A\)"),
        (od.similarity.cosine(np.eye(4)), {}, "a graph of nearest neighbors"),
        (cliques(), {"loss": "mixed"}, 'is for loss="l2" and loss="l1"'),
        (cliques(), {"loss": "robust"}, 'is for loss="l2" and loss="l1"'),
        (cliques(), {"diagonal": "fit"}, "cannot fit the diagonal"),
        (cliques(), {"init": "spectral"}, "init='spectral'; use 'multilevel', 'ego'"),
        (cliques(), {"restarts": 2}, "restarts=2, but columns of sparse memberships"),
        (cliques(), {"n_jobs": 0}, "n_jobs"),
        (cliques(), {"r": "auto", "sparse_membership": False}, 'r="auto" takes the number'),
        (cliques(), {"init": "ego", "sparse_membership": False}, "for sparse_membership=True only"),
        (cliques(), {"sparse_membership": "some"}, "sparse_membership='some' is not known"),
        (cliques(), {"r": "many"}, "r must be a whole number"),
    ],
)
def test_what_cannot_be_sparse_is_refused_with_a_reason(A, options, message):
    with pytest.raises(ValueError, match=message):
        od.factorize(A, **{"r": 3, "sparse_membership": True, **options})


def test_callback_sees_sweeps_and_rows_and_may_stop():
    A, _ = noisy(8)
    seen = []
    with mock.patch("odsymnmf.solvers.sparse_losses.BLOCK_ROWS", 40):
        f = od.factorize(A, "auto", callback=lambda s: seen.append(s) or s.n_iter == 3)
    assert f.status == "stopped"
    assert f.n_iter == 3
    complete = [s for s in seen if s.rows is None]
    assert [s.n_iter for s in complete] == [1, 2, 3]
    assert {s.rows for s in seen} >= {None, 40, 80}
    assert all(s.H.shape[0] == A.shape[0] for s in seen)
    for s in complete:
        assert s.objective == pytest.approx(od.objective(A, s.H), rel=1e-9)


# The third sweep of l2 sets the penalties again.
@pytest.mark.parametrize(("loss", "n_iter"), [("l2", 2), ("l2", 3), ("l1", 3)])
def test_an_interrupted_sweep_is_undone(loss, n_iter):
    A, group = noisy(9)

    def press(sweep):
        if sweep.rows is not None and sweep.n_iter == n_iter:
            raise KeyboardInterrupt

    options = {"loss": loss, "init": group, "tol": 0, "sparse_membership": True}
    expected = quiet(A, 8, max_iter=n_iter, **options)
    with (
        mock.patch("odsymnmf.solvers.sparse_losses.BLOCK_ROWS", 40),
        pytest.warns(InterruptedWarning, match=f"after {n_iter} complete sweeps"),
    ):
        f = od.factorize(A, 8, callback=press, **options)
    assert (f.status, f.n_iter) == ("interrupted", n_iter)
    np.testing.assert_array_equal(f.H.toarray(), expected.H.toarray())
    np.testing.assert_allclose(f.history, expected.history)
    assert f.objective == pytest.approx(expected.objective, rel=1e-10)


def test_scaling_a_by_a_power_of_four_scales_h_exactly():
    A = cliques()
    small, large = (od.factorize(A * 2.0**e, "auto") for e in (0, 190))
    np.testing.assert_array_equal(large.H.toarray(), small.H.toarray() * 2.0**95)


def test_same_seed_same_bits_and_too_few_sweeps_warn(monkeypatch):
    A, _ = noisy(10)
    f = od.factorize(A, "auto")
    monkeypatch.setattr("odsymnmf.solvers.sparse_h.FULL_SIDE", -1)  # pairs in a hash table
    assert np.array_equal(f.H.toarray(), od.factorize(A, "auto").H.toarray())
    with pytest.warns(match="no convergence to tol"):
        assert od.factorize(A, "auto", tol=0, max_iter=2).status == "max_iter"
    assert od.factorize(A, "auto", tol=0, max_iter=40).status == "max_iter"  # labels are final


def test_nothing_of_n_times_r_is_made_on_the_way():
    A = sparse.kron(sparse.eye_array(1500), np.ones((4, 4)), format="csr")
    members, small = od.memberships, cliques()
    # What is compiled the first time does not count.
    members.overlapping_sets(od.factorize(small, "auto").H, rule="loss", A=small)
    tracemalloc.start()
    f = od.factorize(A, "auto")
    members.labels(f.H), members.strength(f.H), members.overlapping_sets(f.H)
    members.overlapping_sets(f.H, rule="loss", A=A), members.canonical_order(f.H)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert f.H.shape == (6000, 1500)
    assert peak < 12e6 < 6000 * 1500 * 8


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_a_sweep_adds_at_most_64_clusters_to_an_item(loss):
    groups, size = 70, 5
    n = groups * size + 1
    labels = np.append(np.arange(n - 1) // size, -1)
    A = (labels[:, None] == labels).astype(float)
    A[-1, :-1] = A[:-1, -1] = 1 + labels[:-1] / groups
    # The last item begins in the groups that it is linked to least, and keeps them.
    sets = [np.flatnonzero((labels == l) | ((labels < 0) & (l < 9))) for l in range(groups)]
    f = od.factorize(sparse.csr_array(A), groups, loss=loss, init=sets, sparse_membership=True)
    found = f.H[[-1]].indices.tolist()
    assert (len(found), found[:9]) == (64, list(range(9)))


def test_a_loss_that_claims_sparse_sweeps_has_them():
    """Said by its class, because the sweeps bring Numba with them."""
    assert {name for name in losses.names() if losses.loss_class(name).supports_sparse_h} == set(
        SPARSE_LOSSES
    )
