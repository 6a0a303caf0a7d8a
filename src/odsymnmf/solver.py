"""The loop: sweeps until nothing moves, the budget is spent, or somebody says stop."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odsymnmf.losses import Loss, tidy

Array = NDArray[Any]


@dataclass(frozen=True)
class Sweep:
    """What a callback sees after a sweep. H is the solver's own: copy it to keep it."""

    n_iter: int
    objective: float
    H: Array


@dataclass(frozen=True)
class Solution:
    """Where the sweeps ended; history[0] is the objective at the start."""

    H: Array
    history: Array
    n_iter: int
    converged: bool


Callback = Callable[[Sweep], Any]


def solve(
    loss: Loss,
    H: Array,
    *,
    max_iter: int,
    tol: float,
    empty: float = 0.0,
    callback: Callback | None = None,
) -> Solution:
    """Sweep over H until the violation is at most tol; H is changed in place.

    ``empty`` is given, in the first sweep only, to entries whose column is zero elsewhere: it
    lets a start with single entries leave the ground.
    """
    history = [loss.objective(H)]
    complete = H.copy()
    converged = stopped = False
    try:
        while len(history) <= max_iter and not (converged or stopped):
            fall, violation = loss.sweep(H, empty if len(history) == 1 else 0.0)
            complete[:] = H
            history.append(max(0.0, history[-1] - fall))
            converged = violation <= tol
            if callback is not None:
                stopped = bool(callback(Sweep(len(history) - 1, history[-1], _locked(H))))
    except KeyboardInterrupt:
        stopped = True
    if not (converged or stopped) and max_iter > 0:
        warn_unconverged(tol, max_iter, stacklevel=4)
    if len(history) > 1 and not getattr(loss, "fit_diagonal", False):
        tidy(complete)
    # The sum of the falls carries rounding; the last value is computed anew.
    history[-1] = loss.objective(complete)
    return Solution(complete, np.array(history), len(history) - 1, converged)


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
