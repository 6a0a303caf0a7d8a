"""One column, grown greedily on what the others leave over (Algorithm 6 of the paper)."""

import numpy as np

from odsymnmf import kernels
from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Loss
from odsymnmf.problem.blocking import short_blocks
from odsymnmf.signals import check

# The virtual diagonal of A, as a multiple of the largest similarity.
SELF_SIMILARITY = 2.0
# Items picked in a row that got no membership, after which a small column is taken to be whole.
PATIENCE = 10


class Growth:
    """A column on top of those of H that ``columns`` holds the sums of.

    Items are picked one by one, each with the largest score s = A w - B (B^T w), where w = A 1_J
    sums the similarities to the items J picked so far and B holds the other columns. The first
    entry is the root of the largest similarity, so that H scales with A.
    """

    def __init__(self, loss: Loss, H: Array, degrees: Array, columns: Array):
        A, n = loss.A, loss.A.n
        self.loss, self.H = loss, H
        self.B = H[:, : len(columns)]
        self.own = SELF_SIMILARITY * A.largest
        first = min(np.sqrt(A.largest), loss.upper)
        self.column = kernels.greedy.Column(
            np.zeros(n, dtype=H.dtype), np.zeros(len(columns)), np.zeros(2), float(first),
            np.empty(n), np.empty(n),
        )  # fmt: skip
        self.taken = np.zeros(n, dtype=bool)
        self.begun = False
        # Until an item has been picked, all count: w = 1.
        self.v, self.c = degrees + self.own, columns
        self.picks = A.picks(self.own, H, len(columns))

    def pick(self, avoid: Array | None = None) -> bool:
        """Add the best item, as the first none of those to avoid; say whether it got an entry."""
        check()
        barred = self.taken if self.begun or avoid is None else avoid
        k = kernels.greedy.best(self.v, self.H, self.c, barred)
        self.loss.place(np.array([k]), self.H, self.column)
        self.taken[k] = self.begun = True
        self.v, self.c = self.picks.add(int(k))
        return bool(self.column.h[k] > 0)

    def follow(self, only_scored: bool) -> Array:
        """Place the other items in the order of their scores, or those with a positive score.

        Return them.
        """
        A = self.loss.A
        rest = np.flatnonzero(~self.taken & (self.v > 0) if only_scored else ~self.taken)
        scores = self.v[rest] - np.einsum("il,l->i", self.B[rest], self.c)
        order = np.argsort(-scores, kind="stable")
        rest = rest[order[scores[order] > 0] if only_scored else order]
        for some in short_blocks(A, rest, self.B.shape[1]):
            self.loss.place(some, self.H, self.column)
        return rest


def grow(loss: Loss, H: Array, degrees: Array, columns: Array, picks: int) -> Array:
    """Build a column of the greedy start: the first ``picks`` items one by one, then all others."""
    growth = Growth(loss, H, degrees, columns)
    for _ in range(min(loss.A.n, picks)):
        growth.pick()
    growth.follow(only_scored=False)
    return growth.column.h


def regrow(
    loss: Loss, H: Array, degrees: Array, columns: Array, picks: int, avoid: Array
) -> tuple[Array, Array]:
    """Build a column that replaces another: small, so that it costs little.

    The first item is none of those to ``avoid``, PATIENCE items in a row without a membership end
    the picking, and of the others only those with a positive score follow. Return the column, and
    the items that were looked at for it.
    """
    growth, in_vain = Growth(loss, H, degrees, columns), 0
    for _ in range(min(loss.A.n, picks)):
        in_vain = 0 if growth.pick(avoid) else in_vain + 1
        if in_vain == PATIENCE:
            break
    picked = np.flatnonzero(growth.taken)
    return growth.column.h, np.append(picked, growth.follow(only_scored=True))
