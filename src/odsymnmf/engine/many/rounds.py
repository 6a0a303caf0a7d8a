"""Rounds over sparse memberships: rows that are solved side by side, with f never rising.

As in `odsymnmf.engine.sweeps`: item k is in round k mod 16. All rows of a round are solved against
H and its sums as they were when the round began, each piece of the round into a log of its own, by
however many threads. By how much f with its price decreases is known exactly: what every row gains
alone, less what pairs inside the round add. If it would rise, the round is split in two, down to
single rows, which never raise it. Pieces are fixed by the problem, and added up in their order.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.engine.many.memberships import Memberships, empty_log, with_log_room
from odsymnmf.engine.many.sweep import Progress, Swept
from odsymnmf.engine.sweeps import NO_RISE
from odsymnmf.engine.team import Team
from odsymnmf.kernels import sparse_rounds
from odsymnmf.kernels.sparse_arrays import Links, Log
from odsymnmf.kernels.sparse_rounds import Fresh
from odsymnmf.kernels.weights import Exceptions
from odsymnmf.problem.rounds import ROUNDS, Round, rounds
from odsymnmf.signals import check

# Rows of a piece: enough to be worth handing out, few enough to be shared evenly, and so many that
# a piece's arrays of r numbers are no more work than its rows.
FEWEST, LARGEST, PIECES, COLUMNS = 512, 4096, 8, 8


class Piece(NamedTuple):
    """The new rows of a piece in a log, what they gain alone, who moves, what these add."""

    rows: Log
    swept: Swept
    moved: Array
    clash: float
    change: Any


class SparseRounds:
    """Passes over all rows of sparse memberships in rounds, shared by a team.

    Attributes
    ----------
    refused : int
        Rounds that were split because f would have risen.
    """

    def __init__(self, team: Team):
        self.team, self.refused = team, 0
        # Pairs inside rounds, and whose they are.
        self._inside: tuple[Links, Exceptions]
        self._of: Any = None

    def __call__(self, fit: Any, progress: Progress | None = None) -> Swept:
        """Bring every row to its optimum, round by round, and the sums with them."""
        if self._of is not fit:
            mask = (1 << _rounds(fit.H.n)[0].high) - 1
            self._of, self._inside = fit, (_listed(fit.A, mask), _listed(fit.E, mask))
        passes, done = [], 0
        for round in _rounds(fit.H.n):
            passes.append(self._round(fit, round))
            done += round.size
            if progress is not None:
                progress(done)
        found: Swept = fit.together(passes)
        return found

    def _round(self, fit: Any, round: Round) -> Swept:
        """Solve the rows of a round; put them in place if f decreases, else do its halves."""
        check()
        fit.begin()
        items = _pieces(round, fit.H.r)
        pieces = self.team.all([partial(_piece, fit, some) for some in items])
        alone: Swept = fit.together([piece.swept for piece in pieces])
        across, change = fit.join([piece.change for piece in pieces])
        New = _fresh(pieces)
        if round.size > 1:
            lattice = (round.first, (1 << round.high) - 1, round.high)
            clash = sum(piece.clash for piece in pieces) + across
            tasks = [partial(_met, fit, some, *self._inside, lattice, New) for some in items]
            met = fit.w0 * clash + sum(self.team.all(tasks))
            alone = Swept(alone.decrease - met, alone.priced - met, alone.violation)
            if alone.priced < 0.0 and alone.priced < -_allowed(fit):
                self.refused += 1
                found: Swept = fit.together([self._round(fit, half) for half in round.halves()])
                return found
        fit.H.reserve(len(New.column))
        sparse_rounds.put_rows(round.first, 1 << round.high, New, fit.H.rows)
        fit.put(change)
        return alone


def _rounds(n: int) -> list[Round]:
    """Deal the items one by one: neighbours are of one cluster, and clusters are small."""
    return rounds(n, 1)


def _pieces(round: Round, r: int) -> list[Array]:
    rows = min(max(round.n // (ROUNDS * PIECES), FEWEST), LARGEST)
    rows = max(rows, r // COLUMNS)
    items = round.members
    return [items[b : b + rows] for b in range(0, len(items), rows)]


def _piece(fit: Any, items: Array) -> Piece:
    """Return the optimum of the rows of the items, all others as they are."""
    span = fit.H.rows.span[items]
    out = empty_log(len(items), 0, 2 * int((span[:, 1] - span[:, 0]).sum()) + 64, fit.H.dtype)
    passes, done = [], 0
    while done < len(items):
        rows, need, swept = fit.solve(items[done:], out._replace(span=out.span[done:]), False)
        passes.append(swept)
        done += rows
        if done < len(items):
            out = with_log_room(out, need, fit.H.dtype)
    return Piece(out, fit.together(passes), *fit.changes(items, out))


def _fresh(pieces: list[Piece]) -> Fresh:
    """Return the new rows of all pieces, one after another."""
    tops = [int(piece.rows.top[0]) for piece in pieces]
    begins = np.cumsum([0, *tops[:-1]])
    return Fresh(
        np.concatenate([p.rows.span + b for p, b in zip(pieces, begins, strict=True)]),
        np.concatenate([p.rows.column[:t] for p, t in zip(pieces, tops, strict=True)]),
        np.concatenate([p.rows.value[:t] for p, t in zip(pieces, tops, strict=True)]),
        np.concatenate([p.moved for p in pieces]),
    )


def _listed(stored: Any, mask: int) -> Any:
    """Return the pairs (i, k), k < i, of two items of one round; no more than 1 in 32."""
    if not len(stored.indptr):
        return stored
    begin = np.zeros_like(stored.indptr)
    sparse_rounds.count_inside(stored.indptr, stored.indices, mask, begin)
    np.cumsum(begin, out=begin)
    where = np.empty(begin[-1], dtype=np.int64)
    sparse_rounds.list_inside(stored.indptr, stored.indices, mask, begin, where)
    return type(stored)(begin, *(array[where] for array in stored[1:]))


def _met(
    fit: Any, items: Array, A: Links, E: Exceptions, lattice: tuple[int, int, int], New: Fresh
) -> float:
    """Return what listed pairs of the items inside the round add to f."""
    rest = (lattice, fit.H.rows, New, fit.H.r, fit.power)
    return float(sparse_rounds.listed_rise(items, A, fit.w0, E, *rest))


def _allowed(fit: Any) -> float:
    """By how much rounding may seem to raise f; asked for only where f seems to rise."""
    nothing = Memberships(np.zeros((fit.H.n, 1)), fit.H.dtype)
    return NO_RISE * float(fit.objective(nothing))
