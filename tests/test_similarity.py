"""Forms of A and of its pair weights: storages agree, invalid input is named."""

import numpy as np
import pandas as pd
import pytest
from problems import (
    EACH_FORM,
    EACH_INPUT,
    EACH_LOSS,
    INITS,
    INPUTS,
    LOSSES,
    as_input,
    documents,
    naive_objective,
    naive_sweep,
    pairwise,
    quiet,
    swept,
    symmetric,
)
from scipy import sparse

import odsymnmf as od
from odsymnmf import similarity, utils
from odsymnmf.similarity import Sparse, as_similarity


@pytest.fixture
def A():
    rng = np.random.default_rng(0)
    return symmetric(rng.random((20, 20)) * (rng.random((20, 20)) < 0.5))


def memberships(A, **options):
    return [quiet(A, 3, loss=p, diagonal=d, max_iter=5, **options).H for p, d in LOSSES]


def assert_same(result, expected, atol=0.0):
    for one, other in zip(result, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


# --- forms of A ------------------------------------------------------------------------------


def test_memory_layouts_are_bit_identical(A, tmp_path):
    expected = memberships(A)
    strided = np.zeros((40, 60))
    strided[::2, ::3] = A
    read_only = A.copy()
    read_only.flags.writeable = False
    np.save(tmp_path / "A.npy", A)
    memmap = np.load(tmp_path / "A.npy", mmap_mode="r")
    forms = [np.asfortranarray(A), strided[::2, ::3], A.tolist(), pd.DataFrame(A)]
    for form in (*forms, read_only, memmap):
        assert_same(memberships(form), expected)


def test_valid_arrays_are_not_copied(A):
    assert as_similarity(A).A is A
    fortran = np.asfortranarray(A)
    assert np.shares_memory(as_similarity(fortran).A, fortran)
    S = sparse.csr_array(A)
    assert np.shares_memory(as_similarity(S).A.data, S.data)
    assert np.shares_memory(as_similarity(S).A.indices, S.indices)


@pytest.mark.parametrize(
    ("form", "dtype"),
    [(form, t) for form in (np.asarray, sparse.csr_array) for t in (bool, np.int64, np.longdouble)]
    + [(np.asarray, np.float16), (np.asarray, object)],
)
def test_other_dtypes_are_converted(form, dtype):
    binary = symmetric(np.random.default_rng(0).random((12, 12)) < 0.4).astype(bool)
    result = memberships(form(binary.astype(dtype)))
    target = np.float32 if dtype == np.float16 else np.float64
    assert_same(result, memberships(form(binary.astype(target))))
    assert all(H.dtype == target for H in result)


def test_input_is_not_changed(A):
    np.fill_diagonal(A, np.nan)
    H = np.random.default_rng(0).random((20, 3))
    X, S = documents(), sparse.csr_array(documents())
    arrays = [A, H, X, S.data, S.indices]
    before = [array.copy() for array in arrays]
    for loss in ("l2", "l1"):
        for init in [*INITS, H]:
            quiet(A, 3, loss=loss, init=init, random_state=0, max_iter=3)
        for make in (similarity.cosine, similarity.gram):
            for features in (X, S):
                quiet(make(features), 3, loss=loss, max_iter=3)
    od.objective(A, H)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_sparse_formats_are_bit_identical(A):
    np.fill_diagonal(A, 5.0)
    expected = memberships(sparse.csr_array(A))
    for name in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
        for given in (getattr(sparse, f"{name}_array")(A), getattr(sparse, f"{name}_matrix")(A)):
            assert_same(memberships(given), expected)
            assert isinstance(as_similarity(given), Sparse)
    S = sparse.csr_array(A)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    for array in (S.data, S.indices, S.indptr):
        array.flags.writeable = False
    assert_same(memberships(S), expected)
    assert S.indices.dtype == np.int64


def test_unsorted_duplicate_and_zero_entries_are_summed(A):
    np.fill_diagonal(A, 7.0)
    expected = memberships(sparse.csr_array(A))
    rng = np.random.default_rng(0)
    part = A * rng.integers(0, 9, A.shape) / 8
    rows, columns = np.tile(np.indices(A.shape).reshape(2, -1), 2)  # zeros, too
    values = np.concatenate([part, A - part], axis=None)
    order = rng.permutation(len(rows))
    coo = sparse.coo_array((values[order], (rows[order], columns[order])), shape=A.shape)
    order = order[np.argsort(rows[order], kind="stable")]
    csr = sparse.csr_array((values[order], columns[order], np.arange(21) * 40), shape=A.shape)
    before = csr.indices.copy()
    for form in (coo, csr):
        assert_same(memberships(form), expected, atol=1e-10)
    np.testing.assert_array_equal(csr.indices, before)
    stored = as_similarity(csr).A
    assert stored.has_canonical_format
    assert (stored.data != 0).all()
    assert not stored.diagonal().any()
    np.testing.assert_allclose(as_similarity(csr).diagonal, 7.0)


# --- storages agree --------------------------------------------------------------------------


@pairwise({"loss, diagonal": LOSSES, "kind": INPUTS, "init": [*INITS, "array"]})
def test_storages_of_a_give_the_same_fit(monkeypatch, loss, diagonal, kind, init):
    X = documents(4, duplicate=False)
    # A Gram matrix only has a bound on its largest entry.
    monkeypatch.setattr(similarity.Gram, "max_value", float(symmetric(X @ X.T).max()))
    if init == "array":
        init = 0.1 + np.random.default_rng(0).random((40, 4))
    options = {"loss": loss, "diagonal": diagonal, "init": init, "random_state": 0, "max_iter": 12}
    expected, f = (quiet(as_input(k, X), 4, **options) for k in ("dense", kind))
    np.testing.assert_allclose(f.H, expected.H, rtol=0, atol=1e-8)
    np.testing.assert_allclose(f.history, expected.history, rtol=1e-9, atol=1e-9)


@pairwise({"loss, diagonal": LOSSES, "kind": INPUTS, "init": INITS})
def test_float32_is_kept_and_close_to_float64(loss, diagonal, kind, init):
    X = documents(6, dtype=np.float32)
    options = {"loss": loss, "diagonal": diagonal, "init": init, "random_state": 0, "restarts": 0}
    single = quiet(as_input(kind, X), 4, **options)
    double = quiet(as_input(kind, X.astype(np.float64)), 4, **options)
    assert (single.H.dtype, double.H.dtype) == (np.float32, np.float64)
    assert single.objective == pytest.approx(double.objective, rel=1e-4)


@EACH_INPUT
def test_float32_converges_at_a_bound_it_cannot_represent(kind):
    # float32(0.7) < 0.7: an entry at the bound must not seem able to grow.
    X = 2 * documents(7, n=20, m=5, dtype=np.float32)
    for loss in ("l2", "l1"):
        f = od.factorize(as_input(kind, X), 2, loss=loss, upper=0.7)
        assert f.converged
        assert f.H.max() == np.float32(0.7)


@EACH_INPUT
def test_float32_objective_is_summed_in_float64(kind):
    # The diagonal of a Gram matrix times a large entry must not absorb the rest.
    X = documents(2, dtype=np.float32)
    H = np.zeros((40, 1), dtype=np.float32)
    H[0], H[1] = 4096.0, 2.0**-12
    expected = naive_objective(as_input("dense", X.astype(np.float64)), H)
    assert od.objective(as_input(kind, X), H) == pytest.approx(expected, rel=1e-5)
    H = np.random.default_rng(0).random((40, 5), dtype=np.float32)
    exact = naive_objective(X.astype(np.float64) @ X.T.astype(np.float64), H)
    assert od.objective(as_input(kind, X), H) == pytest.approx(exact, rel=2e-7)


@EACH_INPUT
def test_methods_match_the_dense_matrix(kind):
    X = documents(5, n=700, m=30)
    A, dense = as_similarity(as_input(kind, X)), as_input("dense", X)
    off = symmetric(dense)
    V = np.random.default_rng(0).random((700, 3))
    assert A.n == 700
    np.testing.assert_allclose(A.matmul(V), off @ V, rtol=1e-12)
    np.testing.assert_allclose(A.matmul(V[:, 0]), off @ V[:, 0], rtol=1e-12)
    np.testing.assert_allclose(A.sum_of_squares, np.sum(off**2), rtol=1e-12)
    error = A.squared_error((1 + 1e-7) * X)  # the terms of the closed form cancel
    np.testing.assert_allclose(error, 4e-14 * A.sum_of_squares, rtol=1e-6)
    np.testing.assert_allclose(A.diagonal, np.diagonal(dense), rtol=1e-12)
    np.testing.assert_allclose(A.max_value, 1.0, rtol=1e-12)
    items = np.array([3, 699, 0])
    np.testing.assert_allclose(A.dense_rows(items), off[items], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(A.to_csr().toarray(), off, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("shape", [(30, 200), (200, 30), (1, 5), (5, 1)])
@EACH_FORM
def test_sum_of_squares_of_a_gram_matrix(shape, form):
    rng = np.random.default_rng(0)
    X = rng.random(shape) * (rng.random(shape) < 0.3)
    if form is np.asarray:
        X[0] *= 1e4  # its square on the diagonal exceeds all others by far
    expected = np.sum(symmetric(X @ X.T) ** 2)
    assert similarity.gram(form(X)).sum_of_squares == pytest.approx(expected, rel=1e-12, abs=1e-12)


@EACH_INPUT
def test_size_of_blocks_does_not_change_the_result(monkeypatch, kind):
    X = documents(8, n=90, duplicate=False)
    H = 0.1 + np.random.default_rng(0).random((90, 4))

    def results(kind):
        return [swept(as_input(kind, X), H, *loss, count=12) for loss in LOSSES]

    expected, fits = results("sparse"), memberships(as_input(kind, X))
    monkeypatch.setattr(utils, "BLOCK_ENTRIES", 90 * 7)
    assert_same(memberships(as_input(kind, X)), fits, 1e-9)
    assert_same(results(kind), expected, 1e-9)


def test_cosine_is_the_gram_matrix_of_unit_rows():
    X = np.array([[3.0, 4.0], [6.0, 8.0], [0.0, 0.0], [1.0, 0.0]])
    expected = [[0, 1, 0, 0.6], [1, 0, 0, 0.6], [0, 0, 0, 0], [0.6, 0.6, 0, 0]]
    for form in (X, X.tolist(), X.astype(int), sparse.csr_array(X), sparse.coo_matrix(X)):
        A = similarity.cosine(form)
        np.testing.assert_allclose(A.matmul(np.eye(4)), expected, atol=1e-15)
        assert A.dtype == np.float64
    assert similarity.cosine(sparse.csr_array(X.astype(np.float32))).dtype == np.float32
    np.testing.assert_allclose(similarity.gram(X).diagonal, [25, 100, 0, 1])
    H = quiet(similarity.cosine(X), 2).H
    np.testing.assert_array_equal(H[2], 0)


@pytest.mark.parametrize("make", [similarity.cosine, similarity.gram])
def test_invalid_features_are_named(make):
    for wrong in (np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(3), np.zeros((2, 2, 2))):
        with pytest.raises(ValueError, match=r"items x features\); got shape"):
            make(wrong)
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match="NaN or infinite"):
            make(form(np.array([[1.0, np.nan]])))
        with pytest.raises(ValueError, match="complex"):
            make(form(np.array([[1.0, 1j]])))
    with pytest.raises(ValueError, match="must hold numbers"):
        make([["a", "b"]])


# --- the diagonal ----------------------------------------------------------------------------


@pairwise(
    {
        "form": [np.asarray, sparse.csr_array, sparse.coo_matrix],
        "loss": ["l2", "l1"],
        "init": [*INITS, "array"],
        "value": [np.nan, np.inf, -np.inf, 1e300, -1.0],
    }
)
def test_diagonal_has_no_effect(form, loss, init, value):
    # More items than a block of rows.
    rng = np.random.default_rng(0)
    A = symmetric(rng.random((150, 150)) * (rng.random((150, 150)) < 0.6))
    if init == "array":
        init = rng.random((150, 3))
    options = {"loss": loss, "init": init, "random_state": 0, "max_iter": 4}
    expected = quiet(form(A), 3, **options)
    np.fill_diagonal(A, value)
    f = quiet(form(A), 3, **options)
    np.testing.assert_array_equal(f.H, expected.H)
    np.testing.assert_array_equal(f.history, expected.history)
    assert od.objective(form(A), f.H, loss) == f.objective


@EACH_FORM
def test_symnmf_fits_the_diagonal(A, form):
    first = quiet(form(A), 3, diagonal="fit").H
    np.fill_diagonal(A, 1.0)
    second = quiet(form(A), 3, diagonal="fit")
    assert np.abs(first - second.H).max() > 0.01
    assert second.objective == pytest.approx(naive_objective(A, second.H, "l2", "fit"))
    A[7, 7] = np.nan
    message = r"A\[7, 7\] is nan, but the diagonal is to be fitted.*diagonal=\"ignore\""
    with pytest.raises(ValueError, match=message):
        od.factorize(form(A), 2, diagonal="fit")
    with pytest.raises(ValueError, match=message):
        od.objective(form(A), np.ones((20, 2)), diagonal="fit")


# --- invalid A -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.ones((2, 3)), r"square.*got shape \(2, 3\).*similarity\.cosine\(X\)"),
        (sparse.csr_array(np.ones((2, 3))), r"square.*got shape \(2, 3\).*similarity\.cosine\(X\)"),
        (np.ones((0, 0)), "empty"),
        (sparse.csr_array((0, 0)), "empty"),
        (3.0, "expected a matrix of numbers, got float"),
        (None, "expected a matrix of numbers, got None"),
        ([1, 2], "square"),
        (np.ones((2, 2, 2)), "square"),
        (np.eye(2) * 1j, r"A holds complex numbers; .* real"),
        (sparse.csr_array(np.eye(2) * 1j), r"A holds complex numbers; .* real"),
        (4 * [["a", "b", "c", "d"]], "expected a matrix of numbers, got list"),
        ([["a", "b"], ["b", "a"]], "this is a list of edges"),
        (np.array([[1, None], [{}, 1]], dtype=object), "A must hold numbers"),
        ("graph.npz", "read the file first"),
    ],
)
def test_invalid_matrices_are_named_with_the_remedy(wrong, message):
    with pytest.raises(ValueError, match=message):
        od.factorize(wrong, 1)


