"""A fit of similarities that are on the workers of a Dask client."""

from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from odsymnmf.distributed.cluster import WorkerGroup
from odsymnmf.distributed.row_blocks import RowBlocks, facts_of, from_array
from odsymnmf.distributed.worker import Layout, pack, unpack
from odsymnmf.init.initialize import initialize, named_or_array
from odsymnmf.result import Factorization, of_run
from odsymnmf.similarity import Similarity
from odsymnmf.similarity.base import (
    CANCELLED,
    MAX_PAIRWISE,
    SimilaritySummary,
    inner_product,
    pair_products,
    pair_squares,
)
from odsymnmf.similarity.weights import EQUAL
from odsymnmf.solvers.base import PairwiseLoss
from odsymnmf.solvers.losses import loss_class, make_solver
from odsymnmf.solvers.rescale import Magnitude, within_reason
from odsymnmf.solvers.rounds import ROUNDING, SweepResult, row_tiles, tiles
from odsymnmf.solvers.run import Run
from odsymnmf.utils import Array, as_random, bound, limit_blas_threads, whole_number

if TYPE_CHECKING:
    from odsymnmf.fit import Fit

INITS = ("random", "spectral", "nndsvd")
LOCAL = "fit it on one machine, with factorize(A.compute(), ...)"


