"""What may be given, what comes of it, and what is said when it may not."""

import numpy as np
import pandas as pd
import pytest
from engine_problems import LOSSES, STARTS, pairwise, quiet, symmetric
from scipy import sparse

import odsymnmf as od
from odsymnmf import similarity
from odsymnmf.similarity import Dense, Sparse, as_similarity

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


@pytest.fixture
def A():
    rng = np.random.default_rng(0)
    return symmetric(rng.random((20, 20)) * (rng.random((20, 20)) < 0.5))


def factors(A, **options):
    return [
        quiet(A, 3, loss=loss, diagonal=diagonal, max_iter=5, **options).H
        for loss, diagonal in LOSSES
    ]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


# --- arrays ----------------------------------------------------------------------------------


def test_layouts(A, tmp_path):
    expected = factors(A)
    wide = np.zeros((40, 60))
    wide[::2, ::3] = A
    assert_same(factors(np.asfortranarray(A)), expected)
    assert_same(factors(wide[::2, ::3]), expected)
    assert_same(factors(A[::-1, ::-1][::-1, ::-1]), expected)
    assert_same(factors(A.tolist()), expected)
    assert_same(factors(pd.DataFrame(A)), expected)
    locked = A.copy()
    locked.flags.writeable = False
    assert_same(factors(locked), expected)
    path = tmp_path / "A.npy"
    np.save(path, A)
    assert_same(factors(np.load(path, mmap_mode="r")), expected)
    on_disk = np.memmap(tmp_path / "A.bin", dtype=float, mode="w+", shape=A.shape)
    on_disk[:] = A
    assert_same(factors(on_disk), expected)


def test_a_dense_matrix_is_not_copied(A):
    assert as_similarity(A).A is A
    assert np.shares_memory(as_similarity(np.asfortranarray(A)).A, A) is False
    fortran = np.asfortranarray(A)
    assert np.shares_memory(as_similarity(fortran).A, fortran)
    assert as_similarity(fortran).A.flags.c_contiguous
    again = as_similarity(A)
    assert as_similarity(again) is again


NUMBERS = [bool, np.int8, np.uint8, np.int64, np.longdouble]


@pytest.mark.parametrize(
    ("form", "dtype"),
    [(form, dtype) for form in (np.asarray, sparse.csr_array) for dtype in NUMBERS]
    + [(np.asarray, np.float16), (np.asarray, object)],  # scipy has no sparse ones
)
def test_other_numbers_are_converted(form, dtype):
    binary = symmetric(np.random.default_rng(0).random((12, 12)) < 0.4).astype(bool)
    found = factors(form(binary.astype(dtype)))
    kept = np.float32 if dtype == np.float16 else np.float64
    assert_same(found, factors(form(binary.astype(kept))))
    assert all(H.dtype == kept for H in found)


def test_nothing_given_is_changed(A):
    np.fill_diagonal(A, np.nan)
    before = A.copy()
    H = np.random.default_rng(0).random((20, 3))
    start = H.copy()
    for loss in ("l2", "l1"):
        for init in [*STARTS, H]:
            quiet(A, 3, loss=loss, init=init, random_state=0, max_iter=3)
    np.testing.assert_array_equal(A, before)
    np.testing.assert_array_equal(H, start)
    od.objective(A, H)
    np.testing.assert_array_equal(H, start)


# --- sparse ----------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_formats(A, format, kind):
    np.fill_diagonal(A, 5.0)
    given = getattr(sparse, f"{format}_{kind}")(A)
    assert_same(factors(given), factors(sparse.csr_array(A)))
    assert isinstance(as_similarity(given), Sparse)


def test_sparse_and_dense_agree(A):
    for one, other in zip(factors(sparse.csr_array(A)), factors(A), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def with_indices(A, dtype):
    A = sparse.csr_array(A)
    A.indices, A.indptr = A.indices.astype(dtype), A.indptr.astype(dtype)
    return A


def test_wide_indices(A):
    expected = factors(with_indices(A, np.int32))
    assert_same(factors(with_indices(A, np.int64)), expected)
    assert with_indices(A, np.int64).indices.dtype == np.int64


def test_messy_sparse_matrices(A):
    np.fill_diagonal(A, 7.0)
    expected = factors(sparse.csr_array(A))
    clean = sparse.csr_array(A)
    rng = np.random.default_rng(0)
    # every entry in two parts that add up, in any order, with zeros in between
    i, j = clean.nonzero()
    part = np.round(rng.random(clean.nnz) * 8) / 8 * clean.data
    zeros = rng.integers(0, 20, (2, 30))
    rows = np.concatenate([i, i, zeros[0]])
    columns = np.concatenate([j, j, zeros[1]])
    values = np.concatenate([part, clean.data - part, np.zeros(30)])
    order = rng.permutation(len(rows))
    messy = sparse.coo_array((values[order], (rows[order], columns[order])), shape=A.shape)
    for found, other in zip(factors(messy), expected, strict=True):
        np.testing.assert_allclose(found, other, atol=1e-10)
    # the same as CSR, where nothing has summed or sorted them yet
    by_row = order[np.argsort(rows[order], kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=20))])
    raw = sparse.csr_array((values[by_row], columns[by_row], indptr), shape=A.shape)
    before = raw.data.copy(), raw.indices.copy()
    assert not raw.has_canonical_format
    for found, other in zip(factors(raw), expected, strict=True):
        np.testing.assert_allclose(found, other, atol=1e-10)
    np.testing.assert_array_equal(raw.data, before[0])
    np.testing.assert_array_equal(raw.indices, before[1])
    stored = as_similarity(raw).A
    assert stored.has_canonical_format
    assert (stored.data != 0).all()
    assert not stored.diagonal().any()
    np.testing.assert_allclose(as_similarity(raw).diagonal, 7.0)


