"""Fit validated similarities: storage of H, initialization, solver and sweeps by the options."""

import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

import odsymnmf
from odsymnmf.defaults import (
    SMALL,
    Settings,
    resolve_sparse_membership,
    suits_multilevel,
    usual_start,
)
from odsymnmf.init.initialize import initialize, named_or_array
from odsymnmf.init.multilevel import Graph, Partition, columns, nonnegative
from odsymnmf.init.spectral import leading_eigenvectors, rotate_to_axes
from odsymnmf.progress import Progress
from odsymnmf.result import Factorization, fit_scaled, of_run
from odsymnmf.similarity import Similarity
from odsymnmf.solvers.checkpoint import Checkpoint, hash_of_similarity, hash_of_start, seed_of
from odsymnmf.solvers.losses import loss_class, make_solver
from odsymnmf.solvers.rescale import exponent, limit_upper, scaled
from odsymnmf.solvers.rounds import Rounds
from odsymnmf.solvers.run import Callback, Run, Sweep
from odsymnmf.utils import (
    RandomState,
    as_random,
    bound,
    check_memory,
    limit_blas_threads,
    number,
    threads,
    whole_number,
)

LossName = Literal["l2", "l1", "mixed", "robust"]
SparseMembership = bool | Literal["auto"]
# Sweeps from a partition end when one explains at most this many times ``tol`` more.
GAIN = 10.0
# Memory is compared with what is available if a fit needs more bytes than this.
SMALL_FIT = 2**26


class InterruptedWarning(UserWarning):
    """Ctrl-C ended a fit; the result is that of the last complete sweep."""


