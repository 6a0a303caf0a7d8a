"""A fit of similarities that are on the workers of a Dask client."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from odsymnmf.distributed.cluster import WorkerGroup
from odsymnmf.distributed.row_blocks import RowBlocks, facts_of, from_array
from odsymnmf.distributed.worker import Layout, Statistics
from odsymnmf.similarity import Dense, Similarity, Sparse, base
from odsymnmf.similarity.validation import check_range
from odsymnmf.similarity.weights import EQUAL, PairWeights
from odsymnmf.solvers.rounds import PackedRows, Rounds, SweepResult, row_tiles, tiles
from odsymnmf.utils import Array, whole_number

if TYPE_CHECKING:
    from odsymnmf.fit import FitOptions

# Sweeps after which the client fetches H.
FETCH_EVERY = 10
INITS = ("random", "spectral")
LOCAL = "fit it on one machine, with factorize(A.compute(), ...)"


class UnknownPairs(PairWeights):
    """Weights of which the workers list the exceptions."""

    has_lighter = True


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

    degrees = Similarity.degrees
    inverse_sqrt_degrees = Similarity.inverse_sqrt_degrees
    without_rounding = Similarity.without_rounding
    recompute = Similarity.recompute

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
        self.n_features, self.is_sparse = rows.m or None, facts[0].is_sparse
        self.n_unknown = sum(f.n_unknown for f in facts)
        self.weights = UnknownPairs() if self.n_unknown else EQUAL
        if 2 * self.n_unknown > self.n * (self.n - 1):
            raise ValueError(f"more than half of all pairs are unknown (NaN); {LOCAL}.")
        counts = np.concatenate([f.counts for f in facts])
        cut = (tiles if loss == "l2" else row_tiles)(self.n, r, int(counts.sum()) // self.n)
        work = np.array([float(np.sum(counts[tile] + r)) for tile in cut])
        layout = Layout(self.n, rows.m, self.dtype, self.is_sparse, self.n_unknown > 0, cut, [])
        self.group = WorkerGroup(client, rows, blocks, layout, work)
        if not (rows.is_symmetric or rows.m):
            self.group.call("check_symmetric")
        check_range(self)

    def __enter__(self) -> "RemoteSimilarity":
        return self

    def __exit__(self, *error: object) -> None:
        self.group.close()

    def make_rounds(self, solver: Any, n_threads: int) -> "RemoteRounds":
        """Return sweeps by the workers."""
        return RemoteRounds(self.group, solver)

    @cached_property
    def _statistics(self) -> Statistics:
        low, high, counts, squares = zip(*self.group.call("statistics"), strict=True)
        return Statistics(min(low), max(high), sum(counts), np.concatenate(squares))

    @property
    def diagonal_rounding(self) -> Any:
        """The term of each item that cancels in a product: |x_i|^2 for documents."""
        return self._statistics.row_squares if self.n_features else 0.0

    @property
    def max_value(self) -> float:
        """The largest entry, at least 0; for documents, a bound on it."""
        statistics = self._statistics
        return float(statistics.row_squares.max()) if self.n_features else statistics.high

    pair_bound = max_value

    @property
    def max_abs(self) -> float:
        """The largest |A_ij|; for documents, a bound on it."""
        return self.max_value if self.n_features else max(self.max_value, -self._statistics.low)

    @cached_property
    def sum_of_squares(self) -> float:
        """sum_{i != j} A_ij^2"""
        squares = self._statistics.row_squares
        if not self.n_features:
            return float(np.sum(squares))
        return max(0.0, sum(self.group.call("gram_squares")) - float(np.sum(squares**2)))

    def to_arrays(self) -> dict[str, Any]:
        """Return arrays that identify the similarities."""
        facts = [self.n_features or 0, self.is_sparse, self.n_unknown]
        return {"row_squares": self._statistics.row_squares, "facts": facts}

    @cached_property
    def summary(self) -> base.SimilaritySummary:
        """Degrees, signs, density and kind."""
        # Not the same cached_property: before Python 3.12 it has a lock, for which a worker in this
        # process would wait.
        return Similarity.summary.func(self)  # type: ignore[attr-defined]

    def _summarize(self) -> tuple[Array, bool, float, bool]:
        """Return degrees, sign and density; whether A is binary is not determined."""
        low, _, n_nonzero, _ = self._statistics
        if not self.n_features:
            degrees = np.concatenate(self.group.call("absolute_degrees"))
            return degrees, low < 0, n_nonzero / max(1, self.n * (self.n - 1)), False
        if low < 0:
            return np.full(self.n, np.nan), True, 1.0, False
        return self.without_rounding(self.degrees()), False, 1.0, False  # type: ignore[misc]

    def scale(self, s: Array) -> "RemoteSimilarity":
        """Replace A_ij by s_i A_ij s_j, and return self."""
        if not np.isfinite(s).all():
            raise ValueError(
                "X holds features below zero, and the degrees of their products would have to be "
                "counted pair by pair; use normalize=None."
            )
        self.group.setup("scale", s)
        for name in ("_statistics", "sum_of_squares", "summary"):
            vars(self).pop(name, None)
        return self

    def matmul(self, V: Array, weighted: bool = True) -> Array:
        """Return w A V without the diagonal."""
        return np.concatenate(self.group.call("product", V))

    def products(self, H: Array) -> Any:
        """Return a copy of X^T H for documents, which the workers update."""
        arrays = {"Z": np.empty((self.n_features, H.shape[1]))} if self.n_features else {}
        return SimpleNamespace(state=lambda: arrays)

    def _of_items(self, H: Array, function: Callable[..., Array]) -> Array:
        """Return what a function of A, items and H returns for all items."""
        rows = PackedRows.of(H.astype(self.dtype, copy=False))

        def task() -> list[Any]:
            self.group.is_current = False
            self.group.run("set_H", rows)
            return self.group.run("of_items", function)

        return np.concatenate(self.group.repeat(task))

    def _unknown(self, H: Array, column: int) -> float:
        """Return one of the `exception_sums` over the unknown pairs, which the workers list."""
        if not self.n_unknown:
            return 0.0
        return float(np.sum(self._of_items(H, Similarity.exception_sums)[:, column]))

    def stored_sums(self, items: Array, H: Array) -> Array:
        return self._of_items(H, Similarity.stored_sums)

    def pairwise_errors(self, items: Array, H: Array) -> Array:
        return self._of_items(H, Similarity.pairwise_errors)

    def squared_error(self, H: Array) -> float:
        """Return sum_{i != j} w_ij (A_ij - h_i . h_j)^2."""
        if self.n_features:
            inner = base.inner_product(H, self.matmul(H.astype(np.float64, copy=False)))
            return max(0.0, self.sum_of_squares - 2.0 * inner + base.pair_squares(H))
        kind: Any = Sparse if self.is_sparse else Dense
        return max(0.0, kind.squared_error(self, H) + self._unknown(H, 1))

    def absolute_error(self, H: Array) -> float:
        """Return sum_{i != j} w_ij |A_ij - h_i . h_j|."""
        value = Similarity.absolute_error(self, H)  # type: ignore[arg-type]
        return max(0.0, value + self._unknown(H, 0))

    def explained(self, H: Array) -> tuple[float, float]:
        """Return sum_{i != j} w_ij A_ij p_ij and sum_{i != j} w_ij p_ij^2, p_ij = h_i . h_j."""
        squares = base.pair_squares(H) + self._unknown(H, 3)
        return base.inner_product(H, self.matmul(H)), squares


class RemoteRounds(Rounds):
    """Sweeps by a group of workers, which keep H and the sums over H until they are fetched."""

    def __init__(self, group: WorkerGroup, solver: Any):
        super().__init__(solver)
        self.group = group
        # Sweeps since H was fetched; they are repeated if a worker is lost.
        self._n_sweeps = 0
        group.setup("set_loss", solver.name, solver.upper, self.tolerance)

    def __call__(self, progress: Any = None) -> SweepResult:
        """Update every row of H once."""
        if self._n_sweeps == FETCH_EVERY:
            self.fetch()
        result: SweepResult = self._call("sweep")[0]
        self._n_sweeps += 1
        self.group.is_current = True
        return result

    def fetch(self) -> None:
        """Set H and the sums over H of the solver to those of the last complete sweep."""
        if self._n_sweeps == 0:
            return
        rows, sums = zip(*self._call("state"), strict=True)
        for items, packed in zip(self.group.layout.ranges, rows, strict=True):
            self.solver.H[items] = 0.0
            packed.put(self.solver.H[items])
        self.solver.load(sums[0])
        self._n_sweeps = 0

    def _call(self, method: str) -> list[Any]:
        """Call a method of all workers, which have H of the last complete sweep."""
        group, solver = self.group, self.solver

        def task() -> list[Any]:
            if not group.is_current:
                group.run("set_H", PackedRows.of(solver.H), solver.state())
                for _ in range(self._n_sweeps):
                    group.run("sweep")
            group.is_current = method != "sweep"
            return group.run(method)

        results: list[Any] = group.repeat(task)
        return results


def check_options(
    options: "FitOptions", r: Any, weights: Any, zero_weight: Any, name: str = "r"
) -> "FitOptions":
    """Return the options for a cluster; refuse those that are not available there."""
    loss, init = options.loss, options.init
    if isinstance(init, str) and init == "auto":
        init = "spectral"
    named_init = isinstance(init, str) and init not in INITS
    weighted = weights is not None or zero_weight != 1.0
    for is_given, option, remedy in (
        (loss not in ("l2", "l1"), f"loss={loss!r}", 'use "l2" or "l1"'),
        (options.diagonal != "ignore", "fitting the diagonal", "use ODSymNMF"),
        (named_init, f"init={init!r}", f"use one of {INITS}, an array (n x r), labels or sets"),
        (options.sparse_membership is True, "sparse_membership=True", "leave it out"),
        (weighted, "weighting pairs", "leave weights and zero_weight out (NaN: unknown pair)"),
        (bool(options.restarts), f"restarts={options.restarts}", "leave it out"),
        (isinstance(r, str), f"{name}={r!r}", "choose a number on a sample of the items"),
    ):
        if is_given:
            raise ValueError(f"{option} is not available on a cluster; {remedy}, or {LOCAL}.")
    whole_number(name, r, 1)
    return replace(options, init=init, restarts=0, n_jobs=1, sparse_membership=False)
