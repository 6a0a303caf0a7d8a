"""The base class of the losses l1 f_1(H) + l2 f_2(H) of a dense H.

A solver is a loss for a similarity A, with a bound on the entries of H, and with H and the sums
over H that sweeps update. Runs, rounds, restarts and initializations use the methods of
`PairwiseLoss`; a new loss implements `refresh` and `_solve`.
"""

from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from odsymnmf import kernels
from odsymnmf.kernels.rows import CANCELLED
from odsymnmf.similarity import Similarity
from odsymnmf.solvers.objective import (
    ColumnGain,
    Scales,
    clean_columns,
    column_gain,
    error,
)
from odsymnmf.solvers.rounds import (
    PackedRows,
    PairCorrection,
    Round,
    RowUpdates,
    SweepResult,
    Task,
    cut,
    pairs_inside,
    row_tiles,
    run_length,
)
from odsymnmf.utils import Array, blocks, squared

# Rows that are copied to H by one task.
BLOCK_ROWS = 1024


class GramSums:
    """D = H^T H, the largest values of its diagonal so far, and the products with A."""

    def __init__(self, A: Similarity, H: Array):
        self.D, self.peak = squared(H), np.zeros(H.shape[1])
        self.products = A.products(H)

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        h = H[items, j].astype(np.float64)
        self.D[j] = self.D[:, j] = h @ H[items]
        self.peak[j] = 0.0
        self.products.column_changed(H, j, items)

    def save(self, items: Array) -> Any:
        return self.D.copy(), self.peak.copy(), self.products.save(items)

    def restore(self, saved: Any) -> None:
        self.D, self.peak, products = saved
        self.products.restore(products)

    def begin_round(self) -> None:
        np.maximum(self.peak, self.D.diagonal(), out=self.peak)

    def add(self, change: Array, H: Array) -> None:
        """Add the change of a round, which H contains already; recompute cancelled sums."""
        self.D += change
        for l in np.flatnonzero(self.D.diagonal() < CANCELLED * self.peak):
            self.D[l] = self.D[:, l] = np.einsum("i,ij->j", H[:, l], H, dtype=np.float64)
            self.peak[l] = self.D[l, l]

    def state(self) -> dict[str, Array]:
        return {"D": self.D, "gram_peak": self.peak, **self.products.state()}


class ColumnSums:
    """W_l = sum_i H_il, the largest values of W so far, and which rows of H are nonzero."""

    def __init__(self, H: Array):
        self.W, self.peak = H.sum(axis=0, dtype=np.float64), np.zeros(H.shape[1])
        # H.any(axis=1), in a fifth of the time.
        self.nonzero = H @ np.ones(H.shape[1], dtype=H.dtype) > 0

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        self.W[j] = H[items, j].sum(dtype=np.float64)
        self.nonzero[items] = True
        self.peak[j] = 0.0

    def save(self, items: Array) -> Any:
        return self.W.copy(), self.peak.copy()

    def restore(self, saved: Any) -> None:
        self.W, self.peak = saved

    def begin_round(self) -> None:
        np.maximum(self.peak, self.W, out=self.peak)

    def add(self, change: Array, H: Array) -> None:
        """Add the change of a round, which H contains already; recompute cancelled sums."""
        self.W += change
        for l in np.flatnonzero(CANCELLED * self.peak > self.W):
            self.W[l] = self.peak[l] = H[:, l].sum(dtype=np.float64)

    def state(self) -> dict[str, Array]:
        return {"W": self.W, "column_peak": self.peak, "nonzero": self.nonzero}


class NewRows(NamedTuple):
    """Outputs of a round: the new rows, whether they moved, and the changes of W and D."""

    rows: Array
    moved: Array
    W: Array
    D: Array


# Decreases of f_1 and f_2 as if only one row were updated, summed over the rows; the violation; and
# the pair terms of f_1 and f_2 without stored similarities.
Solved = tuple[tuple[float, float], float, tuple[float, float]]


