"""Small problems, the model by its definition, and pairwise combinations of options."""

import warnings
from itertools import pairwise as neighbors

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from benchmarks import against
from odsymnmf.paper.symnmf import minimize_quartic
from odsymnmf.similarity import as_similarity
from odsymnmf.solvers.losses import make_solver

# (loss, diagonal): l2, l1, symNMF
LOSSES = [("l2", "ignore"), ("l1", "ignore"), ("l2", "fit")]
INPUTS = ["dense", "sparse", "gram", "sparse gram"]
INITS = ["greedy", "spectral", "random", "zero"]

EACH_LOSS = pytest.mark.parametrize(("loss", "diagonal"), LOSSES, ids=["l2", "l1", "symnmf"])
EACH_INPUT = pytest.mark.parametrize("kind", INPUTS)
EACH_FORM = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


# --- combinations of options -----------------------------------------------------------------


def pairwise(axes):
    """Parametrize by combinations in which every pair of values of two axes occurs.

    An axis named "loss, diagonal" has pairs as values.
    """
    rows = []
    for choice in against.pairwise(axes):
        cells = [value if "," in name else [value] for name, value in choice.items()]
        rows.append([value for cell in cells for value in cell])
    return pytest.mark.parametrize(", ".join(axes), rows)


# --- the model by its definition, in the letters of the paper --------------------------------


def naive_objective(A, H, loss="l2", diagonal="ignore", W=None, scales=None):
    """Return sum_{i != j} w_ij |A_ij - h_i . h_j|^p; ``scales`` are those of l1 and l2 if mixed."""
    A, H = np.asarray(A, dtype=np.float64), np.asarray(H, dtype=np.float64)
    off = ~np.eye(len(A), dtype=bool)
    E = np.abs(A - H @ H.T)
    w = np.ones(off.sum()) if W is None else W[off]
    absolute = w[w > 0] @ E[off][w > 0]
    squares = w[w > 0] @ E[off][w > 0] ** 2
    if diagonal == "fit":
        squares += np.sum(np.diag(E) ** 2)
    if loss == "mixed":
        return float(scales @ [absolute, squares])
    return float(absolute if loss == "l1" else squares)


def naive_sweep(A, H, loss="l2", diagonal="ignore", W=None, upper=np.inf, scales=None, items=None):
    """Return H after the rows of the items (default: all) became optimal in turn."""
    H = np.array(H, dtype=np.float64)
    for k in range(len(A)) if items is None else items:
        H[k] = naive_row(A, H, k, loss, diagonal, W, upper, scales)
    return H


def naive_row(A, H, k, loss="l2", diagonal="ignore", W=None, upper=np.inf, scales=None):
    """Return row k after its entries became optimal in turn."""
    others, h = np.delete(np.arange(len(A)), k), H[k].copy()
    w = np.ones(len(others)) if W is None else W[k, others]
    for l in range(len(h)):
        a = H[others, l]
        b = A[k, others] - H[others] @ h + a * h[l]
        if diagonal == "fit":
            P_kk = A[k, k] - h @ h + h[l] ** 2
            h[l] = minimize_quartic(w @ a**2 - P_kk, -(w @ (a * b)), upper)
        else:
            h[l] = naive_entry(a, b, w, loss, upper, scales)
    return h


def naive_entry(a, b, w, loss, upper, scales=None):
    """Minimize sum_i w_i phi(a_i x - b_i) over 0 <= x <= upper; of several, the smallest x."""
    used = (a > 0) & (w > 0)
    a, b, w = a[used], b[used], w[used]
    if not len(a):
        return 0.0
    if loss == "l2":
        return min(max(0.0, w @ (a * b) / (w @ a**2)), upper)
    points = np.maximum(b / a, 0.0)
    if loss == "l1":
        # Equal up to rounding is a tie.
        half = (w @ a) / 2 * (1 + 1e-12)
        enough = [x for x in [0.0, *points] if (w * a)[points > x + 1e-12].sum() <= half]
        return min([*enough, upper])

    def value(x):
        return scales @ [w @ np.abs(a * x - b), w @ (a * x - b) ** 2]

    ends = np.unique([0.0, *points, points.max() + 1.0])
    candidates = list(ends)
    for low, high in neighbors(ends):
        signs = np.sign(a * (low + high) / 2 - b)
        x = (2 * scales[1] * w @ (a * b) - scales[0] * w @ (a * signs)) / (2 * scales[1] * w @ a**2)
        candidates.append(min(max(x, low), high))
    return min(min(candidates, key=value), upper)


# --- problems --------------------------------------------------------------------------------


def symmetric(A):
    """Return the part of A above the diagonal and its transpose."""
    A = np.triu(A, 1)
    return A + A.T


def documents(seed=0, n=40, m=25, dtype=np.float64, duplicate=True):
    """Return rows of length 1 with many zeros.

    A Gram matrix takes 1 as its largest similarity: with a duplicate it is.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n, m)) * (rng.random((n, m)) < 0.2)
    X[np.arange(n), rng.integers(0, m, n)] += 0.5
    if duplicate:
        X[-1] = X[0]
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype)


def as_input(kind, X):
    """Return the similarities X X^T in one of the storages."""
    if kind == "sparse gram":
        return od.similarity.gram(sparse.csr_array(X))
    if kind == "gram":
        return od.similarity.gram(X)
    A = X @ X.T
    A = np.maximum(A, A.T)
    return sparse.csr_array(A) if kind == "sparse" else A


def degenerate():
    """Return similarities in which much is zero, equal, negative or of extreme size."""
    rng = np.random.default_rng(5)
    isolated = symmetric(rng.random((8, 8)))
    isolated[[2, 5]] = isolated[:, [2, 5]] = 0
    star = np.zeros((8, 8))
    star[0, 1:] = star[1:, 0] = 1
    hub = symmetric(rng.random((10, 10)))
    hub[3] *= 1e6
    hub[:, 3] *= 1e6
    H = rng.random((9, 2)) * (rng.random((9, 2)) < 0.6)
    return {
        "one item": np.zeros((1, 1)),
        "two items": np.array([[0.0, 0.7], [0.7, 0.0]]),
        "zero": np.zeros((6, 6)),
        "negative": -symmetric(rng.random((6, 6))),
        "equal": np.ones((6, 6)),
        "isolated items": isolated,
        "disconnected": np.kron(np.eye(3), np.ones((3, 3))),
        "one edge": symmetric(np.eye(7, k=6)),
        "star": star,
        "hub": hub,
        "exact": H @ H.T,
        "path": symmetric(np.eye(9, k=1)),
        "signed": symmetric(rng.standard_normal((9, 9))),
        "tiny": 1e-50 * symmetric(rng.random((7, 7))),
        "large": 1e50 * symmetric(rng.random((7, 7))),
    }


DEGENERATE = degenerate()


# --- fits ------------------------------------------------------------------------------------


def quiet(*args, **options):
    """Return factorize(...) without the warning that max_iter was reached."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return od.factorize(*args, **options)


def swept(A, H, loss="l2", diagonal="ignore", *, count=1, upper=np.inf, empty=0.0, **weights):
    """Return H after some sweeps, without a stopping rule or cleaning of columns."""
    A = as_similarity(A, **weights)
    solver = make_solver(loss, A, upper, diagonal=diagonal)
    solver.H = np.array(H, dtype=A.dtype)
    for sweep in range(count):
        if sweep % solver.refresh_every == 0:
            solver.refresh()
        solver.sweep(np.arange(A.n), empty)
    return solver.H


def assert_close(result, expected, tolerance):
    """Compare with an absolute tolerance, relative to the largest entry."""
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance * scale)
