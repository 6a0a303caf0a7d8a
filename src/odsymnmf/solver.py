"""The loop: sweeps until nothing moves, the budget is spent, or somebody says stop."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from odsymnmf.losses import Loss, tidy

Array = NDArray[Any]


@dataclass(frozen=True)
class Sweep:
    """What a callback sees after a sweep. H is the solver's own: copy it to keep it.

    After a column has been tried anew, ``column`` says which; after a sweep it is None.
    """

    n_iter: int
    objective: float
    H: Array
    column: int | None = None


@dataclass(frozen=True)
class Solution:
    """Where a run ended; history[0] is the objective at the start."""

    H: Array
    history: Array
    restarts: Array
    n_iter: int
    converged: bool


Callback = Callable[[Sweep], Any]


class Run:
    """A fit under way: sweeps and restarts of columns change H in place and are recorded.

    As a context, it ends quietly at Ctrl-C; ``complete`` then is H after the last sweep or
    accepted restart.
    """

    def __init__(
        self,
        loss: Loss,
        H: Array,
        *,
        max_iter: int,
        tol: float,
        callback: Callback | None = None,
    ):
        self.loss, self.H = loss, H
        self.max_iter, self.tol, self.callback = max_iter, tol, callback
        self.complete = H.copy()
        self.falls: list[float] = []
        self._objective: float | None = None
        self.restarts: list[int] = []
        self.n_iter = 0
        self.converged = self.stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        if interrupted:
            self.stopped, self.converged = True, False
        return interrupted

    @property
    def objective(self) -> float:
        """f(H): computed when first asked for, as it costs a product, then kept by its falls."""
        if self._objective is None:
            self._objective = self.loss.objective(self.H)
        return self._objective

    def descend(self, empty: float = 0.0, stall: float = 0.0) -> None:
        """Sweep until the violation is at most tol, max_iter is reached or somebody says stop.

        Or until a sweep lowers the objective by no more than the fraction ``stall``, if that is
        not 0. ``empty`` is given, in the first sweep only, to entries whose column is zero
        elsewhere: it lets a start with single entries leave the ground.
        """
        while self.n_iter < self.max_iter and not (self.converged or self.stopped):
            fall, violation = self.loss.sweep(self.H, empty)
            empty = 0.0
            self.complete[:] = self.H
            self.n_iter += 1
            self._record(fall)
            self.converged = violation <= self.tol
            self.report()
            if stall > 0 and fall <= stall * self.objective:
                break

    def accept(self, items: Array, fall: float) -> None:
        """Keep the rows of the items as they are now in H: a restart has lowered f."""
        self.complete[items] = self.H[items]
        self._record(fall)
        self.restarts.append(len(self.falls))
        self.converged = False

    def report(self, column: int | None = None) -> None:
        """Show the callback where the run is; it may say stop."""
        if self.callback is not None:
            state = Sweep(self.n_iter, self.objective, _locked(self.H), column)
            self.stopped = bool(self.callback(state))

    def solution(self) -> Solution:
        """Return where the run ended."""
        if not (self.converged or self.stopped) and self.max_iter > 0:
            warn_unconverged(self.tol, self.max_iter, stacklevel=4)
        H = self.complete
        if self.n_iter > 0 and not getattr(self.loss, "fit_diagonal", False):
            tidy(H)
        # From the end, which is computed anew, back to the start: nothing cancels.
        above = np.cumsum([0.0, *reversed(self.falls)])[::-1]
        history = self.loss.objective(H) + above
        marks = np.array(self.restarts, dtype=np.intp)
        return Solution(H, history, marks, self.n_iter, self.converged)

    def _record(self, fall: float) -> None:
        self.falls.append(fall)
        if self._objective is not None:
            self._objective = max(0.0, self._objective - fall)


def _locked(H: Array) -> Array:
    view = H.view()
    view.flags.writeable = False
    return view


def warn_unconverged(tol: float, max_iter: int, stacklevel: int) -> None:
    """Warn that the sweeps were too few."""
    # Imported here, because scikit-learn takes longer to import than most fits take.
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"no convergence to tol={tol} in max_iter={max_iter} sweeps; the result is usable: "
        "raise max_iter to come closer to a minimum, or tol to be content with less",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