class PairwiseLoss:
    """Base class of the losses l1 f_1(H) + l2 f_2(H) for a dense H."""

    name: ClassVar[str]
    # Default maximum number of rounds of column restarts.
    restarts: ClassVar[int]
    # Sweeps after which the sums over H are recomputed.
    refresh_every: ClassVar[int]
    # Whether the violation is compared with that of the first sweep.
    relative_tol: ClassVar[bool]
    # The violation of a sweep, given those of its parts.
    combine_violations: ClassVar[Any] = max
    # Whether "auto" means normalized similarities, a bound on H and a multilevel or spectral init.
    auto_normalize: ClassVar[bool] = False
    # Whether a solver for sparse H exists.
    supports_sparse_h: ClassVar[bool] = False
    # A method that returns the terms of a loss of several terms, for ``loss_terms`` of the result.
    loss_terms: Any = None
    # Name of the quantity of which f(0) - f(H) is the explained part.
    explained_name: ClassVar[str]
    scales: Scales
    l1_ratio: float
    # The diagonal of A if f_2 includes it (symNMF), else None.
    diagonal: Array | None = None

    def __init__(self, A: Similarity, upper: float = np.inf, l1_ratio: float | None = None):
        self.A, self.upper, self.n, self.r = A, upper, int(A.n), 0
        self._H: Any = None
        self.gram: Any = None
        self.columns: Any = None
        # The products with A, if they are all that `_solve` needs of A.
        self._products: Any = None
        self._buffer = np.empty((0, 0))
        self._since_refresh = 0

    @property
    def H(self) -> Array:
        """The memberships, changed in place by sweeps. Setting them discards the sums over H."""
        return self._H

    @H.setter
    def H(self, H: Array) -> None:
        self._H, self._since_refresh = H, 0
        self.gram = self.columns = self._products = None
        self.r = H.shape[1]

    # Objective

    def objective(self, H: Array | None = None) -> float:
        """Return f(H), by default of the current memberships."""
        H, value = self._H if H is None else H, 0.0
        for power, scale in enumerate(self.scales, start=1):
            if scale > 0:
                value += scale * error(self.A, H, power)
        return value

    def objective_at_zero(self) -> float:
        """Return f(0)."""
        return self.objective(np.zeros((self.n, 1), dtype=self.A.dtype))

    def total(self, decreases: Array) -> float:
        """Return the decrease of f, given those of f_1 and f_2."""
        return float(np.dot(self.scales, decreases))

    clean_columns = staticmethod(clean_columns)

    # Sums over H

    @property
    def _sums(self) -> list[Any]:
        return [sums for sums in (self.gram, self.columns) if sums is not None]

    def refresh(self) -> None:
        """Recompute the sums over H."""
        raise NotImplementedError

    def state(self) -> dict[str, Array]:
        """Return the arrays besides H that the next sweep depends on, by name."""
        arrays: dict[str, Array] = {}
        for sums in self._sums:
            arrays |= sums.state()
        return arrays and arrays | {"since_refresh": np.array(self._since_refresh)}

    def load(self, arrays: dict[str, Array]) -> None:
        """Continue from the arrays that `state` returned for this H."""
        if not arrays:
            return
        if not self._sums:
            self.refresh()
        for name, array in self.state().items():
            array[...] = arrays[name]
        self._since_refresh = int(arrays["since_refresh"])

    # Sweeps

    def sweep(self, items: Array | None = None, empty: float = 0.0) -> SweepResult:
        """Set the rows of the items (default: all) to their optimum in turn.

        An entry whose column is zero elsewhere does not change f; it becomes ``empty``.
        """
        items, decreases, violations = self.begin_sweep(items), np.zeros(2), []
        if self._products is None:
            row_blocks = self.A.row_blocks(items)
        else:
            row_blocks = self._products.blocks(items, self._H)
        for block, rows in row_blocks:
            block_decreases, violation, _ = self._solve(block, rows, None, empty)
            decreases += block_decreases
            violations.append(violation)
        decreases *= self.A.weights.uniform
        return self.end_sweep(items, decreases, self.combine_violations(violations))

    def begin_sweep(self, items: Array | None = None) -> Array:
        """Prepare a sweep; before one of all items, refresh the sums if it is time."""
        if items is not None:
            return items
        if self._since_refresh % self.refresh_every == 0:
            self.clean_columns(self._H)
            self.refresh()
        self._since_refresh += 1
        return np.arange(self.n)

    def end_sweep(self, items: Array, decreases: Array, violation: float) -> SweepResult:
        """Return the result of a sweep; the violation is relative to the largest entry."""
        rows = self._H if len(items) == self.n else self._H[items]
        decrease = self.total(decreases)
        top = float(rows.max(initial=0.0))
        relative = violation / top if top > 0 else float(violation > 0)
        return SweepResult(decrease, relative, decrease)

    def _solve(self, items: Array, rows: Any, new: NewRows | None, empty: float = 0.0) -> Solved:
        """Set rows of H to their optimum in turn; with ``new``, solve them for a fixed H into it.

        ``rows`` are the rows of A, or the source of g if `refresh` has set `_products`.
        """
        raise NotImplementedError

    # Rounds

    @property
    def run_length(self) -> int:
        return run_length(self.n)

    def pieces(self, items: Array) -> list[slice]:
        """Cut the items of a round into pieces of work."""
        return cut(items, self.tiles)

    @cached_property
    def tiles(self) -> list[slice]:
        """Ranges of items; the items of a round in one range are a piece of work."""
        return row_tiles(self.n, self.r, self.A.row_entries)

    def begin_round(self) -> None:
        """Record the largest sums so far."""
        for sums in self._sums:
            sums.begin_round()
        # Allocated once: new memory for each round would cost a tenth of the sweep.
        if self._buffer.shape[1:] != (self.r,):
            rows = -(-self.n // 16) + 16 * self.run_length
            self._buffer = np.empty((rows, self.r), self._H.dtype)

    def solve_rows(self, items: Array, place: slice) -> RowUpdates:
        """Solve the rows for a fixed H; ``place`` is the slice of their positions in the round."""
        weights, r = self.A.weights, self.r
        W = np.zeros(r if self.columns is not None else 0)
        D = np.zeros((r, r) if self.gram is not None else (0, 0))
        new = NewRows(self._buffer[place], np.empty(len(items), dtype=np.bool_), W, D)
        products, H = self._products, self._H
        rows = self.A.rows(items) if products is None else products.source(items, H)
        decreases, violation, pair_terms = self._solve(items, rows, new)
        total = weights.uniform * np.array(decreases) - weights.default * np.array(pair_terms)
        return RowUpdates(new.rows, new.moved, total, violation, (W, D))

    def merge(self, items: Array, parts: list[RowUpdates]) -> RowUpdates:
        """Join the updates of the pieces; add the pair terms of items in different pieces."""
        if len(parts) == 1 and not isinstance(parts[0].rows, PackedRows):
            return parts[0]
        w0, decreases, start = self.A.weights.default, np.zeros(2), 0
        change = [np.zeros_like(array) for array in parts[0].change]
        for part in parts:
            stop = start + len(part.moved)
            rows = self._buffer[start:stop]
            if isinstance(part.rows, PackedRows):  # solved by another process
                if not part.moved.all():
                    np.take(self._H, items[start:stop], axis=0, out=rows, mode="clip")
                rows[part.moved] = 0.0
                part.rows.put(rows)
            start = stop
            decreases += part.decreases
            for power, (total, increment) in enumerate(zip(change, part.change, strict=True)):
                # No BLAS, whose sums depend on the number of threads.
                decreases[power] -= w0 * 2.0 * float(np.sum(total * increment))
                total += increment
        moved = np.concatenate([part.moved for part in parts])
        violation = self.combine_violations([part.violation for part in parts])
        return RowUpdates(self._buffer[:start], moved, decreases, violation, change)

    def pair_corrections(self, round: Round, updates: RowUpdates) -> list[Task]:
        """Return tasks that compute the pair correction of stored pairs and exceptions."""
        weights, tasks = self.A.weights, []
        if weights.default > 0:
            tasks += self._stored_corrections(round, updates)
        if weights.excess is not None:
            tasks += [partial(self._listed, round, piece, updates) for piece in round.pieces]
        return tasks

    def _stored_corrections(self, round: Round, updates: RowUpdates) -> list[Task]:
        return [partial(self._stored, round, piece, updates) for piece in round.pieces]

    def _stored(self, round: Round, piece: slice, updates: RowUpdates) -> PairCorrection:
        """Return the pair correction of the stored pairs of a piece."""
        increases, items, inside = np.zeros(2), round.items[piece], kernels.rounds
        if not updates.moved[piece].any():
            return PairCorrection(increases)
        if self.A.stored is None:
            rows = self.A.rows_among(items, round.items, np.arange(piece.start, piece.stop))
        else:
            rows = kernels.rows.CsrRows(items, *self._pairs_inside)
        args = round.position, self._H, updates.rows, updates.moved
        if self.scales.l1 > 0:
            increases[0] = inside.listed_correction(items, rows, None, *args, 1)
        if self.scales.l2 > 0:
            increases[1] = -2.0 * inside.stored_products(items, rows, *args)
        return PairCorrection(self.A.weights.default * increases)

    @cached_property
    def _pairs_inside(self) -> Any:
        A = self.A.stored
        stored = kernels.sources.Neighbors(A.indptr, A.indices, A.data)
        return pairs_inside(stored, self.run_length)

    def _listed(self, round: Round, piece: slice, updates: RowUpdates) -> PairCorrection:
        """Return the pair correction of the exceptions of a piece."""
        increases, items, listed = np.zeros(2), round.items[piece], self.A.weights.exceptions
        rows = kernels.rows.CsrRows(items, listed.indptr, listed.indices, listed.a)
        args = listed.v, round.position, self._H, updates.rows, updates.moved
        for power in np.flatnonzero(self.scales) + 1:
            correction = kernels.rounds.listed_correction(items, rows, *args, int(power))
            increases[power - 1] = correction
        return PairCorrection(increases)

    def correction_owners(self, owners: Array, n_tasks: int) -> Array:
        """Return the rank of the process for each task of `pair_corrections`."""
        task_owners = None if self.gram is None else self.gram.products.task_owners
        return np.resize(owners, n_tasks) if task_owners is None else task_owners

    def apply_tasks(
        self, round: Round, updates: RowUpdates, corrections: list[PairCorrection]
    ) -> list[Task]:
        """Return tasks that copy the new rows to H, and update the products with A."""
        tasks: list[Task] = [
            partial(self._put_rows, round.items[b], updates.rows[b], updates.moved[b])
            for b in blocks(len(round.items), BLOCK_ROWS)
        ]
        if self.gram is not None:
            new = [c.products for c in corrections if c.products is not None]
            tasks += self.gram.products.apply_tasks(new)
        return tasks

    def _put_rows(self, items: Array, rows: Array, moved: Array) -> None:
        kernels.rounds.copy_moved_rows(items, rows, moved, self._H)
        if self.columns is not None:
            self.columns.nonzero[items] |= moved

    def apply_change(self, updates: RowUpdates) -> None:
        """Add the change of the sums over H, after the new rows."""
        for sums, change in zip((self.columns, self.gram), updates.change, strict=True):
            if sums is not None:
                sums.add(change, self._H)

    # Restarts and initializations

    def column_sums(self) -> Array:
        """Return sum_i H_il for each column l."""
        if self.columns is not None:
            return self.columns.W.copy()
        return self._H.sum(axis=0, dtype=np.float64)

    def column_gain(self, j: int, items: Array) -> ColumnGain:
        """Return the increase of f if column j were removed; its nonzeros are among the items."""
        return column_gain(self.A, self._H, j, items, self.scales)

    def column_changed(self, j: int, items: Array) -> None:
        """Update the sums over H for a new column j; its nonzeros are among the items."""
        for sums in self._sums:
            sums.column_changed(self._H, j, items)

    def save(self, items: Array) -> Any:
        """Return the sums over H that depend on the rows of the items, for `restore`."""
        return [sums.save(items) for sums in self._sums]

    def restore(self, saved: Any) -> None:
        """Restore the sums that `save` returned."""
        for sums, part in zip(self._sums, saved, strict=True):
            sums.restore(part)

    def set_greedy_entries(self, items: Array, H: Array, column: Any) -> None:
        """Set the entries of the items in a column under construction, each in turn."""
        work = tuple(np.empty((2, self.n))) if self.l1_ratio >= 0.5 else None
        kernels.greedy.set_entries(items, self.A.rows(items), H, column, self.upper, work)
