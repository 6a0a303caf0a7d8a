"""The losses for a sparse H: l2 with a penalty on the number of memberships, and l1.

The interface is that of `odsymnmf.solvers.losses.PairwiseLoss`, as far as runs and rounds use it.
The two terms of the decrease of a sweep are those of f and of f with its penalty.
"""

from functools import partial
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from odsymnmf.kernels import objective, sparse_l1, sparse_l2, sparse_rounds
from odsymnmf.kernels.sparse_h import Links, Log, add_pairs
from odsymnmf.kernels.sparse_l1 import ColumnState
from odsymnmf.kernels.sparse_rounds import NewRows
from odsymnmf.similarity.weights import EQUAL, PairWeights
from odsymnmf.solvers.objective import Scales, kernel_weights
from odsymnmf.solvers.rounds import (
    N_ROUNDS,
    PairCorrection,
    Round,
    RowUpdates,
    SweepResult,
    Task,
    pairs_inside,
)
from odsymnmf.solvers.sparse_h import (
    SparseH,
    empty_log,
    empty_pairs,
    gram,
    reserve_log,
    reserve_pairs,
)
from odsymnmf.utils import Array

# Rows per call of a kernel: Ctrl-C is handled and progress is reported between calls.
BLOCK_ROWS = 2**14
# Fractions of the decrease of f by the best column alone: the penalty of a membership, and without
# penalty, the decrease by which a column becomes a candidate.
PENALTY, MIN_GAIN = 0.05, 0.003
# Maximum number of candidate columns of a row; its own are always among them.
MAX_CANDIDATES = 64
# D is recomputed every REFRESH sweeps and after FIRST_REFRESH sweeps, because the first sweeps
# change most of H. Penalties are set before the first sweep and after FIRST_REFRESH sweeps, then
# fixed, so that sweeps converge.
REFRESH, FIRST_REFRESH = 10, 2
# Rows of a piece of a round, pieces of a round, and the largest ratio of r to the rows of a piece.
MIN_ROWS, MAX_ROWS, N_PIECES, MAX_COLUMNS_PER_ROW = 512, 4096, 8, 8


