"""The front door: factorize(A, r) and the objective."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

import odsymnmf
from odsymnmf import storage
from odsymnmf.arrays import Array
from odsymnmf.blas import one_thread, threads_for
from odsymnmf.defaults import usual_start
from odsymnmf.engine.checkpoint import Checkpoint, array_of, seed_of
from odsymnmf.engine.losses import Scales, make_loss
from odsymnmf.engine.many.choice import sparse_is_chosen
from odsymnmf.engine.memory import require_memory
from odsymnmf.engine.run import Callback, Run, Status
from odsymnmf.engine.scale import Scale, within_reason
from odsymnmf.engine.sets import as_sets
from odsymnmf.engine.starts import given, of_sets, start
from odsymnmf.engine.sweeps import Rounds
from odsymnmf.engine.team import Team
from odsymnmf.inputs import is_dask, is_elsewhere, similarities, weights_for
from odsymnmf.options import bound, number, threads, whole_number
from odsymnmf.problem import Similarity, Sparse, as_similarity, fingerprint
from odsymnmf.random_state import RandomState, as_random
from odsymnmf.signals import held

LossName = Literal["l2", "l1", "mixed", "robust"]
Memberships = Literal["auto", "sparse", "full"]

SQUARED = Scales(0.0, 1.0)
# The kind of file that results are saved in.
MODEL = "model"


@dataclass(frozen=True)
class Factorization:
    """What `factorize` found.

    Attributes
    ----------
    H : ndarray or scipy.sparse.csr_array of shape (n, r)
        Memberships: H[i, l] says how strongly item i belongs to cluster l.
    objective : float
        The value of the loss at H.
    history : ndarray of shape (1 + n_iter + len(restarts),)
        The objective at the start, after every sweep and after every accepted restart of a
        column; it never rises. With sparse memberships and l2, that is the objective plus the
        price of the memberships, which the last value exceeds ``objective`` by.
    n_iter : int
        Number of complete sweeps.
    status : {"converged", "max_iter", "stopped", "interrupted"}
        Why it ended: the tolerance was reached, ``max_iter`` was, the callback said stop, or
        Ctrl-C was pressed.
    restarts : ndarray of int
        Which entries of ``history`` follow an accepted restart.
    mix : dict or None
        For the losses "mixed" and "robust": ``l1_ratio``, the share of l1, and ``l1`` and ``l2``,
        both losses relative to what they are without memberships.
    scales : Scales
        (l1, l2): the loss is l1 times the absolute plus l2 times the squared errors.
    names : list or None
        What the items are called, if A is a graph, a DataFrame or AnnData.
    """

    H: Any
    objective: float
    history: Array
    n_iter: int
    status: Status
    restarts: Array
    mix: dict[str, float] | None = None
    scales: Scales = SQUARED
    names: list[Any] | None = None

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status == "converged"

    @property
    def memberships(self) -> Literal["sparse", "full"]:
        """How H is stored: by its non-zeros, or in full."""
        return "sparse" if sparse.issparse(self.H) else "full"

    def save(self, path: str | Path) -> None:
        """Write it into one file, which `odsymnmf.load` reads; complete or not there.

        Parameters
        ----------
        path : path
            A regular file there is replaced.

        Examples
        --------
        >>> import os, tempfile
        >>> import odsymnmf as od
        >>> f = od.factorize([[0, 1], [1, 0]], 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "f.odsym")
        ...     f.save(path)
        ...     od.load(path)
        Factorization(n=2, r=1, objective=0, n_iter=1, converged)
        """
        header = {
            "class": "Factorization",
            "version": odsymnmf.__version__,
            "objective": self.objective,
            "n_iter": self.n_iter,
            "status": self.status,
            "mix": self.mix,
            "scales": list(self.scales),
        }
        arrays = {"H": self.H, "history": self.history, "restarts": self.restarts}
        storage.write(path, MODEL, header, arrays)

    @classmethod
    def from_stored(cls, header: dict[str, Any], arrays: dict[str, Any]) -> "Factorization":
        """Return what `save` has written; ValueError or the like if that makes no sense."""
        H, history, restarts = arrays["H"], arrays["history"], arrays["restarts"]
        values = H.data if sparse.issparse(H) else H
        if (
            H.ndim != 2
            or values.dtype.kind != "f"
            or not (np.isfinite(values) & (values >= 0)).all()
        ):
            raise ValueError("its memberships are no finite numbers >= 0")
        if history.ndim != 1 or history.dtype != np.float64 or not len(history):
            raise ValueError("its history is none")
        if restarts.ndim != 1 or restarts.dtype.kind not in "iu":
            raise ValueError("its restarts are none")
        mix, scales = header["mix"], [float(scale) for scale in header["scales"]]
        if mix is not None:
            mix = {str(name): float(value) for name, value in mix.items()}
        if header["status"] not in get_args(Status):
            raise ValueError("its status is none")
        return cls(
            H,
            float(header["objective"]),
            history,
            int(header["n_iter"]),
            header["status"],
            restarts.astype(np.intp),
            mix,
            Scales(*scales),
        )

    def __repr__(self) -> str:
        n, r = self.H.shape
        return (
            f"Factorization(n={n}, r={r}, objective={self.objective:.6g}, "
            f"n_iter={self.n_iter}, {self.status})"
        )


def factorize(
    A: Any,
    r: int | Literal["auto"],
    *,
    loss: LossName = "l2",
    l1_ratio: float = 0.5,
    init: Any = "auto",
    diagonal: Literal["ignore", "fit"] = "ignore",
    weights: Any = None,
    zero_weight: float = 1.0,
    max_iter: int = 200,
    tol: float = 1e-4,
    upper: float | None = None,
    restarts: int | None = None,
    memberships: Memberships = "auto",
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callback: Callback | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 60.0,
) -> Factorization:
    """Find H >= 0 with A_ij ~ (H H^T)_ij for every pair i != j.

    Minimise sum_{i != j} w_ij |A_ij - h_i . h_j|^p over H >= 0 (n x r), p = 2 or 1, by exact
    coordinate descent, row by row. The diagonal of A is never looked at.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Symmetric similarities; `odsymnmf.similarity.cosine(X)` for documents. A networkx or igraph
        graph, a DataFrame or AnnData is taken too (`odsymnmf.inputs.similarities`), and a dask
        array in blocks of rows, which the workers of the current Dask client share
        (`odsymnmf.distributed`). Negative
        entries pull items apart. float32 and float64 are kept. NaN off the diagonal (or a masked
        entry) is an unknown pair, which is left out.
    r : int or "auto"
        Number of columns of H, the clusters. "auto", with sparse memberships: as many as the
        start finds, thousands perhaps (`odsymnmf.choose.n_clusters` for full ones).
    loss : {"l2", "l1", "mixed", "robust"}
        Squared errors; absolute errors, better for binary A with wrong or missing links; both,
        each relative to its value without memberships, in the ratio ``l1_ratio``; or the larger
        of these two.
    l1_ratio : float
        The share of l1 in ``loss="mixed"``, from 0 (l2) to 1 (l1).
    init : str, array (n x r), labels, or list of sets
        The start. "auto" is "spectral" for l2 and more than 500 items, else "greedy"; with sparse
        memberships it is "ego". Labels are one whole number per item, -1 for none; sets hold the
        numbers of items, and may overlap. For sparse memberships: "ego" (sets of neighbours, which
        need no number of clusters), "leiden", "label_propagation" (igraph's), labels, sets, or a
        sparse array (n x r). For full ones: "greedy", "spectral", "nndsvd", "random", "zero", "l2",
        "mixed", an array, labels or sets. "greedy" is the paper's, "spectral" the fastest on large
        graphs, "nndsvd" the usual one of NMF, made symmetric. "l2" and "mixed" are the fits of
        these losses from the greedy start, for another loss to go on from (their sweeps are not
        counted).
    diagonal : {"ignore", "fit"}
        "fit" includes the diagonal: symNMF, for l2 only.
    weights : array-like or sparse of shape (n, n), optional
        What every pair weighs, symmetric and >= 0; 0 is an unknown pair. A pair that sparse
        weights do not store keeps its ordinary weight.
    zero_weight : float
        What a pair weighs that a sparse A does not store. Less than 1 makes l1 and l2 explain more
        of the links of a sparse graph, at the price of pairs that are not linked.
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
        otherwise depends much on its start, and 0 for l2 and for sparse memberships.
    memberships : {"auto", "sparse", "full"}
        How H is stored. "sparse": by its non-zeros, as a CSR array, at a cost that follows the
        memberships and not r; for a sparse A, l2 and l1. l1 is the same problem either way. In l2
        a membership then has a price, or H would fill with small entries: one is kept where it
        lowers the objective by more than 0.05 of what the item's best cluster alone would; and
        ``upper=None`` means the root of the largest similarity. "auto" is "full", unless r is
        above 500 and n r above 2^24, H does not fit into memory, or r or init ask for "sparse".
    n_jobs : int, optional
        Threads that share a sweep, -1 for all cores. A sweep then goes in rounds, see the notes.
        The result is the same for every number, to the bit. None sweeps row by row, in one
        thread: another local minimum, perhaps. Sparse memberships are swept row by row, in one
        thread, whatever it is.
    random_state : int, Generator, RandomState or None
        Seeds the starts that draw numbers. Same input and seed, same bits.
    callback : callable, optional
        Called after every sweep with an object that has ``n_iter``, ``objective`` and ``H``,
        and after every column that was built anew, whose number is then in ``column`` (else
        None); returning True stops. With sparse memberships of many items also within a sweep,
        when ``rows`` of its rows are done (else None).
    checkpoint : path, optional
        A file in which the fit is written down after the start, then now and then, and at its end.
        If it exists, the fit goes on from there and ends with the same bits as if it had never
        been stopped; once done, it returns at once. The file of other data, parameters or another
        version is refused, and never overwritten. It is yours to remove. Not for sparse
        memberships.
    checkpoint_every : float
        Least seconds between two writes; 0 writes after every step.

    Returns
    -------
    Factorization

    Warns
    -----
    ConvergenceWarning
        When ``max_iter`` sweeps did not reach ``tol``.
    InterruptedWarning
        When Ctrl-C ended it early.

    Notes
    -----
    Ctrl-C returns the last complete sweep or accepted restart, with status "interrupted" and a
    warning; before the start is done, and at a second Ctrl-C, KeyboardInterrupt is raised.
    Similarities whose largest is beyond 2^200 or below 2^-200 (float32: 2^40) are multiplied by a
    power of two for the fit, which changes no digit of the result.

    With ``n_jobs``, every sixteenth row is updated at once, against H as it was before, and the
    step is split where the objective would rise. The start and column restarts use one thread.

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
    given_names = None
    if is_dask(A):
        from odsymnmf import distributed

        given_names, client = getattr(A, "names", None), distributed.current_client()
        if client is not None:
            A = distributed.looked_at(client, A)
        else:
            A, n_jobs = distributed.gathered(A), -1 if n_jobs is None else n_jobs
    if is_elsewhere(A):
        from odsymnmf.distributed.fit import fit as fit_elsewhere

        outcome = fit_elsewhere(
            A,
            r,
            loss=loss,
            l1_ratio=l1_ratio,
            init=init,
            diagonal=diagonal,
            weights=weights,
            zero_weight=zero_weight,
            max_iter=max_iter,
            tol=tol,
            upper=upper,
            restarts=restarts,
            memberships=memberships,
            random_state=random_state,
            callback=callback,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
        )
        if outcome.status == "max_iter" and max_iter > 0:
            warn_unconverged(tol, max_iter, stacklevel=2)
        if outcome.status == "interrupted":
            warn_interrupted(outcome.n_iter, stacklevel=2)
        return Factorization(*outcome, given_names)
    A, names = similarities(A)
    names = given_names or names
    similarity = as_similarity(A, weights_for(weights, names), zero_weight)
    columns = None if isinstance(r, str) and r == "auto" else whole_number("r", r, 1)
    max_iter, tol = whole_number("max_iter", max_iter, 0), number("tol", tol, 0)
    jobs, rng = threads(n_jobs), as_random(random_state)
    if sparse_is_chosen(memberships, similarity, columns, loss=loss, diagonal=diagonal, init=init):
        assert isinstance(similarity, Sparse)
        _refuse_with_sparse(similarity, restarts, checkpoint)
        with held():  # this imports Numba, which Ctrl-C must not cut in two
            from odsymnmf.engine.many.fit import fit as fit_sparse
        upper = upper_bound(similarity, upper, loss, "sparse")
        options: Any = {"max_iter": max_iter, "tol": tol, "upper": upper, "callback": callback}
        found = fit_sparse(similarity, columns, init, rng, loss=loss, **options)
        if found.status == "max_iter" and max_iter > 0:
            warn_unconverged(tol, max_iter, stacklevel=2)
        if found.status == "interrupted":
            warn_interrupted(found.n_iter, stacklevel=2)
        none = np.empty(0, dtype=np.intp)
        scales = Scales(1.0, 0.0) if loss == "l1" else SQUARED
        return Factorization(*found, none, None, scales, names)
    assert columns is not None
    r = columns
    require_memory(similarity, r, init)
    scale = Scale.of(similarity)
    scaled = scale.similarity(similarity)
    limit = within_reason(scaled, float(scale.down(bound(upper))), diagonal)
    measure = make_loss(loss, scaled, limit, diagonal=diagonal, l1_ratio=l1_ratio)
    rounds = measure.restarts if restarts is None else whole_number("restarts", restarts, 0)
    if isinstance(init, str) and init == "auto":
        init = usual_start(similarity, loss)
    first = _first(init, scaled, r, scale)
    kept = None
    if checkpoint is not None:
        every = number("checkpoint_every", checkpoint_every, 0)
        identity = {
            "version": odsymnmf.__version__,
            "data": fingerprint(similarity, diagonal == "fit"),
            "init": init if isinstance(init, str) else "array",
            "start": array_of(first),
            "random_state": seed_of(random_state),
            **{"r": r, "loss": loss, "diagonal": diagonal, "l1_ratio": float(l1_ratio)},
            **{"max_iter": max_iter, "tol": tol, "upper": bound(upper), "restarts": rounds},
            "rounds": jobs is not None,
        }
        kept = Checkpoint(checkpoint, every, identity)
    work = scaled.blas_work(r)
    with threads_for(work):
        saved = kept and kept.read((scaled.n, r), scaled.dtype)
        H = saved[0].H if saved else start(measure, r, first, rng)
    # Where threads share a sweep, BLAS should not ask for the cores too.
    with threads_for(work) if jobs is None else one_thread(), Team(jobs or 1) as team:
        run = Run(
            measure,
            H,
            max_iter=max_iter,
            tol=tol,
            rounds=rounds,
            callback=scale.callback(measure, callback),
            keep=None if kept is None else kept.keep,
            sweeps=None if jobs is None else Rounds(measure, team),
        )
        if kept and saved:
            kept.resume(run, *saved)
        H = run.complete()
        if kept and run.status != "interrupted":
            kept.end(run)
    if run.status == "max_iter" and max_iter > 0:
        warn_unconverged(tol, max_iter, stacklevel=2)
    if run.status == "interrupted":
        warn_interrupted(run.state.n_iter, stacklevel=2)
    history = scale.value(measure, run.history)
    return Factorization(
        scale.up(H),
        float(history[-1]),
        history,
        run.state.n_iter,
        run.status,
        np.array(run.state.restarts, dtype=np.intp),
        run.mix,
        scale.scales(measure),
        names,
    )


def objective(
    A: Any,
    H: Any,
    loss: LossName = "l2",
    diagonal: Literal["ignore", "fit"] = "ignore",
    *,
    l1_ratio: float = 0.5,
    weights: Any = None,
    zero_weight: float = 1.0,
) -> float:
    """Return sum_{i != j} w_ij |A_ij - h_i . h_j|^p, p = 2 or 1, at the cost of what A stores.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Symmetric similarities.
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    loss : {"l2", "l1", "mixed", "robust"}
        p = 2, p = 1, or both, as for `factorize`.
    diagonal : {"ignore", "fit"}
        "fit" adds the terms i = j (l2 only).
    l1_ratio : float
        The share of l1 in ``loss="mixed"``.
    weights, zero_weight
        What pairs weigh, as for `factorize`.

    Returns
    -------
    float

    Examples
    --------
    >>> import odsymnmf as od
    >>> od.objective([[0, 1], [1, 0]], [[1], [3]], loss="l1")
    4.0
    """
    similarity = as_similarity(A, weights, zero_weight)
    if sparse.issparse(H):
        sparse_is_chosen("sparse", similarity, None, loss=loss, diagonal=diagonal, init="auto")
        with held():
            from odsymnmf.engine.many.fit import sparse_objective
        assert isinstance(similarity, Sparse)
        return sparse_objective(similarity, H, loss)
    H = np.atleast_2d(np.asarray(H))
    H = given(similarity, H.shape[1], H, "H")
    scale = Scale.of(similarity)
    scaled = scale.similarity(similarity)
    measure = make_loss(loss, scaled, np.inf, diagonal=diagonal, l1_ratio=l1_ratio)
    return float(scale.value(measure, measure.objective(scale.down(H))))


def warn_unconverged(tol: float, max_iter: int, stacklevel: int) -> None:
    """Warn that the sweeps were too few."""
    # Imported here, because scikit-learn takes longer to import than most fits take.
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"no convergence to tol={tol} in max_iter={max_iter} sweeps; the result is usable: "
        "raise max_iter to come closer to a minimum, or raise tol to accept a less exact one",
        ConvergenceWarning,
        stacklevel=stacklevel + 1,
    )


