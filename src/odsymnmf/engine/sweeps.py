"""Sweeps in rounds: rows that are solved side by side, with f never rising.

One by one, row k + 1 is solved against H with row k in place. In a round, all rows are solved
against H as it was when the round began, by any number of threads; then, if f decreases, they are
put in place at once. The decrease is known exactly: what every row gains alone, less what pairs
inside the round add. If f would rise, the round is split in two, down to single rows, which never
raise it. Pieces of work and the order in which their sums are added are fixed by the problem, so
the result does not depend on who did the work.
"""

from functools import cached_property, partial
from typing import Any

import numpy as np

from odsymnmf import kernels
from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Loss
from odsymnmf.engine.losses.meetings import across, added
from odsymnmf.engine.losses.protocol import Change, Pass, Proposal
from odsymnmf.engine.team import Team
from odsymnmf.problem.rounds import Moves, Round, Share, rounds

# A rise of f by less than this share of f(0) is rounding.
NO_RISE = 2.0**-50


class Rounds:
    """Passes over all rows of H in rounds, shared by a team.

    Attributes
    ----------
    refused : int
        Rounds that were split because f would have risen.
    """

    def __init__(self, loss: Loss, team: Team):
        self.loss, self.team, self.refused = loss, team, 0
        self._tiles: list[slice] = []
        # The shares of whole rounds: to cut them in every sweep would cost a thirtieth of it.
        self._shares: dict[Round, list[Share]] = {}
        # Room for the rows of a round: new memory for each would cost a tenth of the sweep.
        self._room = np.empty((0, 0))

    @cached_property
    def _allowed(self) -> float:
        """By how much rounding may seem to raise f; asked for only where f seems to rise."""
        nothing = np.zeros((self.loss.A.n, 1), dtype=self.loss.A.dtype)
        return NO_RISE * self.loss.objective(nothing)

    def __call__(self, H: Array, sums: Any) -> Pass:
        """Bring every row to its optimum, round by round, and the sums with them."""
        self._tiles = self._tiles or self.loss.tiles(sums, H.shape[1])
        if not self._room.size:
            self._room = np.empty((rounds(len(H))[0].size, H.shape[1]), H.dtype)
        passes = [self._round(round, H, sums) for round in rounds(len(H))]
        return self._sum(passes)

    def _sum(self, passes: list[Pass]) -> Pass:
        absolute, squared, violations = zip(*passes, strict=True)
        return Pass(sum(absolute), sum(squared), self.loss.together(list(violations)))

    def _round(self, round: Round, H: Array, sums: Any) -> Pass:
        """Solve the rows of a round; put them in place if f decreases, else do its halves."""
        sums.begin_round()
        moves = Moves(round, H, self._room[: round.size], np.empty(round.size, np.bool_))
        shares = self._shares_of(round)
        proposals = self._proposals(moves, sums, shares)
        decreases, change = _joined(self.loss.A.weights.background, proposals)
        met = sum(self._meetings(moves, sums, shares))
        if round.size > 1:
            decreases -= met
            decrease = float(np.dot(self.loss.scales, decreases))
            if decrease < 0.0 and decrease < -self._allowed:
                self.refused += 1
                return self._sum([self._round(half, H, sums) for half in round.halves()])
        self._put(moves, sums, shares, change)
        absolute, squared = decreases.tolist()
        violation = self.loss.together([proposal.violation for proposal in proposals])
        return Pass(absolute, squared, violation)

    def _shares_of(self, round: Round) -> list[Share]:
        if round in self._shares:
            return self._shares[round]
        shares = round.shares(self._tiles)
        if round.is_whole:  # parts of rounds are seldom asked for
            self._shares[round] = shares
        return shares

    def _proposals(self, moves: Moves, sums: Any, shares: list[Share]) -> list[Proposal]:
        """Solve the rows of every tile, and say what they would do, tile by tile."""
        return self.team.all([partial(self._propose, moves, sums, share) for share in shares])

    def _meetings(self, moves: Moves, sums: Any, shares: list[Share]) -> list[Array]:
        """Return what listed pairs inside the round add, piece by piece."""
        return self.team.all(self.loss.meetings(sums, moves, shares))

    def _propose(self, moves: Moves, sums: Any, share: Share) -> Proposal:
        New, moved = moves.New[share.places], moves.moved[share.places]
        return self.loss.propose(moves.H, sums, share.items, New, moved)

    def _put(self, moves: Moves, sums: Any, shares: list[Share], change: Change) -> None:
        rows = [partial(_put_rows, moves, sums, share) for share in shares]
        self.team.all([*rows, *sums.put()])
        sums.add(change, moves.H)


def _joined(w0: float, proposals: list[Proposal]) -> tuple[Array, Change]:
    """Return the decreases of all proposals, pairs between them counted, and the whole change."""
    decreases, change = np.zeros(2), None
    for proposal in proposals:
        decreases += proposal.decreases - w0 * across(change, proposal.change)
        change = added(change, proposal.change)
    assert change is not None
    return decreases, change


def _put_rows(moves: Moves, sums: Any, share: Share) -> None:
    moved = moves.moved[share.places]
    kernels.rounds.put(share.items, moves.New[share.places], moved, moves.H)
    sums.rows_changed(share.items, moved)