@dataclass(kw_only=True)
class Fit:
    """Options of a fit, those of `odsymnmf.factorize`, and the fit itself.

    ``from_partition`` is True if ``init`` is the H of a multilevel partition. Calling it issues no
    warning about convergence, because several fits may run in threads; `warn_of` does.
    """

    loss: LossName = "l2"
    l1_ratio: float = 0.5
    init: Any = "auto"
    diagonal: Literal["ignore", "fit"] = "ignore"
    max_iter: int = 200
    tol: float = 1e-4
    upper: float | None = None
    restarts: int | None = None
    sparse_membership: SparseMembership = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None
    callback: Callback | None = None
    checkpoint: str | Path | None = None
    checkpoint_every: float = 60.0
    from_partition: bool = False

    def __post_init__(self) -> None:
        self.max_iter = whole_number("max_iter", self.max_iter, 0)
        self.tol = number("tol", self.tol, 0)

    def __call__(self, A: Similarity, r: int | Literal["auto"]) -> Factorization:
        """Return the memberships of r clusters of the items of A."""
        if not isinstance(A, Similarity):  # on a cluster
            from odsymnmf.distributed.fit import fit

            return fit(A, r, self)
        count = None if isinstance(r, str) and r == "auto" else whole_number("r", r, 1)
        auto = isinstance(self.init, str) and self.init == "auto"
        auto = auto and count is not None and self.sparse_membership is not True and A.n > SMALL
        if auto and suits_multilevel(A, loss_class(self.loss, self.diagonal, self.l1_ratio)):
            self.init = "multilevel"
        is_sparse = resolve_sparse_membership(
            self.sparse_membership,
            A,
            count,
            loss=self.loss,
            diagonal=self.diagonal,
            init=self.init,
        )
        if isinstance(self.init, str) and self.init == "multilevel":
            if count is None:
                raise ValueError('init="multilevel" needs the number of clusters; give r.')
            _, found = partition(A, A, count, self.random_state)
            self.init, self.from_partition = columns(A, found.labels, count), True
        if is_sparse:
            return self._sparse(A, count)
        assert count is not None
        return self.dense(A, count)

    @property
    def min_gain(self) -> float:
        """The relative gain of a sweep at which sweeps end."""
        relative = loss_class(self.loss, self.diagonal, self.l1_ratio).relative_tol
        return GAIN * self.tol if self.from_partition and relative else 0.0

    def warn_of(self, found: Factorization, stacklevel: int) -> None:
        """Warn if the fit has not converged or was interrupted."""
        if found.status == "max_iter" and self.max_iter > 0:
            warn_unconverged(self.tol, self.max_iter, stacklevel + 1)
        if found.status == "interrupted":
            warn_interrupted(found.n_iter, stacklevel + 1)

    def _sparse(self, A: Similarity, r: int | None) -> Factorization:
        """Fit a sparse H.

        Items are swept in the order of their strongest cluster: neighbors in the graph are then
        neighbors in memory.
        """
        # Kernels, which take time to import
        from odsymnmf.init import ego
        from odsymnmf.init.merging import merge_columns
        from odsymnmf.solvers.sparse_h import SparseH, links
        from odsymnmf.solvers.sparse_losses import MIN_GAIN, SPARSE_LOSSES

        _refuse_with_sparse(A, self.restarts)
        jobs, upper = threads(self.n_jobs), sparse_bound(A, self.upper, self.loss)
        penalized = not self.from_partition
        checkpoint = self.make_checkpoint(
            lambda: hash_of_similarity(A),
            r,
            self.init,
            sparse_membership=True,
            rounds=jobs is not None,
            min_gain=self.min_gain,
            upper=upper,
        )
        saved, stored = checkpoint and checkpoint.saved, links(A.to_csr())
        if saved:
            order = saved[1]["order"]
        else:
            H, grown = ego.initialize_sparse(stored, r, self.init)
            H.data = np.minimum(H.data, upper)
            order = ego.order_by_strongest(H)
        stored, weights = ego.reordered(stored, order), A.weights.subset(order)
        options: dict[str, Any] = {}
        if self.from_partition and self.loss == "l2":
            options = {"share": MIN_GAIN, "penalized": False}

        def make(M: SparseH) -> Any:
            return SPARSE_LOSSES[self.loss](stored, M, weights, upper=upper, **options)

        @contextmanager
        def sweep_of(solver: Any) -> Iterator[Callable[..., Any]]:
            if jobs is None:
                yield solver.sweep
            else:
                with Rounds(solver, jobs) as rounds:
                    yield rounds

        if saved:
            M = SparseH(saved[1]["H"], A.dtype)
        else:
            M = SparseH(H[order], A.dtype)
            if grown:
                M = _best_columns(merge_columns(stored, M, make, sweep_of), r)
            elif r is None:
                _merge_repeated(M, upper)
        solver = make(M)
        with sweep_of(solver) as sweep:
            run = Run(
                solver,
                sweep,
                max_iter=self.max_iter,
                tol=self.tol,
                callback=self.callback,
                checkpoint=checkpoint,
                min_gain=self.min_gain,
                order=order,
            )
            M = run.complete()
        if r is None:
            if _merge_repeated(M, upper):
                run.set_result(M)
            M.drop_empty()
        H = run.in_given_order(M)
        if penalized:
            _warn_of_hubs(H)
        # Without any cluster, one that is empty.
        H.resize(A.n, max(1, H.shape[1]) if r is None else r)
        scales = make_solver(self.loss, A, np.inf).scales
        none = np.empty(0, dtype=np.intp)
        n_iter, status = run.state.n_iter, run.status
        return Factorization(H, run.end, run.history, n_iter, status, none, None, scales)

    def dense(self, A: Any, r: int, make_rounds: Callable[..., Rounds] = Rounds) -> Factorization:
        """Fit a dense H."""
        jobs, rng = threads(self.n_jobs), as_random(self.random_state)
        require_memory(A, r, self.init)
        if e := exponent(A):
            return fit_scaled(lambda A, fit: fit.dense(A, r, make_rounds), A, r, self, e)
        limit = limit_upper(A, bound(self.upper), self.diagonal, A.weights.has_lighter)
        ratio = self.l1_ratio
        with limit_blas_threads():
            solver = make_solver(self.loss, A, limit, diagonal=self.diagonal, l1_ratio=ratio)
        restarts = solver.restarts
        if self.restarts is not None:
            restarts = whole_number("restarts", self.restarts, 0)
        init: Any = self.init
        if isinstance(init, str) and init == "auto":
            init = usual_start(A, solver)
        first = named_or_array(init, A, r)
        checkpoint = self.make_checkpoint(
            lambda: hash_of_similarity(A),
            r,
            first,
            restarts=restarts,
            rounds=jobs is not None,
            min_gain=self.min_gain,
        )
        saved = checkpoint and checkpoint.saved
        with limit_blas_threads():
            H = saved[1]["H"] if saved else initialize(solver, r, first, rng)
        solver.H = H
        with limit_blas_threads():
            rounds = None if jobs is None else make_rounds(solver, jobs)
        with limit_blas_threads(), rounds or nullcontext():
            run = Run(
                solver,
                rounds,
                max_iter=self.max_iter,
                tol=self.tol,
                restarts=restarts,
                callback=self.callback,
                checkpoint=checkpoint,
                min_gain=self.min_gain,
            )
            run.complete()
        return of_run(run)

    def make_checkpoint(
        self, data: Callable[[], str], r: int | None, start: Any, **more: Any
    ) -> Checkpoint | None:
        """Return the checkpoint, with everything that determines the run; None without a path.

        ``data`` returns a hash of the similarities; ``start`` is a name, or what was given as init.
        """
        if self.checkpoint is None:
            return None
        identity = {
            "version": odsymnmf.__version__,
            "sparse_membership": False,
            "data": data(),
            "init": start if isinstance(start, str) else "given",
            "start": hash_of_start(start),
            "random_state": seed_of(self.random_state),
            "r": "auto" if r is None else r,
            "loss": self.loss,
            "diagonal": self.diagonal,
            "l1_ratio": float(self.l1_ratio),
            "max_iter": self.max_iter,
            "tol": self.tol,
            "upper": bound(self.upper),
            **more,
        }
        every = number("checkpoint_every", self.checkpoint_every, 0)
        return Checkpoint(self.checkpoint, every, identity)