def test_a_clean_sparse_matrix_is_not_copied(A):
    given = sparse.csr_array(A)
    assert np.shares_memory(as_similarity(given).A.data, given.data)
    assert np.shares_memory(as_similarity(given).A.indices, given.indices)


def test_locked_sparse_matrices(A):
    given = sparse.csr_array(A)
    for array in (given.data, given.indices, given.indptr):
        array.flags.writeable = False
    assert_same(factors(given), factors(sparse.csr_array(A)))


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_shapes(form):
    with pytest.raises(ValueError, match=r"square.*got shape \(2, 3\).*similarity\.cosine\(X\)"):
        od.factorize(form(np.ones((2, 3))), 1)
    with pytest.raises(ValueError, match="empty"):
        od.factorize(form(np.ones((0, 0))), 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (3.0, "this is float, not data"),
        (None, "this is None, not data"),
        ([1, 2], "square"),
        (np.ones((2, 2, 2)), "square"),
    ],
)
def test_not_a_matrix(wrong, message):
    with pytest.raises(ValueError, match=message):
        od.factorize(wrong, 1)


@pairwise(
    {
        "order": ["C", "F"],
        "n": [6, 700],
        "value": [np.inf, -np.inf],
        "where": [(4, 1), (1, 4)],
    }
)
def test_nonfinite_off_the_diagonal(order, n, value, where):
    A = np.zeros((n, n))
    i, j = (n - 2, 1) if where == (4, 1) else (1, n - 2)
    A[i, j] = value
    message = rf"A\[{i}, {j}\] is {value}; .* by NaN if the similarity is not known"
    with pytest.raises(ValueError, match=message):
        od.factorize(np.array(A, order=order), 1)
    with pytest.raises(ValueError, match=message):
        od.factorize(sparse.csr_array(A), 1)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", [6, 700])
def test_asymmetry(order, n):
    rng = np.random.default_rng(0)
    A = symmetric(rng.random((n, n)))
    A[2, n - 1] += 0.5
    A[n - 1, 2] = 0.0
    A[0, 1] += 0.1
    high, low = sorted([(2, n - 1), (n - 1, 2)], key=lambda at: -A[at])
    worst = A[high] - A[low]
    pattern = rf"symmetric.*A\[{{}}, {{}}\] = {{}} and A\[{{}}, {{}}\] = {{}} differ by {worst:.6g}"
    either = "|".join(
        pattern.format(*one, A[one], *other, A[other]) for one, other in [(high, low), (low, high)]
    )
    remedy = rf"({either}).*\(A \+ A\.T\) / 2"
    with pytest.raises(ValueError, match=remedy):
        od.factorize(np.array(A, order=order), 1)
    with pytest.raises(ValueError, match=remedy):
        od.factorize(sparse.csr_array(A), 1)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_is_no_asymmetry(A, form, dtype):
    A = A.astype(dtype)
    A[2, 5] *= 1 + 4 * np.finfo(dtype).eps
    assert od.factorize(form(A), 2, upper=1).H.dtype == dtype
    A[2, 5] = A[5, 2] + 10 * np.sqrt(np.finfo(dtype).eps)
    with pytest.raises(ValueError, match="symmetric"):
        od.factorize(form(A), 2)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_complex(form):
    with pytest.raises(ValueError, match=r"A holds complex numbers; .* real"):
        od.factorize(form(np.eye(2) * 1j), 1)


def test_text():
    with pytest.raises(ValueError, match="this is a list that is not a matrix of numbers"):
        od.factorize(4 * [["a", "b", "c", "d"]], 1)
    with pytest.raises(ValueError, match="this is a list of edges"):
        od.factorize([["a", "b"], ["b", "a"]], 1)
    with pytest.raises(ValueError, match="A must hold numbers"):
        od.factorize(np.array([[1, None], [{}, 1]], dtype=object), 1)


