"""Column restarts (beyond the paper): a column is rebuilt greedily on the residual.

Coordinate descent changes one entry at a time. It cannot improve a column that shares a cluster
with another column or covers parts of two clusters, if every change of a single entry increases f.
A restart removes the whole column, builds a new one, and accepts it if f decreases.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.init.greedy import rebuild_column
from odsymnmf.utils import Array, squared

# Attempts per column and round: from the item with the largest score, then from the best item that
# the first attempt does not contain.
N_SEEDS = 2
# Minimum number of items that are added one by one; more if the greedy initialization adds more.
MIN_PICKS = 20
# Sweeps over the items of a new column before it is compared with the old one.
N_SWEEPS = 3
# Columns with a larger cosine are duplicates.
DUPLICATE_COSINE = 0.95


class RestartAttempt(NamedTuple):
    """Result of rebuilding a column: the items whose rows changed, none if it was undone.

    ``decrease`` is that of the objective, not positive if the new column was worse. ``work`` is the
    number of entries in all rows visited.
    """

    items: Array
    decrease: float
    work: int


NO_ITEMS = np.empty(0, dtype=np.intp)


def restart_order(H: Array) -> list[int]:
    """Return column indices, empty and duplicate columns first."""
    D = squared(H)
    norms = np.sqrt(D.diagonal())
    norms[norms == 0] = np.inf
    duplicate = (np.tril(D, -1) > DUPLICATE_COSINE * np.outer(norms, norms)).any(axis=1)
    redundant = np.isinf(norms) | duplicate
    return [*np.flatnonzero(redundant).tolist(), *np.flatnonzero(~redundant).tolist()]


def restart_column(solver: Any, j: int, degrees: Array, objective: float) -> RestartAttempt:
    """Rebuild column j greedily on the residual; keep it if the objective decreases."""
    avoid, work = np.zeros(solver.A.n, dtype=bool), 0
    best = RestartAttempt(NO_ITEMS, -np.inf, 0)
    for _ in range(N_SEEDS):
        if avoid.all() or best.decrease > 0:
            break
        attempt = _attempt(solver, j, degrees, avoid, objective)
        work += attempt.work
        best = max(best, attempt, key=lambda attempt: attempt.decrease)
    return best._replace(work=work)


def _attempt(solver: Any, j: int, degrees: Array, avoid: Array, objective: float) -> RestartAttempt:
    """Rebuild column j and sweep its old and new items; undo it unless f decreased.

    The items of the new column are added to ``avoid``.
    """
    H = solver.H
    old = H[:, j].copy()
    gain = solver.column_gain(j, np.flatnonzero(old))
    columns = solver.column_sums()
    H[:, j], columns[j] = 0, 0
    n_picks = max(MIN_PICKS, 2 * H.shape[1] - 2)
    H[:, j], tried = rebuild_column(solver, H, degrees, columns, n_picks, avoid)
    work = solver.A.row_work(tried)
    new = H[:, j] > 0
    avoid |= new
    if np.array_equal(old, H[:, j]):
        return RestartAttempt(NO_ITEMS, 0.0, work)
    items = np.flatnonzero((old > 0) | new)
    rows = H[items]
    rows[:, j] = old[items]
    saved = solver.save(items)
    solver.column_changed(j, items)
    new_gain = solver.column_gain(j, items)
    size = objective + gain.size + new_gain.size
    rounding = float(np.finfo(H.dtype).eps) ** 0.75 * size
    steps = _sweeps(solver, items, rounding)
    decrease = new_gain.value - gain.value + sum(steps)
    work += len(steps) * solver.A.row_work(items)
    # f is not below zero: a larger decrease would be rounding.
    if rounding < decrease <= objective + rounding:
        return RestartAttempt(items, decrease, work)
    H[items] = rows
    solver.restore(saved)
    return RestartAttempt(NO_ITEMS, min(decrease, 0.0), work)


def _sweeps(solver: Any, items: Array, rounding: float) -> list[float]:
    """Sweep the items while f decreases; return the decreases."""
    steps: list[float] = []
    while len(steps) < N_SWEEPS and (not steps or steps[-1] > rounding):
        steps.append(solver.sweep(items).decrease)
    return steps