FIT_OPTIONS = tuple(field.name for field in fields(Fit))

# Labels from eigenvectors are compared with the partition where stored entries times r are at most
# this: the eigenvectors of larger graphs would take longer than the partition.
SPECTRAL_WORK = 2e6


def partition(
    raw: Similarity, A: Similarity, r: int, random_state: RandomState
) -> tuple[Graph, Partition]:
    """Return the graph of ``raw`` and its partition into r groups; A is ``raw``, normalized or not.

    For small graphs, labels from the eigenvectors of A are candidates, too. Without
    ``random_state`` the seed is fixed.
    """
    graph = Graph(nonnegative(raw))
    seed = 0 if random_state is None else int(2**32 * as_random(random_state).uniform())
    found = graph.partition(r, seed)
    if 0 < len(graph.links.data) * r <= SPECTRAL_WORK and r <= A.n:
        with limit_blas_threads():
            A = scaled(A, exponent(A))
            H = rotate_to_axes(A, leading_eigenvectors(A, r))
        labels = np.where(H.any(axis=1), H.argmax(axis=1), -1)
        other = Partition(labels, found.resolution)
        found = graph.best(found, graph.refine(other), other)
    if found.n_groups < r:
        warnings.warn(
            f"{found.n_groups} groups found, fewer than the {r} clusters asked for: the other "
            "columns of H are zero. Use fewer clusters, or another init.",
            stacklevel=4,
        )
    return graph, found


def sparse_bound(A: Similarity, upper: Any, loss: str) -> float:
    """Return the bound on sparse memberships where the user has given ``upper``.

    Without one, some losses bound them by the root of the largest similarity.
    """
    from odsymnmf.solvers.sparse_losses import SPARSE_LOSSES

    if upper is None and SPARSE_LOSSES[loss].bounded and A.max_value > 0:
        upper = float(np.sqrt(A.max_value))
    return limit_upper(A, bound(upper), "ignore", A.weights.has_lighter)