WRONG_OPTIONS = [
    ({"r": 0}, r"r must be a whole number >= 1; got 0"),
    ({"r": -2}, r"r must be a whole number >= 1; got -2"),
    ({"r": 2.0}, r"r must be a whole number >= 1; got 2\.0"),
    ({"r": True}, r"r must be a whole number >= 1; got True"),
    ({"r": "2"}, r"r must be a whole number >= 1; got '2'"),
    ({"r": None}, r"r must be a whole number >= 1; got None"),
    ({"loss": "l3"}, r"loss='l3' is not known; use one of 'l2', 'l1', 'mixed', 'robust'"),
    ({"loss": 2}, r"loss=2 is not known"),
    ({"diagonal": "yes"}, r"diagonal='yes' is not known; use \"ignore\" or \"fit\""),
    ({"diagonal": None}, r"diagonal=None is not known"),
    ({"init": "best"}, r"init='best' is not known; use 'multilevel', .*'mixed', an array"),
    ({"init": None}, r"init has shape \(\); it must be \(n, r\) = \(20, 2\)"),
    ({"init": np.ones((20, 3))}, r"init has shape \(20, 3\); it must be \(n, r\) = \(20, 2\)"),
    ({"init": np.ones(20)}, r"labels must be one whole number per item"),
    ({"init": -np.ones((20, 2))}, r"init\[0, 0\] is -1\.0; entries must be finite and >= 0"),
    ({"init": np.full((20, 2), np.nan)}, r"init\[0, 0\] is nan; entries must be finite"),
    ({"init": np.full((20, 2), np.inf)}, r"init\[0, 0\] is inf; entries must be finite"),
    ({"init": np.full((20, 2), 1j)}, r"init must hold real numbers; got dtype complex128"),
    ({"init": np.full((20, 2), "a")}, r"init must hold real numbers"),
    ({"upper": 0}, r"upper must be a number > 0, or None for no bound; got 0"),
    ({"upper": -1.0}, r"upper must be a number > 0"),
    ({"upper": np.nan}, r"upper must be a number > 0"),
    ({"upper": "1"}, r"upper must be a number > 0"),
    ({"tol": -1e-3}, r"tol must be a number >= 0; got -0\.001"),
    ({"tol": np.nan}, r"tol must be a number >= 0"),
    ({"tol": None}, r"tol must be a number >= 0"),
    ({"max_iter": -1}, r"max_iter must be a whole number >= 0; got -1"),
    ({"max_iter": 2.5}, r"max_iter must be a whole number >= 0"),
    ({"max_iter": False}, r"max_iter must be a whole number >= 0"),
    ({"random_state": -1}, r"random_state=-1 cannot seed a generator; pass None, an int"),
    ({"random_state": "seed"}, r"random_state='seed' cannot seed a generator"),
    ({"loss": "l1", "diagonal": "fit"}, r"l1\" cannot fit the diagonal; use diagonal=\"ignore\""),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG_OPTIONS)
def test_options(A, wrong, message):
    with pytest.raises(ValueError, match=message):
        od.factorize(A, **{"r": 2, **wrong})


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_diagonal_that_cannot_be_fitted(A, form, value):
    A[7, 7] = value
    message = rf"A\[7, 7\] is {value}, but the diagonal is to be fitted.*diagonal=\"ignore\""
    with pytest.raises(ValueError, match=message):
        od.factorize(form(A), 2, diagonal="fit")
    with pytest.raises(ValueError, match=message):
        od.objective(form(A), np.ones((20, 2)), diagonal="fit")


def test_numpy_numbers_are_numbers(A):
    found = quiet(
        A, np.int32(2), tol=np.float32(0), upper=np.float64(1), max_iter=np.int64(3), random_state=0
    )
    assert found.n_iter == 3


@pytest.mark.parametrize(
    ("H", "message"),
    [
        (np.ones((3, 2)), r"H has shape \(3, 2\); it must be \(n, r\) = \(20, 2\)"),
        (np.full((20, 1), np.nan), r"H\[0, 0\] is nan"),
        (-np.ones((20, 1)), r"H\[0, 0\] is -1\.0; entries must be finite and >= 0"),
    ],
)
def test_the_objective_names_what_is_wrong(A, H, message):
    with pytest.raises(ValueError, match=message):
        od.objective(A, H)
    with pytest.raises(ValueError, match="loss='l7' is not known"):
        od.objective(A, np.ones((20, 1)), "l7")


def test_the_kinds(A):
    assert isinstance(as_similarity(A), Dense)
    assert isinstance(as_similarity(sparse.csr_array(A)), Sparse)
    assert as_similarity(A.astype(np.float32)).dtype == np.float32
    assert as_similarity(sparse.csr_array(A.astype(np.float32))).dtype == np.float32
    assert similarity.as_similarity([[0, 1], [1, 0]]).dtype == np.float64


def test_a_file_name_is_refused_with_the_remedy():
    for fit in (lambda A: od.factorize(A, 2), od.ODSymNMF(2).fit):
        with pytest.raises(ValueError, match="read the file first"):
            fit("graph.npz")
