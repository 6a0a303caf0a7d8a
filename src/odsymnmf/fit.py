"""Fit validated similarities: partition, normalization, initialization, solver and sweeps."""

import threading
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

import odsymnmf
from odsymnmf.defaults import Settings, decide, warn_about_input
from odsymnmf.init.initialize import initialize
from odsymnmf.init.multilevel import Graph, Partition, columns, nonnegative
from odsymnmf.init.spectral import leading_eigenvectors, rotate_to_axes
from odsymnmf.persistence import checked_names, write_arrays
from odsymnmf.progress import Progress
from odsymnmf.similarity import Similarity
from odsymnmf.solvers.checkpoint import Checkpoint, hash_of_init, hash_of_similarity, seed_of
from odsymnmf.solvers.losses import loss_class
from odsymnmf.solvers.objective import Scales
from odsymnmf.solvers.rounds import Rounds, ThreadPool
from odsymnmf.solvers.run import Callback, Run, Status, Sweep
from odsymnmf.utils import (
    Array,
    RandomState,
    as_random,
    bound,
    check_memory,
    limit_blas_threads,
    threads,
    user_stacklevel,
    whole_number,
)

LossName = Literal["l2", "l1", "mixed", "robust"]
SparseMembership = bool | Literal["auto"]
# Sweeps from a partition end when one explains at most this many times ``tol`` more.
GAIN_PER_TOL = 10.0
# Labels from eigenvectors are compared with the partition if stored entries times r are at most
# this: for larger graphs, eigenvectors take longer than the partition.
MAX_SPECTRAL_WORK = 2e6
# Largest entry of H, in roots of the largest similarity: only the entry of a hub that grows without
# bound would be larger, and the entries of its neighbors would vanish in rounding.
MAX_ENTRY = 1e4
# The same if some pairs weigh less than others: entries of two items whose own pair has weight zero
# can grow together without changing f, and the fourth power of entries must not dominate all sums.
MAX_ENTRY_WEIGHTED = 32.0
SQUARED = Scales(0.0, 1.0)