@EACH_FORM
def test_nan_on_one_side_of_the_diagonal_is_named(form):
    with pytest.raises(ValueError, match=r"of A\[0, 1\] and A\[1, 0\] only one is NaN"):
        od.factorize(form(np.array([[0, np.nan], [1, 0]])), 2)


@EACH_FORM
@pairwise({"order": ["C", "F"], "n": [6, 700], "value": [np.inf, -np.inf]})
def test_infinite_similarity_is_named_with_its_position(form, order, n, value):
    A = np.zeros((n, n), order=order)
    A[n - 2, 1] = value
    message = rf"A\[{n - 2}, 1\] is {value}; .* by NaN if the similarity is not known"
    with pytest.raises(ValueError, match=message):
        od.factorize(form(A), 1)


@EACH_FORM
@pytest.mark.parametrize("n", [6, 700])
def test_largest_asymmetry_is_named(form, n):
    A = symmetric(np.random.default_rng(0).random((n, n)))
    A[2, n - 1] += 0.5
    A[n - 1, 2] = 0.0
    A[0, 1] += 0.1
    worst = A[2, n - 1]
    either = rf"A\[(2, {n - 1}|{n - 1}, 2)\] = \S+"
    message = rf"symmetric.*{either} and {either} differ by {worst:.6g}.*\(A \+ A\.T\) / 2"
    with pytest.raises(ValueError, match=message):
        od.factorize(form(A), 1)


