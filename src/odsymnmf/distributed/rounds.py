"""The rounds of engine/sweeps.py, shared by the members of a fit instead of the threads of one.

Every member goes through the same rounds with its own copy of H and of the sums. Of a round it
solves the rows of its own tiles, in its own threads; then all members give each other their new
rows and what these would do, so that all decide alike. The pieces, and the order in which they are
added up, are those of one machine.
"""

from functools import partial
from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.distributed.packing import Packed, Unpacking, packed, room_for, together
from odsymnmf.distributed.post import Post
from odsymnmf.engine.losses import Loss
from odsymnmf.engine.losses.protocol import Change, Proposal
from odsymnmf.engine.sweeps import Rounds
from odsymnmf.engine.team import Team
from odsymnmf.problem.rounds import Moves, Share, Task


class SharedRounds(Rounds):
    """Rounds of which this member does its own tiles.

    Parameters
    ----------
    loss, team
        The loss of this member's part of the problem, and its threads.
    post : Post
        The way to the other members.
    tiles : list of slice
        All tiles of the problem.
    owners : ndarray of int
        Whose they are, by rank.
    rank : int
        Which member this is.
    allowed : float
        By how much rounding may seem to raise f.
    """

    def __init__(
        self,
        loss: Loss,
        team: Team,
        post: Post,
        tiles: list[slice],
        owners: Array,
        rank: int,
        allowed: float,
    ):
        super().__init__(loss, team)
        self.post, self.owners, self.rank = post, owners, rank
        self._tiles, self._allowed = tiles, allowed
        self._ranks = {tile.start: int(owner) for tile, owner in zip(tiles, owners, strict=True)}
        self._rooms: dict[int, Packed] = {}

    def _is_mine(self, share: Share) -> bool:
        return self._ranks[share.start] == self.rank

    def _checked(self, task: Task) -> Any:
        """Do a task, unless the sweep has been given up."""
        self.post.check()
        return task()

    def _all(self, tasks: list[Task]) -> list[Any]:
        return self.team.all([partial(self._checked, task) for task in tasks])

    def _proposals(self, moves: Moves, sums: Any, shares: list[Share]) -> list[Proposal]:
        """Solve the rows of the own tiles; learn of all others."""
        mine = [share for share in shares if self._is_mine(share)]
        found = self._all([partial(self._solve, moves, sums, share) for share in mine])
        proposals = {
            share.start: proposal for share, (proposal, _) in zip(mine, found, strict=True)
        }
        for rank, parcel in enumerate(self.post.exchange(self._parcel(moves, mine, found))):
            if rank != self.rank:
                some = [share for share in shares if self._ranks[share.start] == rank]
                _put_moved(moves, some, *parcel[:2])
                for share, proposal in zip(some, _proposals_of(*parcel[2:]), strict=True):
                    proposals[share.start] = proposal
        first = proposals[shares[0].start]  # all others are added to it
        proposals[shares[0].start] = first._replace(change=_copy(first.change))
        return [proposals[share.start] for share in shares]

    def _solve(self, moves: Moves, sums: Any, share: Share) -> tuple[Proposal, Packed]:
        """Solve the rows of a tile, and pack those that moved while they are at hand."""
        proposal, places = self._propose(moves, sums, share), share.places
        New, moved = moves.New[places], moves.moved[places]
        return proposal, packed(
            New if moved.all() else New[moved], self._room_for(New, share.start)
        )

    def _parcel(self, moves: Moves, shares: list[Share], found: list[Any]) -> tuple[Any, ...]:
        """Return a few arrays in place of what was found for some tiles."""
        r, proposals = moves.H.shape[1], [proposal for proposal, _ in found]
        moved = [moves.moved[share.places] for share in shares]
        values = np.array([[*p.decreases, p.violation] for p in proposals]).reshape(-1, 3)
        W = [p.change.W for p in proposals if p.change.W is not None]
        D = [p.change.D for p in proposals if p.change.D is not None]
        return (
            np.concatenate([np.empty(0, bool), *moved]),
            together([rows for _, rows in found], self._room_for(moves.New, -1)),
            values,
            np.array(W).reshape(-1, r),
            np.array(D).reshape(-1, r, r),
        )

    def _room_for(self, rows: Array, name: int) -> Packed:
        """Return the room of that name, for these rows packed: the same in every round."""
        room = self._rooms.get(name)
        if room is None or len(room.values) <= rows.size:
            self._rooms[name] = room = room_for(rows.size, rows.dtype, len(self._tiles))
        return room

    def _meetings(self, moves: Moves, sums: Any, shares: list[Share]) -> list[Array]:
        """Add up the own pieces of the listed pairs; learn of all others."""
        tasks = self.loss.meetings(sums, moves, shares)
        whose = self._whose(sums, tasks, shares)
        own = [k for k, rank in enumerate(whose) if rank == self.rank]
        found = self._all([tasks[k] for k in own])
        shared = _shared_products(sums)
        news = None if shared is None else shared.news()
        parcels = self.post.exchange((np.array(found).reshape(len(own), 2), news))
        met: list[Any] = [None] * len(tasks)
        for rank, (values, news) in enumerate(parcels):
            places = [k for k, owner in enumerate(whose) if owner == rank]
            for k, value in zip(places, values, strict=True):
                met[k] = value
            if shared is not None and rank != self.rank:
                shared.learn(news)
        return met

    def _whose(self, sums: Any, tasks: list[Task], shares: list[Share]) -> list[int]:
        """Say whose each piece of the listed pairs is: as a rule they come tile by tile."""
        shared = _shared_products(sums)
        if shared is not None:
            return list(shared.owners(len(tasks)))
        return [self._ranks[shares[k % len(shares)].start] for k in range(len(tasks))]


def _shared_products(sums: Any) -> Any:
    """Return the products with A that members tell each other of, None where there are none."""
    return sums.shared()


def _copy(change: Change) -> Change:
    return Change(*(None if sums is None else sums.copy() for sums in change))


def _proposals_of(values: Array, W: Array, D: Array) -> list[Proposal]:
    """Return the proposals of another member again."""
    return [
        Proposal(
            value[:2],
            float(value[2]),
            Change(W[k] if len(W) else None, D[k] if len(D) else None),
        )
        for k, value in enumerate(values)
    ]


def _put_moved(moves: Moves, shares: list[Share], moved: Array, rows: Packed) -> None:
    """Put the rows of another member's tiles among the new ones."""
    done, unpacking = 0, Unpacking(rows)
    for share in shares:
        places = share.places
        New, here = moves.New[places], moved[done : done + places.stop - places.start]
        if here.all():
            unpacking.into(New)
        else:
            some = np.empty((np.count_nonzero(here), New.shape[1]), New.dtype)
            unpacking.into(some)
            New[:] = moves.H[share.items]
            New[here] = some
        moves.moved[places] = here
        done += len(here)