def warn_unconverged(tol: float, max_iter: int, stacklevel: int) -> None:
    """Warn that the fit has not converged."""
    # Imported here, because scikit-learn takes longer to import than most fits take.
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"no convergence to tol={tol} in max_iter={max_iter} sweeps; the result is usable: "
        "raise max_iter to come closer to a minimum, or raise tol to accept a less exact one",
        ConvergenceWarning,
        stacklevel=stacklevel + 1,
    )


def warn_interrupted(n_iter: int, stacklevel: int) -> None:
    """Warn that the result is what there was when Ctrl-C was pressed."""
    warnings.warn(
        f"interrupted: this is the result after {n_iter} complete sweeps, not a minimum",
        InterruptedWarning,
        stacklevel=stacklevel + 1,
    )


def _refuse_with_sparse(A: Similarity, restarts: Any) -> None:
    """Refuse what sparse memberships do not know, with a remedy."""
    if restarts:
        raise ValueError(
            f"restarts={restarts}, but columns of sparse memberships are not rebuilt; leave it "
            "out, or use sparse_membership=False."
        )
    if exponent(A):
        raise ValueError(
            f"the largest similarity, {A.max_abs:.3g}, is out of the range of sparse memberships; "
            "divide A by it, or use sparse_membership=False."
        )


# Of a start, what is called after each of its sweeps.
Watch = Callable[[int], AbstractContextManager[Callable[[Sweep], bool]]]


def best_of(
    model: Any, A: Similarity, r: Any, settings: Settings, watch: Watch, initial: Any = None
) -> tuple[Factorization, bool]:
    """Run all starts of an estimator; of those with the lowest objective, return the first.

    ``initial`` is the H of a multilevel partition, for the first start.
    And whether Ctrl-C was pressed. Warns if it was, or if the best start has not converged; the
    others' convergence is of no interest.
    """
    # Drawn before anything runs, so that n_jobs changes nothing.
    draws = as_random(model.random_state).uniform(size=model.n_init - 1)
    first = settings.init if initial is None else initial
    inits = [first, *["random"] * (model.n_init - 1)]
    seeds = [model.random_state, *(int(2**32 * draw) for draw in draws)]
    # Starts first; the threads that these leave over share their sweeps.
    jobs = threads(model._threads)
    together = min(jobs or 1, model.n_init)
    each = None if jobs is None else jobs // together
    stop = threading.Event()
    fits: list[tuple[int, Factorization]] = []
    lowest = float("inf")
    title, total = type(model).__name__, model.n_init * model.max_iter
    with Progress(title, "iteration", model.verbose, total) as progress:

        def run(start: int) -> None:
            if stop.is_set():
                return

            def callback(sweep: Sweep) -> bool:
                nonlocal lowest
                lowest = min(lowest, sweep.objective)
                rows = "" if sweep.rows is None else f", {sweep.rows:,} rows"
                progress.update(f"objective {lowest:.6g}{rows}", int(sweep.is_complete))
                return after(sweep) or stop.is_set()

            with watch(start) as after:
                shared = {name: getattr(model, name, None) for name in FIT_OPTIONS}
                options = {
                    "init": inits[start],
                    "diagonal": model._diagonal,
                    "upper": settings.upper,
                    "sparse_membership": settings.sparse,
                    "n_jobs": each,
                    "random_state": seeds[start],
                    "callback": callback,
                    "checkpoint": _checkpoint_of(model.checkpoint, start),
                    "from_partition": initial is not None and start == 0,
                }
                fit = Fit(**{**shared, **options})
                result = fit(A, r)
            if result.status == "interrupted":
                stop.set()
            fits.append((start, result))

        try:
            _run_all(run, model.n_init, together, stop)
        except KeyboardInterrupt:
            stop.set()
            if not fits:  # before the first sweep of a start
                raise
    interrupted = stop.is_set()
    best = min(fits, key=lambda fit: (fit[1].objective, fit[0]))[1]
    if interrupted:
        warn_interrupted(best.n_iter, stacklevel=4)
    elif best.status == "max_iter" and model.max_iter > 0:
        warn_unconverged(model.tol, model.max_iter, stacklevel=4)
    return best, interrupted