@EACH_FORM
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_not_asymmetry(A, form, dtype):
    A = A.astype(dtype)
    A[2, 5] *= 1 + 4 * np.finfo(dtype).eps
    assert od.factorize(form(A), 2, upper=1).H.dtype == dtype
    A[2, 5] = A[5, 2] + 10 * np.sqrt(np.finfo(dtype).eps)
    with pytest.raises(ValueError, match="symmetric"):
        od.factorize(form(A), 2)


@EACH_INPUT
@pytest.mark.parametrize(
    ("dtype", "size"), [(float, 1e61), (float, 1e-61), (np.float32, 1e13), (np.float32, 1e-13)]
)
def test_similarities_out_of_range_are_named(kind, dtype, size):
    X = np.sqrt(size) * np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.01]])
    A = as_input(kind, X.astype(dtype))
    where = r"\|x_i\|\^2 of item [01]" if "gram" in kind else r"\|A\[[01], [01]\]\|"
    message = rf"{where}, is \S+; in float\d\d it must be from .* by a power of ten"
    for function in (lambda: od.factorize(A, 1), lambda: od.objective(A, np.ones((3, 1)))):
        with pytest.raises(ValueError, match=message):
            function()


@EACH_LOSS
@pytest.mark.parametrize("kind", ["dense", "sparse", "sparse gram"])
def test_labels_do_not_depend_on_the_unit_of_similarities(kind, loss, diagonal):
    rng = np.random.default_rng(0)
    X = np.kron(np.eye(3), np.ones((8, 4))) * rng.random((24, 12)) + 0.1 * rng.random((24, 12))
    for init in INITS:
        options = {"loss": loss, "diagonal": diagonal, "init": init, "random_state": 0}
        fits = [
            quiet(as_input(kind, X * np.sqrt(unit)), 3, upper=2 * np.sqrt(unit), **options)
            for unit in (1.0, 1e-14, 1e14, 1e-58, 1e58)
        ]
        expected, *others = (od.memberships.labels(f.H) for f in fits)
        for labels in others:
            np.testing.assert_array_equal(labels, expected)


