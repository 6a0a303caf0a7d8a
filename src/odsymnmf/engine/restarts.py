"""Column restarts: a column that would do better elsewhere is built anew (beyond the paper).

Coordinate descent moves one entry at a time, so a column that shares its cluster with another, or
lies across two, stays where it is: every single step away costs more than it gains. Instead the
whole column is taken out and grown anew on what the others leave over, and kept only if the
objective decreases.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.arrays import Array, squared
from odsymnmf.engine.growing import regrow
from odsymnmf.engine.losses import Loss
from odsymnmf.problem.blocking import row_work

# How often a column is tried in a round: from the item with the most to explain, then from the
# next best that the column built before does not hold.
SEEDS = 2
# The items picked one by one: at least these, else as many as the greedy start picks.
PICKS = 20
# Sweeps over the items of a new column before it is judged.
SWEEPS = 3
# Columns with a larger cosine are the same.
SAME = 0.95


class Trial(NamedTuple):
    """What came of rebuilding a column: the items whose rows changed, none if it was undone.

    ``decrease`` is that of the objective, or if it is not positive, minus what was missing;
    ``work`` the entries of all rows that were gone through on the way.
    """

    items: Array
    decrease: float
    work: int


NOTHING = np.empty(0, dtype=np.intp)


def order(H: Array) -> list[int]:
    """Return the columns: first those that are zero or nearly repeat one before them."""
    D = squared(H)
    lengths = np.sqrt(D.diagonal())
    lengths[lengths == 0] = np.inf
    repeats = (np.tril(D, -1) > SAME * np.outer(lengths, lengths)).any(axis=1)
    spare = np.isinf(lengths) | repeats
    return [*np.flatnonzero(spare).tolist(), *np.flatnonzero(~spare).tolist()]


def rebuild(loss: Loss, H: Array, sums: Any, j: int, degrees: Array, objective: float) -> Trial:
    """Try to build column j anew, from one seed after another, until the objective decreases."""
    avoid, best, work = np.zeros(len(H), dtype=bool), Trial(NOTHING, -np.inf, 0), 0
    for _ in range(SEEDS):
        if avoid.all() or best.decrease > 0:
            break
        trial = _try(loss, H, sums, j, degrees, avoid, objective)
        work += trial.work
        best = max(best, trial, key=lambda t: t.decrease)
    return best._replace(work=work)


def _try(
    loss: Loss, H: Array, sums: Any, j: int, degrees: Array, avoid: Array, objective: float
) -> Trial:
    """Rebuild column j and sweep its items, old and new; undo it unless the objective decreased.

    The items of the new column are then to ``avoid`` as seeds.
    """
    old = H[:, j].copy()
    worth = loss.worth(H, j, np.flatnonzero(old))
    columns = sums.column_sums(H)
    H[:, j], columns[j] = 0, 0
    picks = max(PICKS, 2 * H.shape[1] - 2)
    H[:, j], placed = regrow(loss, H, degrees, columns, picks, avoid)
    work = row_work(loss.A, placed)
    new = H[:, j] > 0
    avoid |= new
    if np.array_equal(old, H[:, j]):
        return Trial(NOTHING, 0.0, work)
    items = np.flatnonzero((old > 0) | new)
    rows = H[items]
    rows[:, j] = old[items]
    saved = sums.save(items)
    sums.column_changed(H, j, items)
    new_worth = loss.worth(H, j, items)
    size = objective + worth.size + new_worth.size
    rounding = float(np.finfo(H.dtype).eps) ** 0.75 * size
    steps = _sweep(loss, H, sums, items, rounding)
    decrease = new_worth.value - worth.value + sum(steps)
    work += len(steps) * row_work(loss.A, items)
    # No loss is below zero: a decrease that claims so is rounding that got out of hand.
    if rounding < decrease <= objective + rounding:
        return Trial(items, decrease, work)
    H[items] = rows
    sums.restore(saved)
    return Trial(NOTHING, min(decrease, 0.0), work)


def _sweep(loss: Loss, H: Array, sums: Any, items: Array, rounding: float) -> list[float]:
    """Sweep the items a few times, as long as it helps; return the decreases."""
    steps: list[float] = []
    while len(steps) < SWEEPS and (not steps or steps[-1] > rounding):
        steps.append(loss.sweep(H, sums, items).decrease)
    return steps