def _run_all(run: Callable[[int], None], count: int, jobs: int, stop: threading.Event) -> None:
    """Call run(0), ..., run(count - 1), several in threads; set ``stop`` if one fails."""
    if jobs == 1:
        for start in range(count):
            run(start)
        return
    with limit_blas_threads(), ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run, start) for start in range(count)]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            stop.set()  # the other starts end after their current sweep
            raise


def _checkpoint_of(path: Any, start: int) -> str | None:
    """Return the checkpoint of a start: the first at the path, the others next to it."""
    if path is None:
        return None
    return f"{path}.{start}" if start else f"{path}"


def peak_memory(A: Similarity, r: int, init: Any) -> int:
    """Return how many bytes a fit takes besides A, at its peak, roughly.

    H, its last complete sweep and one array of that size in double precision (the objective, a
    start, a copy on the way out); the r x r sums and what restarts set aside of them; for features
    the product X^T H; blocks of rows; for a spectral start, the vectors it is made of.
    """
    entry = A.dtype.itemsize
    size = A.n * r * (2 * entry + 8) + 4 * 8 * r * r
    size += 8 * (A.n_features or 0) * r
    size += (8 + 4 + entry) * A.block_entries
    if isinstance(init, str) and init == "spectral":
        # 2 r + 1 Lanczos vectors in single precision, then the eigenvectors and two copies.
        size += 4 * A.n * (max(2 * r + 1, 20) + 3 * r)
    return size


def require_memory(A: Similarity, r: int, init: Any) -> None:
    """Refuse a fit that cannot fit into the memory available, with the figure and a remedy."""
    size = peak_memory(A, r, init)
    if size > SMALL_FIT:
        half = ", or give A in float32" if A.dtype == np.float64 else ""
        check_memory(
            size,
            f"a fit of {A.n:,} items with r={r:,}",
            f"choose a smaller r or cluster fewer items{half}",
        )


def _merge_repeated(M: Any, upper: float) -> bool:
    """Merge columns that are nearly equal; return whether there were any."""
    merged = M.merge_repeated() > 0
    if merged:
        np.minimum(M.rows.value, upper, out=M.rows.value)
    return merged


def _warn_of_hubs(H: sparse.csr_array) -> None:
    """Warn of items with the maximum number of new memberships in a sweep."""
    from odsymnmf.solvers.sparse_losses import CAP as MAX_MEMBERSHIPS

    hubs = np.flatnonzero(np.diff(H.indptr) >= MAX_MEMBERSHIPS)
    if len(hubs):
        warnings.warn(
            f"items with {MAX_MEMBERSHIPS} memberships or more: {len(hubs)}, the first is "
            f"{hubs[0]}. A sweep tries no more than {MAX_MEMBERSHIPS} clusters that are new to an "
            "item, so such hubs may belong to others, too; leave them out of A, or use "
            "sparse_membership=False.",
            stacklevel=4,
        )


def _best_columns(M: Any, r: int | None) -> Any:
    """Keep the r columns that explain most on their own."""
    if r is None or M.r == r:
        return M
    if M.r < r:
        warnings.warn(
            f"the initialization finds {M.r} clusters, fewer than r={r}: the other columns stay "
            'empty. Use r="auto", give more sets with init=, or use sparse_membership=False.',
            stacklevel=4,
        )
        return M
    H = M.csr()
    squares = np.bincount(H.indices, weights=H.data.astype(np.float64) ** 2, minlength=M.r)
    fourths = np.bincount(H.indices, weights=H.data.astype(np.float64) ** 4, minlength=M.r)
    best = np.argsort(-(squares**2 - fourths), kind="stable")[:r]
    M.keep_columns(np.sort(best))
    return M