# --- weights ---------------------------------------------------------------------------------


@EACH_LOSS
@EACH_FORM
@pytest.mark.parametrize("init", ["greedy", "spectral"])
def test_values_of_unknown_pairs_have_no_effect(loss, diagonal, form, init):
    rng = np.random.default_rng(2)
    A = symmetric((rng.random((30, 30)) < 0.4) * rng.random((30, 30)))
    unknown = symmetric(rng.random((30, 30)) < 0.2).astype(bool)
    W = np.where(unknown, 0.0, 1.0)
    options = {"loss": loss, "diagonal": diagonal, "init": init, "random_state": 0, "max_iter": 6}

    def fit(value, weights):
        return quiet(form(np.where(unknown, value, A)), 3, weights=weights, **options)

    expected = fit(0.0, W)
    for value, weights in [(-7.0, W), (1e300, W), (np.nan, W), (np.nan, None)]:
        f = fit(value, weights)
        np.testing.assert_array_equal(f.H, expected.H)
        np.testing.assert_array_equal(f.history, expected.history)
    masked = quiet(np.ma.masked_array(A, unknown), 3, **options)
    np.testing.assert_allclose(masked.H, expected.H, rtol=0, atol=1e-9)


@EACH_INPUT
def test_weights_of_one_have_no_effect(kind):
    S, ones = as_input(kind, documents(4)), np.ones((40, 40))
    for loss in ("l2", "l1", "mixed"):
        expected = quiet(S, 3, loss=loss, restarts=1)
        for weights in (ones, sparse.csr_array(ones), sparse.csr_array((40, 40))):
            f = quiet(S, 3, loss=loss, restarts=1, weights=weights)
            np.testing.assert_array_equal(f.H, expected.H)
            np.testing.assert_array_equal(f.history, expected.history)


