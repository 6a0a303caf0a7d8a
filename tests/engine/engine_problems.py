"""Problems, naive formulas and runners that the tests of the engine share."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from benchmarks import against
from odsymnmf import similarity
from odsymnmf.init import greedy as greedy_start
from odsymnmf.paper.algorithm_6 import greedy_init
from odsymnmf.solvers.losses import make_solver

# (loss, diagonal): l2, l1, symNMF
LOSSES = [("l2", "ignore"), ("l1", "ignore"), ("l2", "fit")]
STARTS = ["greedy", "spectral", "random", "zero"]


def pairwise(axes, **options):
    """Parametrize by combinations in which every pair of values of two axes occurs.

    An axis named "loss, diagonal" has pairs as values.
    """
    rows = []
    for choice in against.pairwise(axes):
        cells = [value if "," in name else [value] for name, value in choice.items()]
        rows.append([value for cell in cells for value in cell])
    return pytest.mark.parametrize(", ".join(axes), rows, **options)


def naive_objective(A, H, loss="l2", diagonal="ignore"):
    """The definition, pair by pair."""
    A, H = np.asarray(A, dtype=float), np.asarray(H, dtype=float)
    total = 0.0
    for i in range(len(A)):
        for j in range(len(A)):
            if i != j or diagonal == "fit":
                total += abs(A[i, j] - H[i] @ H[j]) ** (1 if loss == "l1" else 2)
    return total


def energy(A, loss="l2", diagonal="ignore"):
    """What there is to explain: the objective at H = 0, or 1 if that is 0."""
    return naive_objective(A, np.zeros((len(A), 1)), loss, diagonal) or 1.0


def symmetric(upper_part):
    upper_part = np.triu(upper_part, 1)
    return upper_part + upper_part.T


def quiet(*args, **options):
    """factorize without the warning that max_iter was hit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return od.factorize(*args, **options)


def swept(A, H0, loss="l2", diagonal="ignore", *, count, upper=np.inf, empty=0.0, **weights):
    """Return H0 after some bare sweeps: no stopping rule, no cleaning."""
    A = similarity.as_similarity(A, **weights)
    solver = make_solver(loss, A, upper, diagonal=diagonal)
    solver.H = np.array(H0, dtype=A.dtype)
    for sweep in range(count):
        if sweep % solver.refresh_every == 0:
            solver.refresh()
        solver.sweep(np.arange(A.n), empty)
    return solver.H


def greedy(A, r, loss, upper=np.inf):
    """Return the greedy start."""
    return greedy_start.greedy(make_solver(loss, similarity.as_similarity(A), upper), r)


def documents(seed=0, n=40, m=25, twins=True, dtype=np.float64):
    """A table of documents with rows of length 1, most of its entries zero.

    Twins are two documents alike, so that the largest similarity is 1, as Gram assumes.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n, m)) * (rng.random((n, m)) < 0.2)
    X[np.arange(n), rng.integers(0, m, n)] += 0.5
    if twins:
        X[-1] = X[0]
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(dtype)


def as_kind(kind, X):
    """Return the similarities X X^T as one of the four kinds of input."""
    if kind == "gram of sparse":
        return similarity.gram(sparse.csr_array(X))
    if kind == "gram of dense":
        return similarity.gram(X)
    A = X @ X.T
    A = np.maximum(A, A.T)
    return sparse.csr_array(A) if kind == "sparse" else A


KINDS = ["dense", "sparse", "gram of sparse", "gram of dense"]


def paper_greedy(A, r, p, scale=None, upper=np.inf):
    """Algorithm 6 wants a largest similarity of 1: A / scale, and sqrt(scale) times its answer."""
    largest = symmetric(A).max(initial=0.0)
    scale = scale or largest
    if scale == 0:
        return np.zeros((len(A), r))
    bound = upper / np.sqrt(scale)
    own = greedy_start.SELF_SIMILARITY * scale / largest
    H = greedy_init(A / scale, r, p, self_similarity=own, upper=bound)
    return H * np.sqrt(scale)


def degenerate():
    """Yield (name, A) for graphs at the edge of what makes sense."""
    rng = np.random.default_rng(5)
    yield "one item", np.zeros((1, 1))
    yield "two items", np.array([[0.0, 0.7], [0.7, 0.0]])
    yield "two strangers", np.zeros((2, 2))
    yield "two enemies", np.array([[0.0, -0.7], [-0.7, 0.0]])
    yield "all zero", np.zeros((6, 6))
    yield "all negative", -symmetric(rng.random((6, 6)))
    yield "all equal", np.ones((6, 6))
    A = symmetric(rng.random((8, 8)))
    A[[2, 5]] = A[:, [2, 5]] = 0
    yield "isolated items", A
    yield "disconnected", np.kron(np.eye(3), np.ones((3, 3)))
    yield "one edge", symmetric(np.eye(7, k=6))
    A = np.zeros((8, 8))
    A[0, 1:] = A[1:, 0] = 1
    yield "star", A
    A = symmetric(rng.random((10, 10)))
    A[3] *= 1e6
    A[:, 3] *= 1e6
    yield "huge hub", A
    H = rng.random((9, 2)) * (rng.random((9, 2)) < 0.6)
    yield "exact", H @ H.T
    yield "path", symmetric(np.eye(9, k=1))
    yield "binary", symmetric((rng.random((9, 9)) < 0.4).astype(float))
    yield "signed", symmetric(rng.standard_normal((9, 9)))
    yield "tiny", 1e-100 * symmetric(rng.random((7, 7)))
    yield "large", 1e70 * symmetric(rng.random((7, 7)))


DEGENERATE = dict(degenerate())
