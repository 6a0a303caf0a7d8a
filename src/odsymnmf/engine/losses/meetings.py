"""What pairs inside a round add to f_1 and f_2, beyond what its rows and sums say."""

from functools import partial

import numpy as np

from odsymnmf import kernels
from odsymnmf.arrays import Array
from odsymnmf.engine.losses.protocol import Change
from odsymnmf.problem import Similarity
from odsymnmf.problem.rounds import Moves, Share, Task


def across(before: Change | None, change: Change) -> Array:
    """Return what all pairs of items in two parts of a round add, were nothing stored."""
    if before is None:
        return np.zeros(2)
    return np.array([_twice_inner(before.W, change.W), _twice_inner(before.D, change.D)])


def _twice_inner(a: Array | None, b: Array | None) -> float:
    # No BLAS: its threads would add up long vectors in parts.
    return 0.0 if a is None or b is None else 2.0 * float(np.sum(a * b))


def added(before: Change | None, change: Change) -> Change:
    """Return the sum of two changes; the first is used up."""
    if before is None:
        return change
    for total, more in zip(before, change, strict=True):
        if total is not None:
            total += more
    return before


def exceptions(A: Similarity, moves: Moves, shares: list[Share], powers: list[int]) -> list[Task]:
    """Return the tasks that add up the exceptions."""
    if A.weights.exceptions is None:
        return []
    return [partial(_exceptions, A, moves, share, powers) for share in shares]


def _exceptions(A: Similarity, moves: Moves, share: Share, powers: list[int]) -> Array:
    listed, items, found = A.weights.exceptions, share.items, np.zeros(2)
    rows = kernels.l1.Rows(items, listed.indptr, listed.indices, listed.a)
    for power in powers:
        found[power - 1] = kernels.rounds.listed_rise(
            items, rows, listed.v, moves.round.lattice, *moves[1:], power
        )
    return found


def stored(A: Similarity, moves: Moves, shares: list[Share], powers: list[int]) -> list[Task]:
    """Return the tasks that add up the stored pairs, row by row."""
    if A.weights.background == 0:
        return []
    return [partial(_stored, A, moves, share, powers) for share in shares]


def _stored(A: Similarity, moves: Moves, share: Share, powers: list[int]) -> Array:
    items, lattice, found = share.items, moves.round.lattice, np.zeros(2)
    if not moves.moved[share.places].any():
        return found
    rows = A.rows_inside(moves.round, share)
    inside = kernels.rounds
    if 1 in powers:
        found[0] = inside.listed_rise(items, rows, None, lattice, *moves[1:], 1)
    if 2 in powers:
        found[1] = -2.0 * inside.stored_products(items, rows, lattice, *moves[1:])
    return A.weights.background * found


def products(A: Similarity, tasks: list[Task]) -> list[Task]:
    """Return tasks that turn sums of A_ij d_i . d_j into what they add to f_2."""
    return [partial(_product, A, task) for task in tasks]


def _product(A: Similarity, task: Task) -> Array:
    return np.array([0.0, -2.0 * A.weights.background * task()])