class InterruptedWarning(UserWarning):
    """Ctrl-C ended a fit; the result is that of the last complete sweep."""


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Options of a fit, those of `odsymnmf.factorize`, checked.

    ``normalize`` is that of `odsymnmf.ODSymNMF`; ``from_partition`` is True if ``init`` is the H of
    a multilevel partition. Sweeps end when one gains at most the fraction ``min_gain`` of the
    explained part f(0) - f. `prepare` replaces "auto".
    """

    loss: LossName = "l2"
    l1_ratio: float = 0.5
    init: Any = "auto"
    diagonal: Literal["ignore", "fit"] = "ignore"
    normalize: Any = None
    max_iter: int = 200
    tol: float = 1e-4
    upper: Any = None
    restarts: int | None = None
    sparse_membership: SparseMembership = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None
    callback: Callback | None = None
    checkpoint: str | Path | None = None
    checkpoint_every: float = 60.0
    from_partition: bool = False
    loss_class: Any = field(init=False)
    min_gain: float = field(init=False)

    def __post_init__(self) -> None:
        whole_number("max_iter", self.max_iter, 0)
        for name, value in (("tol", self.tol), ("checkpoint_every", self.checkpoint_every)):
            if not isinstance(value, Real) or not float(value) >= 0:
                raise ValueError(f"{name} must be a number >= 0; got {value!r}.")
        if self.restarts is not None:
            whole_number("restarts", self.restarts, 0)
        if self.normalize not in (None, "degree", "auto"):
            raise ValueError(
                f'normalize={self.normalize!r} is not known; use "auto", "degree" or None.'
            )
        if not (isinstance(self.sparse_membership, bool) or self.sparse_membership == "auto"):
            raise ValueError(
                f"sparse_membership={self.sparse_membership!r} is not known; use True, False or "
                '"auto".'
            )
        if self.upper != "auto":
            bound(self.upper)
        chosen = loss_class(self.loss, self.diagonal, self.l1_ratio)
        object.__setattr__(self, "loss_class", chosen)
        relative = self.from_partition and chosen.relative_tol
        object.__setattr__(self, "min_gain", GAIN_PER_TOL * self.tol if relative else 0.0)

    def make_checkpoint(self, A: Similarity, r: int | None, **settings: Any) -> Checkpoint:
        """Return the checkpoint, with everything that determines the run."""
        assert self.checkpoint is not None
        identity: dict[str, Any] = {
            "version": odsymnmf.__version__,
            "data": hash_of_similarity(A),
            "init": self.init if isinstance(self.init, str) else "given",
            "init_hash": hash_of_init(self.init),
            "random_state": seed_of(self.random_state),
            "r": "auto" if r is None else r,
        }
        for name in ("loss", "diagonal", "l1_ratio", "max_iter", "tol", "sparse_membership"):
            identity[name] = getattr(self, name)
        settings |= {"rounds": self.n_jobs is not None, "min_gain": self.min_gain}
        identity["upper"] = bound(self.upper)
        return Checkpoint(self.checkpoint, self.checkpoint_every, identity | settings)


OPTION_NAMES = {option.name for option in fields(FitOptions) if option.init}


@dataclass(frozen=True)
class Factorization:
    """The result of `factorize`.

    Attributes
    ----------
    H : ndarray or scipy.sparse.csr_array of shape (n, r)
        Memberships: H[i, l] is the strength of item i in cluster l.
    objective : float
        The value of the loss at H.
    history : ndarray of shape (1 + n_iter + len(restart_steps),)
        The objective of the initialization, after every sweep and after every accepted restart of a
        column; it never increases. With sparse memberships and l2, that is the objective plus the
        penalty of the memberships, by which the last value exceeds ``objective``.
    n_iter : int
        Number of complete sweeps.
    status : {"converged", "max_iter", "stopped", "interrupted"}
        Why the fit ended: the tolerance or ``max_iter`` was reached, the callback returned True, or
        Ctrl-C was pressed.
    restart_steps : ndarray of int
        Which entries of ``history`` follow an accepted restart.
    loss_terms : dict or None
        For the losses "mixed" and "robust": ``l1_ratio``, the share of l1, and ``l1`` and ``l2``,
        both losses relative to their values at H = 0.
    scales : Scales
        (l1, l2): the loss is l1 times the absolute plus l2 times the squared errors.
    names : list or None
        The names of the items, if A is a graph, a DataFrame or AnnData.
    labels_changed : bool
        If ``max_iter`` was reached: whether the largest membership of an item has moved to another
        cluster in the second half of the sweeps. A warning says so.
    """

    H: Any
    objective: float
    history: Array
    n_iter: int
    status: Status
    restart_steps: Array
    loss_terms: dict[str, float] | None = None
    scales: Scales = SQUARED
    names: list[Any] | None = None
    labels_changed: bool = False

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status == "converged"

    def save(self, path: str | Path) -> None:
        """Save the result to one .npz file, which `odsymnmf.load` reads.

        Parameters
        ----------
        path : path
            An existing file is replaced.

        Examples
        --------
        >>> import os, tempfile
        >>> import odsymnmf as od
        >>> f = od.factorize([[0, 1], [1, 0]], 1)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = os.path.join(directory, "f.npz")
        ...     f.save(path)
        ...     od.load(path)
        Factorization(n=2, r=1, objective=0, n_iter=1, converged)
        """
        checked_names(self.names)
        arrays = {"H", "history", "restart_steps"}
        plain = {name: value for name, value in vars(self).items() if name not in arrays}
        write_arrays(path, "Factorization", plain, {name: getattr(self, name) for name in arrays})

    @classmethod
    def _from_arrays(cls, header: dict[str, Any], arrays: dict[str, Any]) -> "Factorization":
        names = ("objective", "n_iter", "status", "loss_terms", "names", "labels_changed")
        plain = {name: header[name] for name in names}
        return cls(scales=Scales(*header["scales"]), **plain, **arrays)

    def __repr__(self) -> str:
        n, r = self.H.shape
        return (
            f"Factorization(n={n}, r={r}, objective={self.objective:.6g}, "
            f"n_iter={self.n_iter}, {self.status})"
        )


class Problem(NamedTuple):
    """The normalized similarities and the values of all options.

    ``graph`` and ``partition`` are those of a multilevel initialization.
    """

    A: Similarity
    r: int | None
    options: FitOptions
    settings: Settings
    graph: Graph | None = None
    partition: Partition | None = None


def prepare(raw: Similarity, r: int | None, options: FitOptions) -> Problem:
    """Decide all options; partition the graph if ``init="multilevel"``; normalize it.

    ``raw`` are the similarities before they are normalized. With r = None, the initialization of a
    sparse H determines the number of clusters. For small graphs, labels from eigenvectors are
    candidates for the partition, too. Its seed is fixed without ``random_state``.
    """
    warn_about_input(raw, r)
    settings, graph, partition = decide(raw, r, options), None, None
    if isinstance(settings.init, str) and settings.init == "multilevel":
        assert r is not None
        graph, seed = Graph(nonnegative(raw)), 0
        if options.random_state is not None:
            seed = int(2**32 * as_random(options.random_state).uniform())
        partition = graph.partition(r, seed)
    scaling = settings.normalization  # only now: the partition needs the memory of a copy
    A = raw if scaling is None else raw.scale(scaling.roots)
    if settings.sparse:
        settings = replace(settings, upper=_sparse_bound(A, settings.upper, options.loss))
    options = replace(
        options, init=settings.init, upper=settings.upper, sparse_membership=settings.sparse
    )
    if r is None or graph is None or partition is None:
        return Problem(A, r, options, settings)
    if 0 < len(graph.links.data) * r <= MAX_SPECTRAL_WORK and r <= A.n:
        with limit_blas_threads():
            H = rotate_to_axes(leading_eigenvectors(A, r))
        labels = np.where(H.any(axis=1), H.argmax(axis=1), -1)
        spectral = Partition(labels, partition.resolution)
        partition = max(partition, graph.refine(spectral), spectral, key=graph.quality)
    n_groups, _ = graph.quality(partition)
    if n_groups < r:
        warnings.warn(
            f"{n_groups} groups found, fewer than the {r} clusters requested: the other "
            "columns of H are zero. Use fewer clusters, or another init.",
            stacklevel=user_stacklevel(),
        )
    options = replace(options, init=columns(A, partition.labels, r), from_partition=True)
    return Problem(A, r, options, settings, graph, partition)


def _sparse_bound(A: Similarity, upper: float | None, loss: str) -> float | None:
    """Return the bound on a sparse H, by default the root of the largest similarity for l2."""
    from odsymnmf.solvers.sparse_losses import SPARSE_LOSSES

    if upper is None and SPARSE_LOSSES[loss].bounded and A.max_value > 0:
        upper = float(np.sqrt(A.max_value))
    upper = _limit_upper(A, upper, "ignore")
    return upper if upper < np.inf else None


def _limit_upper(A: Similarity, upper: float | None, diagonal: str) -> float:
    """Return the upper bound, at most the limit for entries that would grow without bound."""
    limit = np.inf if upper is None else upper
    if diagonal == "ignore" and A.max_value > 0:
        lighter = A.weights.has_lighter
        size, peak = (MAX_ENTRY_WEIGHTED, A.pair_bound) if lighter else (MAX_ENTRY, A.max_value)
        limit = min(limit, size * float(np.sqrt(peak)))
    # Rounded to the dtype of H: an entry at the bound must not seem to be below it.
    return float(A.dtype.type(limit))


def fit(A: Similarity, r: int | None, options: FitOptions) -> Factorization:
    """Find H for options without "auto". `warn_of` warns: fits may run in threads."""
    is_sparse, n_jobs = options.sparse_membership is True, options.n_jobs
    jobs = None if n_jobs is None else threads(n_jobs)
    make_rounds = Rounds if isinstance(A, Similarity) else A.make_rounds  # on a Dask cluster
    with limit_blas_threads():
        solver, settings = (_sparse_solver if is_sparse else _dense_solver)(A, r, options)
        rows_in_turn = nullcontext(solver.sweep)
        with rows_in_turn if jobs is None else make_rounds(solver, jobs) as sweep:
            run = Run(
                solver,
                sweep,
                max_iter=options.max_iter,
                tol=options.tol,
                callback=options.callback,
                min_gain=options.min_gain,
                **settings,
            )
            H = run.complete()
        if is_sparse:
            if r is None:
                run.H.drop_empty()
            H = run.in_given_order(run.H)
            # If no cluster was found, H has one empty column.
            H.resize(A.n, max(1, H.shape[1]) if r is None else r)
    restart_steps = np.array(run.state.restarts, dtype=np.intp)
    return Factorization(
        H,
        float(run.end),
        run.history,
        run.state.n_iter,
        run.status,
        restart_steps,
        run.loss_terms,
        solver.scales,
        labels_changed=run.labels_changed,
    )


def _dense_solver(A: Similarity, r: int | None, options: FitOptions) -> tuple[Any, dict[str, Any]]:
    """Return a solver with an initial dense H, and options of its `Run`."""
    assert r is not None
    check_memory(
        peak_memory(A, r, options.init),
        f"a fit of {A.n:,} items with r={r:,}",
        "choose a smaller r, cluster fewer items, or give A in float32",
    )
    limit = _limit_upper(A, options.upper, options.diagonal)
    solver = options.loss_class(A, limit, options.l1_ratio)
    restarts = solver.restarts if options.restarts is None else options.restarts
    checkpoint = None
    if options.checkpoint is not None:
        checkpoint = options.make_checkpoint(A, r, restarts=restarts)
    if checkpoint and checkpoint.saved:
        solver.H = checkpoint.saved[1]["H"]
    elif options.from_partition:
        solver.H = options.init.toarray()
        np.minimum(solver.H, limit, out=solver.H)
    else:
        solver.H = initialize(solver, r, options.init, as_random(options.random_state))
    return solver, {"checkpoint": checkpoint, "restarts": restarts}


def _sparse_solver(A: Similarity, r: int | None, options: FitOptions) -> tuple[Any, dict[str, Any]]:
    """Return a solver with an initial sparse H, and options of its `Run`.

    Items are swept in the order of their strongest cluster: neighbors in the graph are then
    neighbors in memory.
    """
    # Imported here, because kernels take time to import.
    from odsymnmf.init import ego
    from odsymnmf.init.merging import merge_columns
    from odsymnmf.solvers.sparse_h import SparseH, links
    from odsymnmf.solvers.sparse_losses import MIN_GAIN, SPARSE_LOSSES

    if options.restarts:
        raise ValueError(
            f"restarts={options.restarts}, but columns of sparse memberships are not rebuilt; "
            "leave it out, or use sparse_membership=False."
        )
    upper, checkpoint = bound(options.upper), None
    if options.checkpoint is not None:
        checkpoint = options.make_checkpoint(A, r)
    saved, stored, parts = checkpoint and checkpoint.saved, links(A.to_csr()), False
    if saved:
        H, order = saved[1]["H"], saved[1]["order"]
    else:
        H, parts = ego.initialize_sparse(stored, r, options.init)
        H.data = np.minimum(H.data, upper)
        order = ego.order_by_strongest(H)
        H = H[order]
    stored, weights = ego.reordered(stored, order), A.weights.subset(order)
    make = partial(SPARSE_LOSSES[options.loss], stored, weights=weights, upper=upper)
    if options.from_partition and options.loss == "l2":
        make = partial(make, share=MIN_GAIN, penalized=False)
    M = SparseH(H, A.dtype)
    if parts:
        jobs = None if options.n_jobs is None else threads(options.n_jobs)
        M = _best_columns(merge_columns(stored, M, make, jobs), r)
    return make(M), {"checkpoint": checkpoint, "order": order}


def _best_columns(M: Any, r: int | None) -> Any:
    """Keep the r columns that explain most on their own."""
    if r is None or M.r == r:
        return M
    if M.r < r:
        warnings.warn(
            f"the initialization finds {M.r} clusters, fewer than r={r}: the other columns are "
            'zero. Use r="auto", give more sets with init=, or use sparse_membership=False.',
            stacklevel=user_stacklevel(),
        )
        return M
    H = M.csr()
    squares = np.bincount(H.indices, weights=H.data.astype(np.float64) ** 2, minlength=M.r)
    fourths = np.bincount(H.indices, weights=H.data.astype(np.float64) ** 4, minlength=M.r)
    best = np.argsort(-(squares**2 - fourths), kind="stable")[:r]
    M.keep_columns(np.sort(best))
    return M


def fit_best(problem: Problem, n_init: int, *, title: str, verbose: int) -> Factorization:
    """Fit from ``init`` and n_init - 1 random initializations, with progress.

    Returns the fit with the lowest objective; its status is "interrupted" if any fit was.
    """
    options, stop = problem.options, threading.Event()
    # Drawn in advance, so that the result does not depend on n_jobs.
    draws = as_random(options.random_state).uniform(size=n_init - 1)
    # One thread for each initialization; further threads share their sweeps.
    jobs = None if options.n_jobs is None else threads(options.n_jobs)
    together = min(jobs or 1, n_init)
    options = replace(options, n_jobs=None if jobs is None else jobs // together)
    results: list[tuple[float, int, Factorization]] = []
    lowest = np.inf
    progress = Progress(title, "iteration", verbose, n_init * options.max_iter)

    def callback(sweep: Sweep) -> bool:
        nonlocal lowest
        lowest = min(lowest, sweep.objective)
        rows = "" if sweep.rows is None else f", {sweep.rows:,} rows"
        progress.update(f"objective {lowest:.6g}{rows}", int(sweep.is_complete))
        return stop.is_set()

    def fit_one(k: int) -> None:
        if stop.is_set():
            return
        fit_options = replace(options, callback=callback)
        if k:
            seed, path = int(2**32 * draws[k - 1]), options.checkpoint
            fit_options = replace(
                fit_options, init="random", random_state=seed, from_partition=False,
                checkpoint=None if path is None else f"{path}.{k}",
            )  # fmt: skip
        try:
            result = fit(problem.A, problem.r, fit_options)
        except BaseException:
            stop.set()  # the other fits end after their current sweep
            raise
        if result.status == "interrupted":
            stop.set()
        results.append((result.objective, k, result))

    pool = ThreadPool(together)
    with progress, limit_blas_threads():
        try:
            pool.run([partial(fit_one, k) for k in range(n_init)])
        except KeyboardInterrupt:
            stop.set()
        finally:
            pool.close()
    if not results:  # interrupted before the first sweep
        raise KeyboardInterrupt
    best = min(results)[2]
    return replace(best, status="interrupted") if stop.is_set() else best


def warn_of(result: Factorization, options: FitOptions) -> None:
    """Warn if labels still changed when ``max_iter`` was reached, or if a fit was interrupted."""
    if result.status == "max_iter" and result.labels_changed:
        # Imported here: the import takes longer than most fits.
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"no convergence to tol={options.tol} in max_iter={options.max_iter} sweeps: labels "
            "changed in the second half of them. Increase max_iter for a more accurate minimum, or "
            "tol to stop earlier.",
            ConvergenceWarning,
            stacklevel=user_stacklevel(),
        )
    if result.status == "interrupted":
        warnings.warn(
            f"interrupted: the result is that after {result.n_iter} complete sweeps, not a minimum",
            InterruptedWarning,
            stacklevel=user_stacklevel(),
        )


def peak_memory(A: Similarity, r: int, init: Any) -> int:
    """Return an estimate of the peak memory of a fit in bytes, without A.

    H, its copy after the last complete sweep, and one array of that size in double precision; r x r
    sums and their copies in restarts; for features, the product X^T H; for a spectral
    initialization, its vectors.
    """
    entry = A.dtype.itemsize
    size = A.n * r * (2 * entry + 8) + 4 * 8 * r * r
    size += 8 * (A.n_features or 0) * r
    if isinstance(init, str) and init == "spectral":
        # 2 r + 1 Lanczos vectors in single precision, then the eigenvectors and two copies.
        size += 4 * A.n * (max(2 * r + 1, 20) + 3 * r)
    return size