class RemoteSimilarity:
    """Similarities on the workers of a client, with the methods of `Similarity` that a fit needs.

    A context manager: on exit, the memory of the workers is released.

    Parameters
    ----------
    client : distributed.Client
    X : dask array or RowBlocks
    r : int
        Number of clusters, on which the distribution of the rows depends.
    loss : {"l2", "l1"}
    affinity : {"precomputed", "cosine"}
    """

    # Pair weights are with the rows.
    weights = EQUAL
    degrees = Similarity.degrees
    inverse_sqrt_degrees = Similarity.inverse_sqrt_degrees

    def __init__(self, client: Any, X: Any, r: int, loss: str, affinity: str = "precomputed"):
        rows = X if isinstance(X, RowBlocks) else from_array(X, features=affinity == "cosine")
        if isinstance(X, RowBlocks) and affinity != "precomputed":
            raise ValueError(f'edges are similarities; leave affinity="{affinity}" out.')
        if rows.m and loss != "l2":
            raise ValueError(
                f'loss="{loss}" needs the similarities of documents one by one; use loss="l2", or '
                f"{LOCAL}."
            )
        blocks = client.compute(rows.cleaned())
        facts = client.gather(client.map(facts_of, blocks, pure=False))
        if len({f.is_sparse for f in facts}) > 1:
            raise ValueError(
                "some blocks of A are sparse and some are not; make all of them CSR, for example "
                "with A.map_blocks(scipy.sparse.csr_array)."
            )
        self.n, self.dtype = rows.n, np.dtype(np.result_type(*(f.dtype for f in facts)))
        self.n_features = rows.m or None
        self.is_sparse = facts[0].is_sparse
        self.n_unknown = sum(f.n_unknown for f in facts)
        if 2 * self.n_unknown > self.n * (self.n - 1):
            raise ValueError(f"more than half of all pairs are unknown (NaN); {LOCAL}.")
        counts = np.concatenate([f.counts for f in facts])
        self.row_entries = int(counts.sum()) // self.n
        cut = (tiles if loss == "l2" else row_tiles)(self.n, r, self.row_entries)
        work = np.array([float(np.sum(counts[tile] + r)) for tile in cut])
        layout = Layout(self.n, rows.m, self.dtype, self.is_sparse, self.n_unknown > 0, cut, [])
        self.group = WorkerGroup(client, rows, blocks, layout, work)
        self.group.repeat(lambda: None)  # loads and validates the rows

    def __enter__(self) -> "RemoteSimilarity":
        return self

    def __exit__(self, *error: object) -> None:
        self.group.close()

    @cached_property
    def _statistics(self) -> tuple[float, float, Array]:
        """The smallest and largest entry of A or X, and the sums of squares of its rows."""
        lows, highs, squares = zip(*self.group.call("statistics"), strict=True)
        return min(lows), max(highs), np.concatenate(squares)

    @property
    def diagonal_rounding(self) -> Any:
        """What cancels in a product for each item: |x_i|^2 for documents."""
        return self._statistics[2] if self.n_features else 0.0

    @property
    def max_value(self) -> float:
        """The largest entry, at least 0; for documents, a bound on it."""
        return float(self._statistics[2].max()) if self.n_features else self._statistics[1]

    @property
    def pair_bound(self) -> float:
        """A bound on the entries."""
        return self.max_value

    @property
    def max_abs(self) -> float:
        """The largest |A_ij|; for documents, a bound on it."""
        return max(self.max_value, 0.0 if self.n_features else -self._statistics[0])

    @cached_property
    def sum_of_squares(self) -> float:
        """sum_{i != j} A_ij^2"""
        squares = self._statistics[2]
        if not self.n_features:
            return float(np.sum(squares))
        return max(0.0, sum(self.group.call("gram_squares")) - float(np.sum(squares**2)))

    def hash(self) -> str:
        """Return a hash of the sums of squares of all rows."""
        head = repr((self.n, self.n_features, self.dtype.str, self.is_sparse, self.n_unknown))
        return sha256(head.encode() + self._statistics[2].tobytes()).hexdigest()

    def summary(self) -> SimilaritySummary:
        """Return degrees, sign and density, as `Similarity.summary`."""
        if not self.n_features:
            degrees, negative, density, binary, largest = zip(
                *self.group.call("summary"), strict=True
            )
            same = len({value for value in largest if value > 0}) == 1
            is_binary = same and all(b or not v for b, v in zip(binary, largest, strict=True))
            return SimilaritySummary(
                np.concatenate(degrees), any(negative), sum(density), is_binary
            )
        if self._statistics[0] < 0:
            return SimilaritySummary(np.full(self.n, np.nan), True, 1.0, False)
        d: Array = self.degrees()  # type: ignore[misc]
        d[d <= np.sqrt(np.finfo(self.dtype).eps) * self.diagonal_rounding] = 0.0
        return SimilaritySummary(d, False, 1.0, False)

    def scale(self, s: Array) -> "RemoteSimilarity":
        """Replace A_ij by s_i A_ij s_j, and return self."""
        if not np.isfinite(s).all():
            raise ValueError(
                "X holds features below zero, and the degrees of their products would have to be "
                "counted pair by pair; use normalize=None."
            )
        self.group.setup("scale", s)
        for name in ("_statistics", "sum_of_squares"):
            vars(self).pop(name, None)
        return self

    def matmul(self, V: Array, weighted: bool = True) -> Array:
        """Return w A V without the diagonal."""
        return np.concatenate(self.group.call("product", V))

    def products(self, H: Array) -> "RemoteProducts":
        """Return X^T H for documents; other products are not kept."""
        if not self.n_features:
            return RemoteProducts(None)
        return RemoteProducts(np.concatenate(self._of_items("feature_sums", H)))

    def _of_items(self, method: str, H: Array, *args: Any) -> list[Any]:
        """Set H on all workers and call a method; return the results by rank."""
        rows = pack(H)

        def task() -> list[Any]:
            self.group.is_current = False
            self.group.run("set_H", H.shape, rows)
            return self.group.run(method, *args)

        found: list[Any] = self.group.repeat(task)
        return found

    def _sums(self, method: str, H: Array, *args: Any) -> list[float]:
        parts = zip(*self._of_items(method, H, *args), strict=True)
        return [float(np.sum(np.concatenate(part))) for part in parts]

    def squared_error(self, H: Array) -> float:
        """Return sum_{i != j} w_ij (A_ij - h_i . h_j)^2."""
        if self.n_features:
            H = H.astype(np.float64, copy=False)
            inner = float(np.einsum("ij,ij->", H, self.matmul(H)))
            return max(0.0, self.sum_of_squares - 2.0 * inner + pair_squares(H))
        *parts, listed = self._sums("item_errors", H.astype(self.dtype), 2, False)
        if not self.is_sparse:
            return max(0.0, parts[0] + listed)
        stored, squares = parts
        everywhere = pair_squares(H)
        value, terms = everywhere + stored - squares, everywhere + stored
        if value < CANCELLED * terms and float(self.n) ** 2 * H.shape[1] <= MAX_PAIRWISE:
            value = self._sums("item_errors", H, 2, True)[0]
        return max(0.0, max(0.0, value) + listed)

    def absolute_error(self, H: Array) -> float:
        """Return sum_{i != j} w_ij |A_ij - h_i . h_j|."""
        stored, listed = self._sums("item_errors", H, 1, False)
        return max(0.0, pair_products(H) + stored + listed)

    def explained(self, H: Array) -> tuple[float, float]:
        """Return sum_{i != j} w_ij A_ij p_ij and sum_{i != j} w_ij p_ij^2, p_ij = h_i . h_j."""
        squares = pair_squares(H)
        if self.n_unknown:
            squares += self._sums("unknown_squares", H)[0]
        return inner_product(H, self.matmul(H)), squares


