"""Column restarts: a column that would do better elsewhere is built anew (beyond the paper).

Coordinate descent moves one entry at a time, so a column that shares its cluster with another, or
lies across two, stays where it is: every single step away costs more than it gains. Instead the
whole column is taken out and grown anew on what the others leave over, and kept only if the
objective falls.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from odsymnmf.init import degrees, grow
from odsymnmf.losses import L1
from odsymnmf.solver import Run

Array = NDArray[Any]

# A sweep that lowers the objective by a smaller fraction leaves the word to restarts: l1 may creep
# for hundreds of sweeps around a column that is out of place.
STALL = 1e-2
# How often a column is tried in a round: from the item with the most to explain, then from the
# next best that the column built before does not hold.
SEEDS = 2
# The items picked one by one: at least these, else as many as the greedy start picks.
PICKS = 20
# Sweeps over the items of a new column before it is judged.
SWEEPS = 3
# Columns with a larger cosine are the same.
SAME = 0.95


def descend_with_restarts(run: Run, rounds: int, empty: float = 0.0) -> None:
    """Sweep until little moves, try to rebuild every column; again until none improves."""
    below = np.full(run.H.shape[1], np.inf)
    for _ in range(rounds if run.max_iter > 0 else 0):
        run.descend(empty, STALL)
        empty, before = 0.0, len(run.restarts)
        _one_round(run, below)
        if run.stopped or len(run.restarts) == before:
            break
    run.descend(empty)


def _one_round(run: Run, below: Array) -> None:
    """Try every column j, where f is below ``below[j]``.

    A column that could not be rebuilt without a loss is tried again when f has fallen by as
    much: until then, too little has changed around it.
    """
    if run.loss.A.scale <= 0:
        return
    run.loss.refresh(run.H)
    sums = degrees(run.loss.A)
    for j in order(run.H):
        if run.stopped:
            break
        if run.objective >= below[j]:
            continue
        avoid, fall = np.zeros(len(run.H), dtype=bool), -np.inf
        for _ in range(SEEDS):
            if avoid.all() or fall > 0:
                break
            fall = max(fall, _try(run, j, sums, avoid))
        below[j] = np.inf if fall > 0 else run.objective + fall
        run.report(j)


def order(H: Array) -> list[int]:
    """Return the columns: first those that are zero or nearly repeat one before them."""
    D = (H.T @ H).astype(np.float64)
    lengths = np.sqrt(D.diagonal())
    lengths[lengths == 0] = np.inf
    repeats = (np.tril(D, -1) > SAME * np.outer(lengths, lengths)).any(axis=1)
    spare = np.isinf(lengths) | repeats
    return [*np.flatnonzero(spare).tolist(), *np.flatnonzero(~spare).tolist()]


def _try(run: Run, j: int, degrees: Array, avoid: Array) -> float:
    """Rebuild column j and sweep its items, old and new; undo it unless the objective fell.

    Return by how much it did, or if not, minus what was missing; then the items of the new
    column are to ``avoid`` as seeds.
    """
    loss, H = run.loss, run.H
    old = H[:, j].copy()
    worth, size = loss.worth(H, j, np.flatnonzero(old))
    _rebuild(run, j, degrees, avoid)
    new = H[:, j] > 0
    avoid |= new
    if np.array_equal(old, H[:, j]):
        return 0.0
    items = np.flatnonzero((old > 0) | new)
    rows = H[items]
    rows[:, j] = old[items]
    sums = loss.set_aside(items)
    loss.column_changed(H, j, items)
    new_worth, new_size = loss.worth(H, j, items)
    rounding = float(np.finfo(H.dtype).eps) ** 0.75 * (run.objective + size + new_size)
    fall = new_worth - worth + _sweep_items(run, items, rounding)
    if fall > rounding:
        run.accept(items, fall)
        return fall
    H[items] = rows
    loss.put_back(sums)
    return min(fall, 0.0)


def _rebuild(run: Run, j: int, degrees: Array, avoid: Array) -> None:
    H, r = run.H, run.H.shape[1]
    columns = run.loss.column_sums(H)
    H[:, j], columns[j] = 0, 0
    H[:, j] = grow(
        run.loss.A,
        H,
        degrees,
        columns,
        picks=max(PICKS, 2 * r - 2),
        l1=isinstance(run.loss, L1),
        upper=run.loss.upper,
        avoid=avoid,
    )


def _sweep_items(run: Run, items: Array, rounding: float) -> float:
    """Sweep a few times, as long as it helps; return the fall."""
    fall = 0.0
    for _ in range(SWEEPS):
        step = run.loss.sweep_items(run.H, items)
        fall += step
        if step <= rounding:
            break
    return fall
