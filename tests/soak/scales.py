"""Similarities of every size, with every loss and kind of input: the same digits, nothing lost."""

import numpy as np
from scipy import sparse

import odsymnmf as od
from odsymnmf import similarity

from .lines import Line
from .problems import LOSSES, STARTS, quiet

FORMS = ("dense", "sparse", "gram", "gram-sparse", "unknown")
# Powers of two by which features may be multiplied: to 1e150, and 1e18 in single precision.
MOST = {np.float64: 249, np.float32: 29}


def problem(rng, dtype, form):
    """Return similarities as a function of the factor of their roots."""
    n, m = int(rng.integers(2, 20)), int(rng.integers(1, 6))
    X = (rng.random((n, m)) * (rng.random((n, m)) < 0.6)).astype(dtype)
    if form.startswith("gram"):
        made = sparse.csr_array if form == "gram-sparse" else np.asarray
        return n, lambda root: similarity.gram(made(X * root))
    A = np.triu(X @ X.T - dtype(0.1), 1)
    A += A.T
    if form == "unknown":
        A[0, 1] = A[1, 0] = np.nan
    made = sparse.csr_array if form == "sparse" else np.asarray
    return n, lambda root: made(A * root * root)


def once(seed, k):
    """Multiply by a power of four: H by its root, to the bit, and the objective by its power."""
    rng = np.random.default_rng([seed, k])
    name, form = (str(rng.choice(list(names))) for names in (LOSSES, FORMS))
    dtype = (np.float64, np.float32)[k % 2]
    loss, diagonal = LOSSES[name]
    n, at = problem(rng, dtype, form)
    e = int(rng.integers(-MOST[dtype], MOST[dtype] + 1))
    root = dtype(2.0) ** e
    options = {
        "loss": loss,
        "diagonal": diagonal,
        "init": str(rng.choice([start for start in STARTS if start not in ("spectral", "nndsvd")])),
        "restarts": 1 if diagonal == "ignore" else None,
        "max_iter": 15,
        "random_state": 0,
    }
    r = int(rng.integers(1, 5))
    one, other = (quiet(at(factor), r, **options) for factor in (dtype(1), root))
    np.testing.assert_array_equal(other.H, one.H * root)
    power = {"l1": 2, "l2": 4}.get(loss, 0) * e
    np.testing.assert_array_equal(other.history, np.ldexp(one.history, power))
    assert np.isfinite(other.history).all()
    again = od.objective(at(root), other.H, loss, diagonal, l1_ratio=0.5)
    terms = np.ldexp(float(od.objective(at(dtype(1)), np.zeros((n, 1)), loss, diagonal)), power)
    assert abs(again - other.objective) <= 1e-5 * max(again, terms), (again, other.objective)


LINES = {"scales": Line("every loss and input at every scale: the same digits", 1_000, once)}