class RemoteProducts:
    """X^T H of documents, kept up to date by the workers."""

    def __init__(self, Z: Array | None):
        self.Z = Z

    def state(self) -> dict[str, Array]:
        return {} if self.Z is None else {"Z": self.Z}


class RemoteRounds:
    """Sweeps by a group of workers. H of the last complete sweep is with the client."""

    def __init__(self, group: WorkerGroup, solver: PairwiseLoss):
        self.group, self.solver, self._sums = group, solver, None

    def __call__(self) -> SweepResult:
        """Make one sweep over H and the sums, in place."""
        group, solver, H = self.group, self.solver, self.solver.H
        items = solver.begin_sweep()
        sums: Any = solver.gram or solver.columns

        def sweep() -> list[Any]:
            is_new = sums is not self._sums
            state = None if group.is_current and not is_new else solver.state()
            if not group.is_current:
                group.run("set_H", H.shape, pack(H))
            tidy, group.is_current = group.is_current, False
            return group.run("sweep", state, tidy and is_new)

        found = group.repeat(sweep)
        for own, (_, _, rows) in zip(group.layout.ranges, found, strict=True):
            unpack(rows, H[own])
        solver.load({**found[0][1], "since_refresh": solver.state()["since_refresh"]})
        self._sums, group.is_current = sums, True
        return solver.end_sweep(items, *found[0][0])


def check_options(how: "Fit", r: Any, weights: Any, zero_weight: Any, name: str = "r") -> int:
    """Return the number of clusters; refuse options that are not available on a cluster."""
    loss_class(how.loss, how.diagonal, how.l1_ratio)  # refuses unknown ones
    named_init = isinstance(how.init, str) and how.init not in ("auto", *INITS)
    weighted = weights is not None or zero_weight != 1.0
    inits = ", ".join(map(repr, INITS))
    for is_given, option, remedy in (
        (how.loss not in ("l2", "l1"), f"loss={how.loss!r}", 'use "l2" or "l1"'),
        (how.diagonal != "ignore", "fitting the diagonal", "use ODSymNMF"),
        (named_init, f"init={how.init!r}", f"use {inits}, an array (n x r), labels or sets"),
        (how.sparse_membership is True, "sparse_membership=True", "leave it out"),
        (weighted, "weighting pairs", "leave weights and zero_weight out (NaN: unknown pair)"),
        (bool(how.restarts), f"restarts={how.restarts}", "leave it out"),
        (isinstance(r, str), f"{name}={r!r}", "choose a number on a sample of the items"),
    ):
        if is_given:
            raise ValueError(f"{option} is not available on a cluster; {remedy}, or {LOCAL}.")
    return whole_number(name, r, 1)


def fit_array(
    client: Any, X: Any, r: Any, how: "Fit", weights: Any, zero_weight: Any
) -> Factorization:
    """Fit a Dask array, or row blocks, on the workers of a client."""
    r = check_options(how, r, weights, zero_weight)
    with RemoteSimilarity(client, X, r, how.loss) as A:
        return fit(A, r, how)


def fit(A: RemoteSimilarity, r: int, how: "Fit") -> Factorization:
    """Find H, as `odsymnmf.factorize` does with ``n_jobs``."""
    init = "spectral" if isinstance(how.init, str) and how.init == "auto" else how.init
    with limit_blas_threads():
        remote: Any = A
        magnitude = Magnitude.of(remote)
        remote = magnitude.similarity(remote)
        upper = float(magnitude.down(bound(how.upper)))
        limit = within_reason(remote, upper, how.diagonal, A.n_unknown > 0)
        loss = make_solver(how.loss, remote, limit)
        allowed = ROUNDING * loss.objective_at_zero()
        A.group.setup("set_loss", loss.name, limit, allowed)
        first = named_or_array(init, remote, r, magnitude.down)
        checkpoint = how.make_checkpoint(A.hash, r, first, restarts=0, rounds=True)
        saved = checkpoint and checkpoint.saved
        rng = as_random(how.random_state)
        loss.H = saved[1]["H"] if saved else initialize(loss, r, first, rng)
        run = Run(
            loss,
            RemoteRounds(A.group, loss),
            max_iter=how.max_iter,
            tol=how.tol,
            callback=magnitude.callback(loss, how.callback),
            checkpoint=checkpoint,
        )
        run.complete()
    return of_run(run, magnitude)
