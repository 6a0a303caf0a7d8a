"""The front door: factorize(A, r) and the objective."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from odsymnmf.blas import threads_for
from odsymnmf.init import given, start
from odsymnmf.losses import L1, L2, Loss
from odsymnmf.random_state import RandomState, as_random
from odsymnmf.restarts import descend_with_restarts
from odsymnmf.similarity import Similarity, as_similarity
from odsymnmf.solver import Callback, Run

Array = NDArray[Any]

# No entry of H exceeds the root of the largest similarity by more: it could only belong to a hub
# that runs away, and in the end takes all digits of its partners with it.
LARGEST = 1e4
# Rounds of column restarts: measured in docs/results/starts.md.
RESTARTS = {"l2": 0, "l1": 10}


@dataclass(frozen=True)
class Factorization:
    """What `factorize` found.

    Attributes
    ----------
    H : ndarray of shape (n, r)
        Memberships: H[i, l] says how strongly item i belongs to cluster l.
    objective : float
        The value of the loss at H.
    history : ndarray of shape (1 + n_iter + len(restarts),)
        The objective at the start, after every sweep and after every accepted restart of a
        column; it never rises.
    n_iter : int
        Number of complete sweeps.
    converged : bool
        Whether the tolerance was reached.
    restarts : ndarray of int
        Which entries of ``history`` follow an accepted restart.
    """

    H: Array
    objective: float
    history: Array
    n_iter: int
    converged: bool
    restarts: Array

    def __repr__(self) -> str:
        n, r = self.H.shape
        state = "converged" if self.converged else "not converged"
        return (
            f"Factorization(n={n}, r={r}, objective={self.objective:.6g}, "
            f"n_iter={self.n_iter}, {state})"
        )


def factorize(
    A: Any,
    r: int,
    *,
    loss: Literal["l2", "l1"] = "l2",
    init: Any = "greedy",
    diagonal: Literal["ignore", "fit"] = "ignore",
    max_iter: int = 200,
    tol: float = 1e-4,
    upper: float | None = None,
    restarts: int | None = None,
    random_state: RandomState = None,
    callback: Callback | None = None,
) -> Factorization:
    """Find H >= 0 with A_ij ~ (H H^T)_ij for every pair i != j.

    Minimise sum_{i != j} |A_ij - h_i . h_j|^p over H >= 0 (n x r), p = 2 or 1, by exact
    coordinate descent, row by row. The diagonal of A is never looked at.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Symmetric similarities; `odsymnmf.similarity.cosine(X)` for documents. Negative entries
        pull items apart. float32 and float64 are kept.
    r : int
        Number of columns of H, the clusters.
    loss : {"l2", "l1"}
        Squared errors, or absolute errors: better for binary A with wrong or missing links.
    init : {"greedy", "spectral", "nndsvd", "random", "zero", "l2"} or array-like of shape (n, r)
        The start. "greedy" is the paper's, "spectral" the fastest on large graphs, "nndsvd" the
        usual one of NMF, made symmetric. "l2" is for l1 only: the l2 fit from the greedy start
        (its sweeps are not counted).
    diagonal : {"ignore", "fit"}
        "fit" includes the diagonal: symNMF, for l2 only.
    max_iter : int
        Most sweeps; a sweep updates every entry of H once. Those over a few items after a
        restart do not count.
    tol : float
        Stop when the violation of the optimality conditions has fallen to this fraction of that
        in the first sweep (l2), or no entry moves by more than this fraction of the largest (l1).
    upper : float, optional
        Upper bound on the entries of H. Hubs can have entries that grow without end (and are
        stopped at 10,000 times the root of the largest similarity); for binary A, ``upper=1``
        makes H comparable to memberships between 0 and 1.
    restarts : int, optional
        Most rounds of column restarts. When a sweep changes little, every column in turn is
        taken out and built anew, greedily, on what the others leave over; it is kept if that
        lowers the objective. Rounds end when one changes nothing. None means 10 for l1, which
        otherwise depends much on its start, and 0 for l2.
    random_state : int, Generator, RandomState or None
        Seeds the starts that draw numbers. Same input and seed, same bits.
    callback : callable, optional
        Called after every sweep with an object that has ``n_iter``, ``objective`` and ``H``,
        and after every column that was built anew, whose number is then in ``column`` (else
        None); returning True stops.

    Returns
    -------
    Factorization

    Warns
    -----
    ConvergenceWarning
        When ``max_iter`` sweeps did not reach ``tol``.

    Notes
    -----
    Ctrl-C returns the last complete sweep or accepted restart, with ``converged=False``.

    Examples
    --------
    Two clusters that share an item, which no factorization of the whole matrix can show:

    >>> import odsymnmf as od
    >>> f = od.factorize([[1, 1, 0], [1, 1, 1], [0, 1, 1]], 2, loss="l1")
    >>> f.H
    array([[1., 0.],
           [1., 1.],
           [0., 1.]])
    >>> f.objective
    0.0
    """
    similarity = as_similarity(A)
    r = whole_number("r", r, 1)
    max_iter = whole_number("max_iter", max_iter, 0)
    if not isinstance(tol, Real) or not tol >= 0:
        raise ValueError(f"tol must be a number >= 0; got {tol!r}.")
    bound = _bound(upper)
    if diagonal == "ignore" and similarity.scale > 0:
        bound = min(bound, LARGEST * np.sqrt(similarity.scale))
    # In the precision of H, or entries at the bound would look as if they could still grow.
    bound = float(similarity.dtype.type(bound))
    measure = _loss(similarity, loss, diagonal, bound)
    rounds = RESTARTS[loss] if restarts is None else whole_number("restarts", restarts, 0)
    rng = as_random(random_state)
    with threads_for(similarity.blas_work(r)):
        named = isinstance(init, str)
        if named and init == "l2":
            H = _from_l2(similarity, r, loss, bound, max_iter, float(tol))
        else:
            H = start(similarity, r, init, l1=loss == "l1", upper=bound, rng=rng)
        with Run(measure, H, max_iter=max_iter, tol=float(tol), callback=callback) as run:
            lift = float(H.max(initial=0.0)) if named and init == "zero" else 0.0
            descend_with_restarts(run, rounds, empty=lift)
        solution = run.solution()
    return Factorization(
        solution.H,
        float(solution.history[-1]),
        solution.history,
        solution.n_iter,
        solution.converged,
        solution.restarts,
    )


def objective(
    A: Any,
    H: Any,
    loss: Literal["l2", "l1"] = "l2",
    diagonal: Literal["ignore", "fit"] = "ignore",
) -> float:
    """Return sum_{i != j} |A_ij - h_i . h_j|^p, p = 2 or 1, at the cost of the stored entries.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Symmetric similarities.
    H : array-like of shape (n, r)
        Memberships.
    loss : {"l2", "l1"}
        p = 2 or p = 1.
    diagonal : {"ignore", "fit"}
        "fit" adds the terms i = j (l2 only).

    Returns
    -------
    float

    Examples
    --------
    >>> import odsymnmf as od
    >>> od.objective([[0, 1], [1, 0]], [[1], [3]], loss="l1")
    4.0
    """
    similarity = as_similarity(A)
    H = np.atleast_2d(np.asarray(H))
    H = given(similarity, H.shape[1], H, "H")
    return _loss(similarity, loss, diagonal, np.inf).objective(H)


def _from_l2(A: Similarity, r: int, loss: str, upper: float, max_iter: int, tol: float) -> Array:
    """Return the l2 fit from the greedy start, where l1 is to go on."""
    if loss != "l1":
        raise ValueError('init="l2" is a start for loss="l1"; use "greedy" for loss="l2".')
    H = start(A, r, "greedy", l1=False, upper=upper, rng=None)
    run = Run(L2(A, upper), H, max_iter=max_iter, tol=tol)
    run.descend()
    return run.complete


def _loss(A: Similarity, loss: str, diagonal: str, upper: float) -> Loss:
    if diagonal not in ("ignore", "fit"):
        raise ValueError(f'diagonal={diagonal!r} is not known; use "ignore" or "fit".')
    if loss == "l2":
        return L2(A, upper, fit_diagonal=diagonal == "fit")
    if loss != "l1":
        raise ValueError(f'loss={loss!r} is not known; use "l2" or "l1".')
    if diagonal == "fit":
        raise ValueError('loss="l1" cannot fit the diagonal; use diagonal="ignore" or loss="l2".')
    return L1(A, upper)


def whole_number(name: str, value: Any, least: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}; got {value!r}.")
    return int(value)


def _bound(upper: float | None) -> float:
    if upper is None:
        return float("inf")
    if not isinstance(upper, Real) or not upper > 0:
        raise ValueError(f"upper must be a number > 0, or None for no bound; got {upper!r}.")
    return float(upper)
