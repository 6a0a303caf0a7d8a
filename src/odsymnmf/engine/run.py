"""A run: sweeps and column restarts until nothing moves or somebody says stop.

All that a run knows is in its `State`, so that it can be written down after any step and taken up
again. It asks the loss for steps and knows neither the loss nor the problem.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Loss, Step
from odsymnmf.engine.restarts import order, rebuild
from odsymnmf.engine.sweeps import Rounds
from odsymnmf.problem import degrees
from odsymnmf.problem.blocking import row_work
from odsymnmf.signals import held

Status = Literal["converged", "max_iter", "stopped", "interrupted"]

# A sweep that lowers the objective by a smaller fraction leaves the word to restarts: l1 may creep
# for hundreds of sweeps around a column that is out of place.
STALL = 1e-2
# All restarts of a run take at most as much work as so many sweeps, for each round there may be.
# Graphs take a few; documents with about as many clusters as items took hundreds.
ALLOWANCE = 50
# What the objective may differ by from what the decreases add up to: more is not rounding.
DRIFT = 1e-6
# Multiply-adds of an objective that is worth waiting for after Ctrl-C.
LONG = 2**28


@dataclass(frozen=True)
class Sweep:
    """What a callback sees after a sweep. H is the run's own: copy it to keep it.

    After a column has been tried anew, ``column`` says which; after a sweep it is None.
    ``violation`` is what the tolerance is compared with, as of the last sweep. Where memberships
    are sparse, H is a CSR array, and in a sweep over many items it is shown on the way, too:
    ``rows`` says how many of its rows are done, H is that of the last complete sweep.
    """

    n_iter: int
    objective: float
    H: Any
    column: int | None = None
    violation: float = 1.0
    rows: int | None = None


Callback = Callable[[Sweep], Any]
Keep = Callable[["Run"], None]


@dataclass
class State:
    """Where a run is.

    Attributes
    ----------
    H : ndarray, or the sparse `Memberships`
        In the middle of a step perhaps.
    complete : the same
        H after the last sweep or accepted restart.
    decreases : list of float
        By how much the objective decreased in each sweep and accepted restart.
    restarts : list of int
        Which of these follow an accepted restart; counted from 1.
    n_iter, fresh : int
        Sweeps so far, and since the sums were computed anew.
    first_violation : float
        Of the first sweep, which later ones are compared with.
    round, queue, accepted : int, list of int, int
        The round of restarts; the columns that are still to be tried in it, None between rounds;
        how many restarts were accepted before it.
    below : ndarray
        A column j is tried only while the objective is below below[j].
    spent : int
        The work of all restarts: entries in the rows that they went through.
    objective : float or None
        f(H), once somebody has asked for it.
    audits : list of (int, float)
        After how many decreases the objective was computed anew, and what it was.
    """

    H: Any
    complete: Any
    decreases: list[float] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)
    n_iter: int = 0
    fresh: int = 0
    first_violation: float = 0.0
    round: int = 0
    queue: list[int] | None = None
    accepted: int = 0
    below: Array = field(default_factory=lambda: np.empty(0))
    spent: int = 0
    objective: float | None = None
    converged: bool = False
    stalled: bool = False
    audits: list[tuple[int, float]] = field(default_factory=list)


class Run:
    """A fit under way; its sweeps go row by row, or in ``rounds`` if it is given these.

    There are at most ``restarts`` rounds of column restarts. ``keep`` is called after every step,
    when H and sums are whole.
    """

    def __init__(
        self,
        loss: Loss,
        H: Any,
        *,
        max_iter: int = 200,
        tol: float = 1e-4,
        restarts: int = 0,
        callback: Callback | None = None,
        keep: Keep | None = None,
        rounds: Rounds | None = None,
    ):
        self.loss, self.rounds = loss, rounds
        self.max_iter, self.tol, self.callback, self.keep = max_iter, tol, callback, keep
        self.restarts = restarts if max_iter > 0 else 0
        self.state = State(H, H.copy(), below=np.full(H.shape[1], np.inf))
        self.status: Status = "max_iter"
        self.history: Array = np.empty(0)
        self.mix: dict[str, float] | None = None
        self._sums: Any = None
        self._stopped = False
        self._violation = 1.0

    def resume(self, state: State, sums: dict[str, Array] | None) -> None:
        """Go on from where another run was after a step; ``sums`` is what its sums held."""
        self.state = state
        if sums is not None:
            self._sums = self.loss.sums(state.H)
            mine = self._sums.state()
            if {k: a.shape for k, a in mine.items()} != {k: a.shape for k, a in sums.items()}:
                raise ValueError("the sums of the run are not those of this problem")
            self._sums.load(sums)

    def sums(self) -> dict[str, Array] | None:
        """Return what the sums hold, None before the first step."""
        return None if self._sums is None else self._sums.state()

    def complete(self) -> Any:
        """Run to the end and return H. Ctrl-C ends the run, and keeps the last complete step.

        A second Ctrl-C, which comes before this is done, is passed on.
        """
        try:
            self._keep()
            while not self._stopped and self._step():
                self._keep()
            if self.state.converged:
                self.status = "converged"
            elif self._stopped:
                self.status = "stopped"
            self._finish()
        except KeyboardInterrupt:
            self.status = "interrupted"
            self._finish(at_once=True)
        return self.state.complete

    def _keep(self) -> None:
        if self.keep is not None:
            self.keep(self)

    def _finish(self, at_once: bool = False) -> None:
        """Make the result of the last complete step; ``at_once``: nobody wants to wait for it."""
        state = self.state
        if state.n_iter > 0:
            with held():
                self.loss.tidy(state.complete)
        hurry = at_once and self._long()
        self.history = self._history(self._known() if hurry else self._objective_at(state.complete))
        self.mix = self.loss.mix(None if hurry else state.complete)

    def _long(self) -> bool:
        """Tell whether the objective takes so long that who pressed Ctrl-C should not wait."""
        A = self.loss.A
        return self.state.H.shape[1] * A.stored > LONG

    def _known(self) -> float:
        """Return the objective after the last complete step if it is known, else NaN."""
        return np.nan if self.state.objective is None else self.state.objective

    def _history(self, end: float) -> Array:
        """Return the objective at the start and after every step, given that at the end.

        From the end, back to the start, so that nothing cancels; where an audit says otherwise than
        the decreases, it is right.
        """
        decreases, audited = self.state.decreases, dict(self.state.audits)
        values = np.empty(len(decreases) + 1)
        base, above = end, 0.0
        for k in range(len(decreases), -1, -1):
            true = audited.get(k, base + above)
            if abs(true - base - above) > DRIFT * (true + base + above):
                base, above = true, 0.0
            values[k] = base + above
            above += decreases[k - 1] if k else 0.0
        return values

    @property
    def objective(self) -> float:
        """f(H): computed when first asked for, as it costs a product, then kept up to date."""
        if self.state.objective is None:
            self.state.objective = self._objective_at(self.state.H)
        return self.state.objective

    def _objective_at(self, H: Any) -> float:
        return self.loss.objective(H)

    def _step(self) -> bool:
        """Make one sweep, or try one column; say whether anything was left to do."""
        state = self.state
        if state.queue is not None:
            return self._try_column()
        if state.n_iter < self.max_iter and not (state.converged or state.stalled):
            self._sweep()
            return True
        return self._begin_round()

    def _sweep(self) -> None:
        state = self.state
        decrease, violation = self._advance()
        with held():  # Ctrl-C finds the sweep either recorded or not begun
            self._take(decrease)
            state.n_iter += 1
            state.fresh += 1
            self._record(decrease)
        if self.loss.relative:
            state.first_violation = state.first_violation or violation
            violation /= state.first_violation or 1.0
        state.converged = violation <= self.tol
        self._violation = float(violation)
        self._report()
        if state.round < self.restarts:
            state.stalled = decrease <= STALL * self.objective

    def _advance(self) -> Step:
        """Make one sweep over H, and say what it did."""
        state, loss = self.state, self.loss
        if state.fresh % loss.refresh == 0:
            loss.tidy(state.H)
            self._refresh()
        return loss.sweep(state.H, self._sums, np.arange(len(state.H)), rounds=self.rounds)

    def _take(self, decrease: float) -> None:
        """Let what the sweep made of H be the last complete step."""
        self.state.complete[:] = self.state.H

    def _refresh(self) -> None:
        self._sums = self.loss.sums(self.state.H)
        self.state.fresh = 0

    def _begin_round(self) -> bool:
        """Line up the columns for a round of restarts, if one is left; say whether it is."""
        state = self.state
        if state.round >= self.restarts or self.loss.A.largest <= 0:
            return False
        self._refresh()
        self._audit()
        state.round += 1
        state.queue, state.accepted = order(state.H), len(state.restarts)
        return True

    def _try_column(self) -> bool:
        """Try the next column of the round.

        A column that could not be rebuilt without a loss is tried again when the objective has
        decreased by as much: until then, too little has changed around it. When the allowance is
        spent, no column is tried any more.
        """
        state = self.state
        assert state.queue is not None
        spent = state.spent >= self._allowance
        if spent or not state.queue:
            state.queue, state.stalled = None, False
            if spent or len(state.restarts) == state.accepted:
                state.round = self.restarts  # or nothing moved: this round was the last
            return True
        j = state.queue.pop(0)
        if self.objective < state.below[j]:
            trial = rebuild(self.loss, state.H, self._sums, j, self._degrees, self.objective)
            state.spent += trial.work
            if trial.decrease > 0:
                self._accept(trial.items, trial.decrease)
                state.below[j] = np.inf
            else:
                state.below[j] = self.objective + trial.decrease
            self._report(j)
        return True

    def _accept(self, items: Array, decrease: float) -> None:
        """Keep the rows of the items as they are now in H: a restart has lowered f."""
        state = self.state
        with held():
            state.complete[items] = state.H[items]
            self._record(decrease)
            state.restarts.append(len(state.decreases))
            state.converged = False

    @cached_property
    def _allowance(self) -> int:
        A = self.loss.A
        return self.restarts * ALLOWANCE * row_work(A, np.arange(A.n))

    @cached_property
    def _degrees(self) -> Array:
        return degrees(self.loss.A)

    def _audit(self) -> None:
        """Compute the objective anew, so that history need not believe what restarts claim."""
        self.state.objective = self._objective_at(self.state.H)
        self.state.audits.append((len(self.state.decreases), self.state.objective))

    def _record(self, decrease: float) -> None:
        self.state.decreases.append(decrease)
        if self.state.objective is not None:
            self.state.objective = max(0.0, self.state.objective - decrease)

    def _report(self, column: int | None = None) -> None:
        """Show the callback where the run is; it may say stop."""
        if self.callback is not None:
            H = _locked(self.state.H)
            state = Sweep(self.state.n_iter, self.objective, H, column, self._violation)
            self._stopped = bool(self.callback(state))


def _locked(H: Array) -> Array:
    view = H.view()
    view.flags.writeable = False
    return view