class SparseLoss:
    """Base class of the losses for a sparse H.

    Parameters
    ----------
    A : Links
        The stored pairs: symmetric CSR arrays with sorted indices and no diagonal.
    H : SparseH
        Changed in place.
    weights : PairWeights
    upper : float
        Upper bound on the entries of H.
    """

    name: ClassVar[str]
    relative_tol: ClassVar[bool]
    # The violation of a sweep, given those of its parts.
    combine_violations: ClassVar[Any] = max
    # Whether the largest similarity bounds H by default.
    bounded: ClassVar[bool]
    degree: ClassVar[int]
    scales: ClassVar[Scales]
    loss_terms: ClassVar[Any] = None
    restarts: ClassVar[int] = 0
    # Items are in the order of their strongest column: adjacent items are in different rounds.
    run_length: ClassVar[int] = 1

    def __init__(
        self,
        A: Links,
        H: SparseH,
        weights: PairWeights = EQUAL,
        *,
        upper: float = np.inf,
    ):
        self.A, self.H = A, H
        self.w0, self.E = float(weights.default), kernel_weights(weights, len(A.indptr) - 1)
        self.upper = upper
        self._inside: Any = None
        self._max_row = MAX_CANDIDATES

    @property
    def n(self) -> int:
        return self.H.n

    def objective_at_zero(self) -> float:
        """Return f(0)."""
        return self.objective(SparseH(np.zeros((self.n, 1)), self.H.dtype))

    def objective(self, H: SparseH | None = None) -> float:
        """Return f(H) without its penalty, at the cost of the stored pairs and memberships."""
        M = (H or self.H).csr()
        stored = objective.sparse_error(
            self.A, self.w0, self.E, M.indptr, M.indices, M.data, M.shape[1], self.degree == 1
        )
        return max(0.0, self.w0 * self._all_pairs(M) + float(stored))

    def _all_pairs(self, M: Any) -> float:
        """Return the sum of |h_i . h_j|^p over all pairs."""
        raise NotImplementedError

    def penalty(self, H: SparseH) -> float:
        """Return sum_k p_k |h_k|_0."""
        return 0.0

    def total(self, decreases: Array) -> float:
        """Return the decrease of f with its penalty."""
        return float(decreases[1])

    def clean_columns(self, H: SparseH) -> None:
        """Clear columns with one entry, balance those with two: neither changes f."""
        H.clean_columns()

    def refresh(self) -> None:
        """Recompute the sums over H."""
        raise NotImplementedError

    def state(self) -> dict[str, Array]:
        """Return the arrays besides H that the next sweep depends on, by name."""
        return {}

    def load(self, arrays: dict[str, Array]) -> None:
        """Continue from the arrays that `state` returned for this H."""

    # Sweeps

    def sweep(self, progress: Any = None) -> SweepResult:
        """Set every row to its optimum in turn; ``progress`` is called with the rows done."""
        items, done = self.begin_sweep(), 0
        self.begin_round()
        decreases, violations = np.zeros(2), []
        while done < self.n:
            block = items[done : done + BLOCK_ROWS]
            rows, need, gains, violation = self._solve(block, self.H.log, done, in_place=True)
            decreases += gains
            violations.append(violation)
            done += rows
            if rows < len(block):
                self._reserve(need)
            elif progress is not None:
                progress(done)
        return self.end_sweep(items, decreases, self.combine_violations(violations))

    def begin_sweep(self) -> Array:
        """Prepare a sweep; clean columns and refresh the sums if it is time."""
        raise NotImplementedError

    def end_sweep(self, items: Array, decreases: Array, violation: float) -> SweepResult:
        """Return the result of a sweep."""
        raise NotImplementedError

    def _solve(
        self, items: Array, out: Log, position: int, *, in_place: bool, passes: int = 1
    ) -> tuple[int, int, Array, float]:
        """Solve rows into ``out``.

        ``position`` is that of the first item in the sweep; against a fixed H it is 1. Return the
        number of rows solved, the capacity that the next row needs, the decreases and the
        violation.
        """
        raise NotImplementedError

    def _reserve(self, entries: int) -> None:
        """Reserve capacity for a row with this many entries."""
        self.H.reserve(entries)

    def solve_into_log(
        self, items: Array, entries: int, passes: int = 1
    ) -> tuple[Log, Array, float]:
        """Solve rows for a fixed H; return them, their decreases and the violation.

        With ``passes`` > 1 the items are new: rows of A that H does not contain.
        """
        out = empty_log(len(items), 0, entries, self.H.dtype)
        decreases, violations, done = np.zeros(2), [], 0
        while done < len(items):
            rows, need, gains, violation = self._solve(
                items[done:], out._replace(span=out.span[done:]), 1, in_place=False, passes=passes
            )
            decreases += gains
            violations.append(violation)
            done += rows
            if done < len(items):
                out = reserve_log(out, need, self.H.dtype)
        return out, decreases, self.combine_violations(violations)

    # Rounds

    def pieces(self, items: Array) -> list[slice]:
        """Cut the items of a round into pieces of work."""
        rows = min(max(self.n // (N_ROUNDS * N_PIECES), MIN_ROWS), MAX_ROWS)
        rows = max(rows, self.H.r // MAX_COLUMNS_PER_ROW)
        return [slice(b, min(b + rows, len(items))) for b in range(0, len(items), rows)]

    def begin_round(self) -> None:
        """Record the largest sums so far, and the number of memberships that a row may have."""
        span = self.H.log.span
        self._max_row = max(MAX_CANDIDATES, int((span[:, 1] - span[:, 0]).max(initial=0)))

    def solve_rows(self, items: Array, place: slice) -> RowUpdates:
        """Solve the rows of the items against H as it is."""
        span = self.H.log.span[items]
        entries = 2 * int((span[:, 1] - span[:, 0]).sum()) + 64
        out, decreases, violation = self.solve_into_log(items, entries)
        moved, pair_terms, change = self._change(items, out)
        return RowUpdates((out, pair_terms), moved, decreases, violation, change)

    def _change(self, items: Array, out: Log) -> tuple[Array, float, Any]:
        """Return which items move, the pair terms without stored pairs, and the change of sums."""
        raise NotImplementedError

    def merge(self, items: Array, parts: list[RowUpdates]) -> RowUpdates:
        """Join the updates of the pieces; add the pair terms of items in different pieces."""
        if len(parts) == 1:
            log, pair_terms = parts[0].rows
            top, moved = int(log.top[0]), parts[0].moved
            rows = NewRows(log.span, log.column[:top].copy(), log.value[:top].copy(), moved)
            decreases = parts[0].decreases - self.w0 * pair_terms
            return parts[0]._replace(rows=rows, decreases=decreases)
        logs = [part.rows[0] for part in parts]
        tops = [int(log.top[0]) for log in logs]
        begins = np.cumsum([0, *tops[:-1]])
        moved = np.concatenate([part.moved for part in parts])
        rows = NewRows(
            np.concatenate([log.span + b for log, b in zip(logs, begins, strict=True)]),
            np.concatenate([log.column[:t] for log, t in zip(logs, tops, strict=True)]),
            np.concatenate([log.value[:t] for log, t in zip(logs, tops, strict=True)]),
            moved,
        )
        across, change = self._join([part.change for part in parts])
        pair_terms = sum(part.rows[1] for part in parts) + across
        decreases = sum(part.decreases for part in parts) - self.w0 * pair_terms
        violation = self.combine_violations([part.violation for part in parts])
        return RowUpdates(rows, moved, decreases, violation, change)

    def _join(self, changes: list[Any]) -> tuple[float, Any]:
        """Return the pair terms of items in different pieces, and the sum of the changes."""
        raise NotImplementedError

    def pair_corrections(self, round: Round, updates: RowUpdates) -> list[Task]:
        """Return tasks that compute the pair correction of stored pairs and exceptions."""
        if self._inside is None:
            self._inside = pairs_inside(self.A, 1), pairs_inside(self.E, 1)
        return [partial(self._correction, round, piece, updates) for piece in round.pieces]

    def _correction(self, round: Round, piece: slice, updates: RowUpdates) -> PairCorrection:
        value = sparse_rounds.sparse_listed_correction(
            round.items[piece], self._inside[0], self.w0, self._inside[1], round.position,
            self.H.log, updates.rows, self.H.r, self.degree,
        )  # fmt: skip
        return PairCorrection(np.full(2, float(value)))

    def apply_tasks(
        self, round: Round, updates: RowUpdates, corrections: list[PairCorrection]
    ) -> list[Task]:
        """Return the task that appends the new rows to the log of H."""
        return [partial(self._put_rows, round.items, updates.rows)]

    def _put_rows(self, items: Array, rows: NewRows) -> None:
        self.H.reserve(len(rows.column))
        sparse_rounds.put_rows(items, rows, self.H.log)

    def apply_change(self, updates: RowUpdates) -> None:
        """Add the change of the sums over H, after the new rows."""
        raise NotImplementedError


class SparseL2(SparseLoss):
    """sum_{i != j} w_ij (A_ij - h_i . h_j)^2 + sum_k p_k |h_k|_0.

    Parameters
    ----------
    share : float
        The penalty p_k of a membership of item k, as a fraction of the decrease of f by the best
        column alone; it is set in the first and the third sweep, then fixed.
    penalized : bool
        False: no penalty. A column is then a candidate if its decrease alone is at least this
        fraction; with 0 the problem is that with a dense H.
    """

    name = "l2"
    relative_tol, bounded, degree = True, True, 2
    combine_violations = sum
    scales = Scales(0.0, 1.0)

    def __init__(
        self,
        A: Links,
        H: SparseH,
        weights: PairWeights = EQUAL,
        *,
        upper: float = np.inf,
        share: float = PENALTY,
        penalized: bool = True,
    ):
        super().__init__(A, H, weights, upper=upper)
        self.share, self.penalized = share, penalized
        self.penalties = np.full(H.n, -1.0 if penalized else 0.0)
        self._last_penalties = self.penalties  # those of the last complete sweep
        self.D = empty_pairs(0, 1)  # computed by `refresh`
        self._sweeps, self._inexact, self._recomputed = 0, False, 0
        self._lock = Lock()

    def _all_pairs(self, M: Any) -> float:
        return gram(M)[1]

    def penalty(self, H: SparseH) -> float:
        """Return sum_k p_k |h_k|_0, with the penalties of the last complete sweep."""
        span = H.log.span
        return float(np.maximum(self._last_penalties, 0.0) @ (span[:, 1] - span[:, 0]))

    def refresh(self, penalties: bool = True) -> None:
        """Recompute D; the next sweep sets the penalties."""
        self.D, _ = gram(self.H.csr())
        if penalties and self.penalized:
            self.penalties = np.full(self.n, -1.0)

    def begin_sweep(self) -> Array:
        """Prepare a sweep; clean columns and recompute D if it is time."""
        regular = self._sweeps % REFRESH == 0
        if regular:
            self.H.clean_columns()
        if regular or self._sweeps == FIRST_REFRESH or self._inexact:
            self.refresh(penalties=self._sweeps in (0, FIRST_REFRESH))
        self._sweeps += 1
        self._recomputed = 0
        return np.arange(self.n)

    def end_sweep(self, items: Array, decreases: Array, violation: float) -> SweepResult:
        """Return the result of a sweep; the violation is 0 if it is rounding."""
        self.H.compact()
        self._last_penalties = self.penalties
        self._inexact = self._recomputed > self.H.r  # many columns have shrunk
        # The sum of H D, which A H balances, times the machine epsilon.
        H = self.H.csr()
        total = H.sum(axis=1) @ (H @ H.sum(axis=0))
        rounding = 16.0 * float(np.finfo(self.H.dtype).eps * total)
        loss_decrease, decrease = decreases.tolist()
        return SweepResult(decrease, violation if violation > rounding else 0.0, loss_decrease)

    def begin_new_items(self, m: int) -> None:
        """Compute the sums over H for m new items, and their penalties."""
        self.refresh()
        self.begin_round()
        self.penalties = np.full(m, -1.0 if self.penalized else 0.0)

    def _solve(
        self, items: Array, out: Log, position: int, *, in_place: bool, passes: int = 1
    ) -> tuple[int, int, Array, float]:
        longest = int((self.E.indptr[items + 1] - self.E.indptr[items]).max(initial=0))
        work = sparse_l2.workspace(self.D, self.H.dtype, longest, self._max_row)
        done, need, loss, penalized, violation, recomputed = sparse_l2.sparse_l2_rows(
            items, self.A, self.w0, self.E, self.H.log, self.D, out, self.penalties, self.share,
            self.upper, MAX_CANDIDATES, passes, in_place, work,
        )  # fmt: skip
        with self._lock:
            self._recomputed += recomputed
        return done, need, np.array([loss, penalized]), float(violation)

    def _reserve(self, entries: int) -> None:
        super()._reserve(entries)
        self.D = reserve_pairs(self.D, entries * (entries - 1) // 2)

    def begin_round(self) -> None:
        """Record the largest sums so far, and the number of memberships that a row may have."""
        super().begin_round()
        np.maximum(self.D.peak, self.D.diagonal, out=self.D.peak)

    def _change(self, items: Array, out: Log) -> tuple[Array, float, Any]:
        moved = np.empty(len(items), dtype=np.bool_)
        change = empty_pairs(0, (8 * len(items)).bit_length())
        done, pair_terms = 0, 0.0
        while done < len(items):
            done, need, more = sparse_rounds.gram_changes(
                done, items, out, self.H.log, moved, change
            )
            pair_terms += float(more)
            change = reserve_pairs(change, need * (need + 1) // 2)
        return moved, pair_terms, change

    def _join(self, changes: list[Any]) -> tuple[float, Any]:
        capacity = sum(int(change.used[0]) for change in changes[1:])
        total, across = reserve_pairs(changes[0], capacity), 0.0
        for change in changes[1:]:
            across += float(add_pairs(change, total))
        return across, total

    def apply_change(self, updates: RowUpdates) -> None:
        """D += the change."""
        self.D = reserve_pairs(self.D, int(updates.change.used[0]))
        sparse_rounds.add_gram_change(updates.change, self.D)

    def state(self) -> dict[str, Array]:
        """Return the arrays besides H that the next sweep depends on, by name."""
        state = {"penalties": self.penalties, "sweeps": np.array([self._sweeps, self._inexact])}
        if self._sweeps > 0:
            side = np.array([self.D.side, self.D.used[0]])
            table = {"key": self.D.key, "value": self.D.value, "side": side}
            state |= {"diagonal": self.D.diagonal, "peak": self.D.peak, **table}
        return state

    def load(self, arrays: dict[str, Array]) -> None:
        """Continue from the arrays that `state` returned for this H."""
        self.penalties[:], (sweeps, inexact) = arrays["penalties"], arrays["sweeps"]
        self._sweeps, self._inexact = int(sweeps), bool(inexact)
        if self._sweeps > 0:
            side, used = arrays["side"]
            bits = len(arrays["key"]).bit_length() - 1
            self.D = empty_pairs(self.H.r, None if side else bits)
            for name in ("diagonal", "peak", "key", "value"):
                getattr(self.D, name)[:] = arrays[name]
            self.D.used[0] = used


class SparseL1(SparseLoss):
    """sum_{i != j} w_ij |A_ij - h_i . h_j|, bit-identical to a dense H; l1 needs no penalty."""

    name = "l1"
    relative_tol, bounded, degree = False, False, 1
    scales = Scales(1.0, 0.0)

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self.sums = ColumnState(*[np.empty(0)] * 5)  # computed by `refresh`

    def _all_pairs(self, M: Any) -> float:
        return float(objective.sparse_pair_products(M.indptr, M.indices, M.data, M.shape[1]))

    def refresh(self) -> None:
        """Recompute the column sums."""
        span, r = self.H.log.span, self.H.r
        W, nonzero = self.H.column_sums(), span[:, 1] > span[:, 0]
        self.sums = ColumnState(W, nonzero, W.copy(), np.zeros(r), np.full(r, -1))

    def begin_sweep(self) -> Array:
        """Clean columns and recompute the sums."""
        self.H.clean_columns()
        self.refresh()
        return np.arange(self.n)

    def end_sweep(self, items: Array, decreases: Array, violation: float) -> SweepResult:
        """Return the result of a sweep; the violation is relative to the largest entry."""
        self.H.compact()
        log = self.H.log
        top = float(log.value[: log.top[0]].max(initial=0.0))
        decrease = float(decreases[0])
        return SweepResult(decrease, violation / top if top > 0 else violation, decrease)

    def begin_new_items(self, m: int) -> None:
        """Compute the sums over H for new items."""
        self.refresh()
        self.begin_round()

    def _solve(
        self, items: Array, out: Log, position: int, *, in_place: bool, passes: int = 1
    ) -> tuple[int, int, Array, float]:
        longest = int((self.A.indptr[items + 1] - self.A.indptr[items]).max(initial=0))
        work = sparse_l1.workspace(self.H.shape, self.H.dtype, longest, self._max_row)
        done, need, decrease, largest = sparse_l1.sparse_l1_rows(
            items, position, self.A, self.w0, self.E, self.H.log, self.sums, out, self.upper,
            MAX_CANDIDATES, passes, in_place, work,
        )  # fmt: skip
        return done, need, np.full(2, float(decrease)), float(largest)

    def _change(self, items: Array, out: Log) -> tuple[Array, float, Any]:
        moved, change = np.empty(len(items), dtype=np.bool_), np.zeros(self.H.r)
        pair_terms = sparse_rounds.sum_changes(items, out, self.H.log, moved, change)
        return moved, float(pair_terms), change

    def _join(self, changes: list[Any]) -> tuple[float, Any]:
        total, across = changes[0], 0.0
        for change in changes[1:]:
            across += 2.0 * float(np.sum(total * change))  # no BLAS, as for a dense H
            total += change
        return across, total

    def apply_change(self, updates: RowUpdates) -> None:
        """W += the change, after the new rows."""
        W, nonzero, peak, *_ = self.sums
        sparse_rounds.add_sum_change(updates.change, self.E, self.H.log, W, peak)
        span = self.H.log.span
        nonzero |= span[:, 1] > span[:, 0]


SPARSE_LOSSES: dict[str, type[SparseL2] | type[SparseL1]] = {"l2": SparseL2, "l1": SparseL1}


def sparse_loss_for(scales: Scales) -> type[SparseL2] | type[SparseL1]:
    """Return the loss with these scales."""
    return SparseL1 if scales.l1 > 0 else SparseL2
