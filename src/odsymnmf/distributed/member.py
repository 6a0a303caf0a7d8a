"""A member of a fit: the object on a worker that holds some rows of A, and H."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import odsymnmf
from odsymnmf.arrays import Array
from odsymnmf.distributed.documents import DocumentsPart
from odsymnmf.distributed.packing import Packed, packed
from odsymnmf.distributed.parts import (
    Piece,
    Problem,
    columns_together,
    digest_of,
    items_of,
    part_of,
    rows_together,
    views,
)
from odsymnmf.distributed.post import LostError, Post
from odsymnmf.distributed.rounds import SharedRounds
from odsymnmf.engine.losses import Loss
from odsymnmf.engine.losses.measures import listed_errors
from odsymnmf.engine.losses.protocol import Pass
from odsymnmf.engine.team import Team
from odsymnmf.problem.blocking import row_squares
from odsymnmf.problem.closed_forms import listed_squares, pairwise_errors, stored_errors

# The members of this process by name, so that tasks can hand them their pieces.
_MEMBERS: dict[str, "Member"] = {}


class Fit(NamedTuple):
    """What all members know of the loss.

    Attributes
    ----------
    make : callable
        Makes what sweeps lower of the part of the problem that a member holds.
    allowed : float
        By how much rounding may seem to raise f.
    """

    make: Callable[[Any], Loss]
    allowed: float


class Swept(NamedTuple):
    """What a sweep has made of a member's rows, and of the sums that all have."""

    found: Pass
    refused: int
    rows: Packed
    sums: dict[str, Array] | None


