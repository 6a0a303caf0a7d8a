"""The loop of a fit: sweeps and column restarts until convergence, for dense and sparse H."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from odsymnmf.persistence import prefixed, without_prefix
from odsymnmf.solvers.checkpoint import Checkpoint
from odsymnmf.solvers.restarts import restart_column, restart_order
from odsymnmf.utils import Array

Status = Literal["converged", "max_iter", "stopped", "interrupted"]

# Column restarts begin when the relative decrease of a sweep falls below this.
STALL = 1e-2
# The restarts of a run cost at most as much as this many sweeps, for each round of restarts.
MAX_RESTART_WORK = 50


@dataclass(frozen=True)
class Sweep:
    """The argument of callbacks. Later sweeps change H in place; make a copy to store it.

    ``column`` is the column that a restart has tried, None after a sweep. ``violation`` is the
    violation of the last sweep, which is compared with the tolerance. A sparse H is a CSR array;
    callbacks are then also called during long sweeps: ``rows`` is the number of rows done, and H is
    that of the last complete sweep.
    """

    n_iter: int
    objective: float
    read: Callable[[], Any] = field(repr=False)
    column: int | None = None
    violation: float = 1.0
    rows: int | None = None

    @property
    def H(self) -> Any:
        """The memberships; on a cluster, they are fetched from the workers when they are read."""
        return self.read()

    @property
    def is_complete(self) -> bool:
        """Whether a sweep of all rows is complete (False for restarts and parts of a sweep)."""
        return self.column is None and self.rows is None


Callback = Callable[[Sweep], Any]


@dataclass
class State:
    """State of a run besides H.

    Attributes
    ----------
    decreases : list of float
        Decrease of the objective, with the penalty of a sparse H, in each sweep and accepted
        restart.
    restarts : list of int
        Which of these are restarts, counted from 1.
    first_violation : float
        The violation of the first sweep.
    round : int
        Number of rounds of restarts so far.
    queue : list of int or None
        Columns that remain to be tried in this round; None between rounds.
    accepted : int
        Number of restarts accepted before this round.
    retry_below : ndarray of shape (r,)
        Column j is tried only if the objective is below ``retry_below[j]``.
    work_done : int
        Entries in the rows that restarts have visited.
    objective : float
        f(H) without penalty, updated by the decreases; NaN if it is not needed.
    converged : bool
        Whether the last sweep met the tolerance.
    stalled : bool
        Whether the relative decrease of the last sweep was so small that column restarts begin.
    """

    decreases: list[float] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)
    first_violation: float = 0.0
    round: int = 0
    queue: list[int] | None = None
    accepted: int = 0
    retry_below: Array = field(default_factory=lambda: np.empty(0))
    work_done: int = 0
    objective: float = np.nan
    converged: bool = False
    stalled: bool = False

    @property
    def n_iter(self) -> int:
        """Number of sweeps, derived so that it agrees with the history after an interrupt."""
        return len(self.decreases) - len(self.restarts)


class Run:
    """Sweeps and column restarts of a solver until convergence.

    Parameters
    ----------
    solver : object
        A loss of `odsymnmf.solvers.losses` or `odsymnmf.solvers.sparse_losses`, with its H.
    sweep : callable, optional
        Sweeps all rows: ``solver.sweep`` (the default) or a `Rounds`.
    max_iter, tol, callback
        As for `odsymnmf.factorize`.
    restarts : int
        Maximum number of rounds of column restarts.
    checkpoint : Checkpoint, optional
        Where the run is saved, and from which it resumes; H is then the saved one.
    min_gain : float
        The run has converged if a sweep gains at most this fraction of the explained f(0) - f.
    order : ndarray of n items, optional
        For sparse H: the item of each row.
    """

    def __init__(
        self,
        solver: Any,
        sweep: Callable[..., Any] | None = None,
        *,
        max_iter: int = 200,
        tol: float = 1e-4,
        restarts: int = 0,
        callback: Callback | None = None,
        checkpoint: Checkpoint | None = None,
        min_gain: float = 0.0,
        order: Array | None = None,
    ):
        self.solver = solver
        self.sweep: Any = sweep or solver.sweep
        self.max_iter, self.tol, self.callback = max_iter, tol, callback
        self.restarts = restarts if max_iter > 0 else 0
        self.checkpoint, self.min_gain, self.order = checkpoint, min_gain, order
        self._rank = None if order is None else np.argsort(order)
        # H after the last sweep or accepted restart; None if it has not been fetched yet.
        self._H: Any = solver.H.copy()
        self.state = State(retry_below=np.full(self.H.shape[1], np.inf))
        self.status: Status = "max_iter"
        self.history: Array = np.empty(0)
        self.end = np.nan  # f(H) of the result
        self.loss_terms: dict[str, float] | None = None
        # Whether labels (argmax) changed in the second half of max_iter sweeps; those before it.
        self.labels_changed = False
        self._labels: Any = None
        self._stopped = False
        self._violation = 1.0
        self._needs_objective = callback is not None or self.restarts > 0 or min_gain > 0
        self._zero_objective = float(solver.objective_at_zero()) if min_gain > 0 else np.inf

    @property
    def H(self) -> Any:
        """H after the last sweep or accepted restart; the workers of a cluster send it now."""
        if self._H is None:
            self.sweep.fetch()
            self._H = self.solver.H
        return self._H

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return plain values and arrays from which a run can resume after this step."""
        H = self.H if self.order is None else self.solver.H
        state = dict(vars(self.state))
        arrays = {"H": H, "retry_below": state.pop("retry_below")}
        if self._labels is not None:
            arrays["labels"] = self._labels
        if self.order is not None:
            arrays |= {"H": H.csr(), "order": self.order}
        return {"state": state}, arrays | prefixed("sums", self.solver.state())

    def complete(self) -> Any:
        """Run until convergence and return H. Ctrl-C ends the run with the last complete step.

        A second Ctrl-C before this has returned raises KeyboardInterrupt.
        """
        checkpoint = self.checkpoint
        if checkpoint and checkpoint.saved:
            header, arrays = checkpoint.saved
            self.state = State(**header["state"], retry_below=arrays["retry_below"])
            self._labels = arrays.get("labels")
            self.solver.load(without_prefix("sums", arrays))
        state = self.state
        try:
            if self._needs_objective and np.isnan(state.objective):
                state.objective = self.solver.objective(self.H)
            while not self._stopped:
                if checkpoint:
                    checkpoint.save(self)
                if state.queue is not None:
                    self._try_column()
                elif state.n_iter < self.max_iter and not (state.converged or state.stalled):
                    self._sweep()
                elif state.round < self.restarts and self.solver.A.max_value > 0:
                    self._begin_round()
                else:
                    break
            if state.converged:
                self.status = "converged"
            elif self._stopped:
                self.status = "stopped"
            elif state.n_iter > 0:
                self.labels_changed = not np.array_equal(self._labels, self._argmax())
            self._finish()
        except KeyboardInterrupt:
            self.status = "interrupted"
            self._finish()
        if checkpoint and self.status != "interrupted":
            checkpoint.write(self)
        return self.H

    def _finish(self) -> None:
        """Compute f(H), the history that ends with it, and the terms of the loss."""
        if self.state.n_iter > 0:
            self.solver.clean_columns(self.H)
        self.end = self.solver.objective(self.H)
        # Decreases are added from the end, so that nothing cancels.
        decreases = np.append(0.0, self.state.decreases[::-1])
        end = self.end  # with the penalty of a sparse H
        if self.order is not None:
            end += self.solver.penalty(self.H)
        self.history = end + np.cumsum(decreases)[::-1]
        if self.solver.loss_terms is not None:
            self.loss_terms = self.solver.loss_terms(self.H)

    def _sweep(self) -> None:
        state = self.state
        if state.n_iter == (self.max_iter - 1) // 2:
            self._labels = self._argmax()
        if self.order is None or self.callback is None:
            result = self.sweep()
        else:
            result = self.sweep(self._rows_done)
        if hasattr(self.sweep, "fetch"):
            self._H = None
        elif isinstance(self._H, np.ndarray):
            self._H[:] = self.solver.H
        else:
            self._H = self.solver.H.copy()
        state.decreases.append(result.decrease)
        state.objective = max(state.objective - result.loss_decrease, 0.0)  # NaN stays NaN
        violation = result.violation
        if self.solver.relative_tol:
            state.first_violation = state.first_violation or violation
            violation /= state.first_violation or 1.0
        state.converged = violation <= self.tol
        if self.min_gain > 0:
            gain = self.min_gain * (self._zero_objective - state.objective)
            state.converged = state.converged or result.decrease <= gain
        self._violation = float(violation)
        if self.callback is not None:
            self._report()
        if state.round < self.restarts:
            state.stalled = result.decrease <= STALL * state.objective

    def _argmax(self) -> Array:
        """Return the column of the largest entry of every row of H."""
        if isinstance(self.H, np.ndarray):
            return self.H.argmax(axis=1)
        from odsymnmf.membership_view import MembershipView  # imports scikit-learn

        return MembershipView(self.H.csr()).labels

    def _begin_round(self) -> None:
        """Queue the columns for a round of restarts."""
        state = self.state
        self.solver.refresh()
        # Recomputed, because the decreases of many steps may have lost digits.
        state.objective = self.solver.objective(self.H)
        state.round += 1
        state.queue, state.accepted = restart_order(self.H), len(state.restarts)

    def _try_column(self) -> None:
        """Try the next column of the round.

        A column whose restart would have increased the objective by some amount is tried again only
        after the objective has decreased by this amount.
        """
        state = self.state
        spent = state.work_done >= self._max_work
        if spent or not state.queue:
            state.queue, state.stalled = None, False
            if spent or len(state.restarts) == state.accepted:
                state.round = self.restarts  # no further round
            return
        j = state.queue.pop(0)
        if state.objective < state.retry_below[j]:
            attempt = restart_column(self.solver, j, self._degrees, state.objective)
            state.work_done += attempt.work
            if attempt.decrease > 0:
                self.H[attempt.items] = self.solver.H[attempt.items]
                state.decreases.append(attempt.decrease)
                state.objective = max(state.objective - attempt.decrease, 0.0)
                state.restarts.append(len(state.decreases))
                state.converged = False
                state.retry_below[j] = np.inf
            else:
                state.retry_below[j] = state.objective + attempt.decrease
            if self.callback is not None:
                self._report(j)

    @cached_property
    def _max_work(self) -> int:
        A = self.solver.A
        return int(self.restarts * MAX_RESTART_WORK * A.row_work(np.arange(A.n)))

    @cached_property
    def _degrees(self) -> Array:
        degrees: Array = self.solver.A.degrees()
        return degrees

    def in_given_order(self, H: Any) -> Any:
        """Return a sparse H as a CSR array whose rows are in the order of the items."""
        return H.csr()[self._rank]

    def _rows_done(self, rows: int) -> None:
        """Call the callback during a sweep over many rows."""
        if rows < self.solver.n:
            self._report(rows=rows)

    def _report(self, column: int | None = None, rows: int | None = None) -> None:
        """Call the callback; if it returns True, the run ends after this step."""
        assert self.callback is not None
        state, read = self.state, partial(self._in_given_form, self._H)
        sweep = Sweep(state.n_iter, state.objective, read, column, self._violation, rows)
        self._stopped = bool(self.callback(sweep)) or self._stopped

    def _in_given_form(self, H: Any) -> Any:
        """Return H (None: that on a cluster) read-only, or as a CSR array in the order of items."""
        H = self.H if H is None else H
        if self.order is not None:
            return self.in_given_order(H)
        H = H.view()
        H.flags.writeable = False
        return H