def upper_bound(A: Similarity, upper: Any, loss: str, memberships: str) -> float:
    """Return the bound that a fit uses where the user has given ``upper``.

    Without one, sparse memberships of l2 are bounded by the root of the largest similarity: no
    cluster then calls a pair more similar than the most similar pair is.
    """
    if upper is None and memberships == "sparse" and loss == "l2" and A.largest > 0:
        upper = float(np.sqrt(A.largest))
    return within_reason(A, bound(upper), "ignore")


class InterruptedWarning(UserWarning):
    """Ctrl-C ended a fit; what it returned is the last complete sweep."""


def warn_interrupted(n_iter: int, stacklevel: int) -> None:
    """Warn that the result is what there was when Ctrl-C was pressed."""
    warnings.warn(
        f"interrupted: this is the result after {n_iter} complete sweeps, not a minimum",
        InterruptedWarning,
        stacklevel=stacklevel + 1,
    )


def _first(init: Any, A: Similarity, r: int, scale: Scale) -> Any:
    """Return the start by name, or as an array (n x r) for A, which is scaled."""
    if isinstance(init, str):
        return init
    sets = as_sets(init, A.n, r)
    if sets is not None:
        return of_sets(A, r, sets)
    return scale.down(init.toarray() if sparse.issparse(init) else init)


def _refuse_with_sparse(A: Similarity, restarts: Any, checkpoint: Any) -> None:
    """Refuse what sparse memberships do not know, with a remedy."""
    if restarts:
        raise ValueError(
            f"restarts={restarts}, but columns of sparse memberships are not rebuilt; leave it "
            'out, or use memberships="full".'
        )
    if checkpoint is not None:
        raise ValueError(
            "a fit of sparse memberships cannot be written down on its way; leave checkpoint out, "
            'or use memberships="full".'
        )
    if Scale.of(A).e:
        raise ValueError(
            f"the largest similarity, {A.peak:.3g}, is out of the range of sparse memberships; "
            'divide A by it, or use memberships="full".'
        )