@pytest.mark.parametrize("zero_weight", [0.0, 0.03, 2.0])
def test_zero_weight_is_the_weight_of_pairs_that_are_not_stored(zero_weight):
    rng = np.random.default_rng(3)
    A = symmetric((rng.random((20, 20)) < 0.3) * rng.random((20, 20)))
    W = np.where(A > 0, 1.0, zero_weight)
    H, s = 0.05 + rng.random((20, 3)), 0.5 + rng.random(20)
    S = as_similarity(sparse.csr_array(A), zero_weight=zero_weight).scale(s)
    for loss in ("l2", "l1"):
        expected = naive_sweep(A * s[:, None] * s, H, loss, W=W)
        np.testing.assert_allclose(swept(S, H, loss), expected, rtol=0, atol=1e-9)


def test_sparse_weights_leave_other_pairs_unchanged():
    rng = np.random.default_rng(5)
    A, H = symmetric((rng.random((12, 12)) < 0.5).astype(float)), rng.random((12, 2))
    A[2, 3] = A[3, 2] = 1.0
    heavy = sparse.csr_array(([5.0, 5.0], ([2, 3], [3, 2])), shape=(12, 12))
    W = np.where(A > 0, 1.0, 0.5)
    W[2, 3] = W[3, 2] = 5.0
    value = od.objective(sparse.csr_array(A), H, weights=heavy, zero_weight=0.5)
    assert value == pytest.approx(naive_objective(A, H, W=W))
    unknown = sparse.csr_array(([0.0, 0.0], ([4, 7], [7, 4])), shape=(12, 12))
    W = np.ones((12, 12))
    W[4, 7] = W[7, 4] = 0.0
    for form in (np.asarray, sparse.csr_array):
        value = od.objective(form(A), H, "l1", weights=unknown)
        assert value == pytest.approx(naive_objective(A, H, "l1", W=W))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones((3, 3)), r"weights has shape \(3, 3\); it must be \(n, n\) = \(4, 4\)"),
        (-np.ones((4, 4)), r"weights\[0, 1\] is -1.0; weights must be finite and >= 0"),
        (np.full((4, 4), np.nan), r"weights\[0, 1\] is nan"),
        (np.triu(np.ones((4, 4))), r"weights must be symmetric, but weights\[0, 1\] = 1.0"),
        (np.full((4, 4), "a"), r"weights must hold real numbers"),
    ],
)
def test_invalid_weights_are_named(weights, message):
    with pytest.raises(ValueError, match=message):
        od.factorize(np.ones((4, 4)), 2, weights=weights)


@pytest.mark.parametrize("loss", ["l2", "l1", "mixed"])
def test_item_without_known_pairs_is_unassigned(loss):
    A = np.kron(np.eye(2), np.ones((5, 5)))
    A[3] = A[:, 3] = np.nan
    H = quiet(A, 2, loss=loss, init="random", random_state=0).H
    np.testing.assert_array_equal(H[3], 0.0)
    assert np.isfinite(H).all()