class Member:
    """The rows of some tiles, and copies of H and the sums; an actor of Dask.

    Methods that are coroutines answer at once; the others run one after the other in a thread.
    """

    def __init__(self, name: str, problem: Problem, version: str):
        from distributed import get_worker

        worker = get_worker()
        if version != odsymnmf.__version__:
            raise RuntimeError(
                f"the worker {worker.address} has odsymnmf {odsymnmf.__version__}, the client "
                f"{version}; install the same version everywhere."
            )
        self.name, self.problem = name, problem
        self.post, self.team = Post(worker), Team(max(1, worker.state.nthreads))
        self.pieces: dict[int, Piece] = {}
        self.columns: dict[int, Piece] = {}
        self.ranges: list[int] = []
        self.rank = 0
        none: Array = np.empty(0, dtype=np.intp)
        self.owners, self.own, self.items = none, none, none
        self.place: slice | Array = slice(0)
        self.A: Any = None
        self.loss: Any = None
        self.rounds: Any = None
        self.H: Any = None
        self.sums: Any = None
        _MEMBERS[name] = self

    # At once

    async def ping(self) -> bool:
        """Say that this member is there."""
        return True

    async def stop(self) -> None:
        """Give up what is under way."""
        self.post.give_up()

    async def held(self) -> tuple[list[int], list[int]]:
        """Return which tiles, and which ranges of words, are here."""
        return list(self.pieces), self.ranges

    async def give(self, epoch: int, count: int, rank: int, parcel: Any) -> None:
        """Take what another member sends."""
        await self.post.give(epoch, count, rank, parcel)

    async def again(self, epoch: int, count: int) -> tuple[Any, ...]:
        """Return what was sent to another member, if it was."""
        return await self.post.again(epoch, count)

    # One after the other

    def begin(self, epoch: int, rank: int, peers: list[tuple[str, str]]) -> None:
        """Begin anew among these members."""
        self.rank = rank
        self.post.begin(epoch, rank, peers)

    def assemble(
        self, owners: Array, words: Array | None, diagonal: Array, fit: Fit | None
    ) -> None:
        """Make one problem of the pieces that have come.

        Whose the tiles are, and the words, is said by rank; ``diagonal`` is A_ii, or |x_i|^2.
        """
        self.owners, tiles = owners, self.problem.tiles
        diagonal = np.array(diagonal)  # what came over the wire is read-only, another type
        self.own = np.flatnonzero(owners == self.rank)
        self.A = self._put_together(words, diagonal)
        self.items = np.concatenate(
            [np.empty(0, np.intp), *(np.arange(tiles[t].start, tiles[t].stop) for t in self.own)]
        )
        self.place = items_of(tiles, owners, self.rank)
        self.H = self.sums = None
        if fit is not None:
            self.fit_to(fit)

    def _put_together(self, words: Array | None, diagonal: Array) -> Any:
        """Make one problem of all pieces; these become views of it, and cost nothing more."""
        problem = self.problem
        for t in [t for t in self.pieces if t not in self.own]:
            del self.pieces[t]
        rows, columns = ([some[t] for t in sorted(some)] for some in (self.pieces, self.columns))
        if not problem.m:
            A = part_of(problem, rows, diagonal)
            self.pieces = dict(zip(sorted(self.pieces), views(A, rows), strict=True))
            return A
        assert words is not None
        self.ranges = np.flatnonzero(words == self.rank).tolist()
        X, C = rows_together(problem, rows), columns_together(problem, columns)
        return DocumentsPart(X, C, diagonal, words, self.rank, problem.m, self._exchange)

    def _exchange(self, parcel: Any) -> list[Any]:
        """Give every member a parcel, and return what they give."""
        found: list[Any] = self._guarded(lambda: self.post.exchange(parcel))
        return found

    def fit_to(self, fit: Fit) -> None:
        """Learn what is to be minimised."""
        self.loss = fit.make(self.A)
        self.rounds = SharedRounds(
            self.loss,
            self.team,
            self.post,
            self.problem.tiles,
            self.owners,
            self.rank,
            fit.allowed,
        )

    def share(self, rows: Array, where: Array | None = None) -> Array:
        """Return an array of all items, of which every member has been given its own rows.

        Given ``where``, only these rows have changed since H was last shared.
        """
        parcels = self._exchange((rows, where))
        if where is not None and self.H is not None:
            for some, places in parcels:
                self.H[places] = some
            return self.H
        shared = np.empty((self.problem.n, *rows.shape[1:]), rows.dtype)
        for rank, (some, _) in enumerate(parcels):
            shared[items_of(self.problem.tiles, self.owners, rank)] = some
        return shared

    def hold(self, rows: Array, where: Array | None, sums: dict[str, Array]) -> None:
        """Take over H and the sums, as far as they differ from what is held."""
        self.H = self.share(rows, where)
        if self.loss is None:
            return
        if self.sums is None:
            self.sums = self.loss.sums(self.H)
        self.sums.load({**self.sums.state(), **sums})

    def sweep(self, l1_ratio: float) -> Swept:
        """Bring every row to its optimum, round by round, together with the other members."""
        return self._guarded(lambda: self._sweep(l1_ratio))

    def _sweep(self, l1_ratio: float) -> Swept:
        assert self.H is not None
        self.loss.l1_ratio = l1_ratio
        before = self.rounds.refused
        found = self.rounds(self.H, self.sums)
        sums = self.sums.state() if self.rank == 0 else None
        return Swept(found, self.rounds.refused - before, packed(self.H[self.place]), sums)

    def _guarded(self, work: Callable[[], Any]) -> Any:
        """Do some work with the others; whatever ends it here, they are not to wait for it."""
        try:
            return work()
        except BaseException:
            self.post.give_up()
            raise

    def product(self, rows: Array, whole: bool) -> Array:
        """Return the own rows of w A V; V is given as a whole, or by everybody's own rows."""
        found: Array = self.A.own_product(self.items, rows if whole else self.share(rows))
        return found

    def errors(self, H: Array | None, power: int) -> list[Array]:
        """Return what the own items add to f_p, in parts; at H as held, if none is given."""
        H = self.H if H is None else np.array(H)
        assert H is not None
        A, items, found = self.A, self.items, []
        if power == 2:
            found += A.square_parts(items, H)
        else:
            found.append(stored_errors(A, items, H))
        if A.weights.exceptions is not None:
            found.append(listed_errors(A, items, H, power))
        else:  # others may have some
            found.append(np.zeros(len(items)))
        return found

    def pairwise(self, H: Array | None) -> Array:
        """Return sum_j (A_ij - h_i . h_j)^2 of the own items, pair by pair."""
        return pairwise_errors(self.A, self.items, self.H if H is None else H)

    def listed(self, H: Array | None) -> Array:
        """Return sum_j v_ij (h_i . h_j)^2 of the own items, over the unknown pairs."""
        if self.A.weights.pattern is None:
            return np.zeros(len(self.items))
        return listed_squares(self.A, self.items, self.H if H is None else np.array(H))

    def words(self) -> Array:
        """Return the rows of X^T H of the own words, H as held."""
        return self.A.words(self.H)

    def energy(self) -> Array:
        """Return |X_a^T X_b|^2 for the own ranges a of words, with all ranges b; else zero."""
        return self._guarded(lambda: self._energy())

    def _energy(self) -> Array:
        A: DocumentsPart = self.A
        count = len(A.owners)
        found = np.zeros((count, count))
        own = {a: A.range_of(a) for a in self.ranges}
        for b in range(count):
            X = self.post.exchange(own.get(b))[A.owners[b]]
            for a, Y in own.items():
                C = Y.T @ X
                values = C.data if sparse.issparse(C) else C
                found[a, b] = np.sum(np.square(values, dtype=np.float64))
        return found

    def close(self) -> None:
        """Let go of everything."""
        _MEMBERS.pop(self.name, None)
        self.team.__exit__(None, None, None)
        self.pieces, self.columns, self.A, self.H, self.sums = {}, {}, None, None, None


class Receipt(NamedTuple):
    """What the client is to know of a piece: its range, sum_j A_ij^2 of its items, its SHA-256."""

    low: float
    high: float
    squares: Array
    digest: str


def receive(name: str, t: int, piece: Piece, columns: bool = False) -> Receipt | None:
    """Hand a member of this process a piece: rows of A, or columns of X."""
    member = _MEMBERS.get(name)
    if member is None:
        raise LostError("the worker has been restarted")
    (member.columns if columns else member.pieces)[t] = piece
    if columns:
        return None
    M = piece.matrix
    values = M if isinstance(M, np.ndarray) else M.data
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    return Receipt(low, high, row_squares(M), digest_of(piece))
