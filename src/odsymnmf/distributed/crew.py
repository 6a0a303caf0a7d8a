"""The members of a fit, from the client's side: who holds what, and what to do when one is lost.

The client keeps H and the sums as they were when the last sweep ended. When a worker goes, its
tiles are made again from their source on those that are left, all are given H and the sums as the
client has them, and the sweep is done again, to the same bits.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from odsymnmf.arrays import Array, blocks
from odsymnmf.distributed.blocks import RowBlocks
from odsymnmf.distributed.cleaning import columns_of
from odsymnmf.distributed.documents import words_of
from odsymnmf.distributed.member import Fit, Receipt, receive
from odsymnmf.distributed.packing import Packed, packed, put
from odsymnmf.distributed.parts import Problem, items_of
from odsymnmf.distributed.post import LostError
from odsymnmf.distributed.roster import Roster
from odsymnmf.engine.team import Team
from odsymnmf.problem.following import FEATURES, WORDS

# Rows that are compared at a time.
ROWS = 2**12
# How often one step may be tried: workers go, but not all the time.
TIMES = 10


class Held(NamedTuple):
    """What members hold of an array of all items: which rows, and these, packed."""

    shape: tuple[int, ...]
    parts: list[tuple[slice | Array, Packed]]

    def copy_to(self, H: Array) -> None:
        """Let H be as it is held."""
        with Team(min(len(self.parts), os.cpu_count() or 1)) as team:
            team.all([partial(put, rows, H, where) for where, rows in self.parts])

    def differing_rows(self, H: Array) -> Array:
        """Return the numbers of the rows of H that are not as they are held."""
        held = np.empty_like(H)
        self.copy_to(held)
        found = [np.empty(0, np.intp)]
        for b in blocks(len(H), ROWS):
            if not np.array_equal(held[b], H[b]):
                found.append(b.start + np.flatnonzero((held[b] != H[b]).any(axis=1)))
        return np.concatenate(found)


class Crew(Roster):
    """The members that share one problem.

    Parameters
    ----------
    client : distributed.Client
    rows : RowBlocks
        Where the problem comes from, again and again if need be.
    held : RowBlocks or None
        The same, computed already: let go of when it is loaded.
    problem : Problem
        Its size and its tiles.
    diagonal : ndarray
        A_ii of similarities; for documents it is found when they are loaded.
    load : ndarray
        How much work each tile is.
    """

    def __init__(
        self,
        client: Any,
        rows: RowBlocks,
        held: RowBlocks | None,
        problem: Problem,
        diagonal: Array,
        load: Array,
    ):
        super().__init__(client, problem)
        self.diagonal, self.load = diagonal, load
        self.fit: Fit | None = None
        self._source = (held or rows).pieces(problem.tiles, problem.dtype)
        self._holder: list[str | None] = [None] * len(problem.tiles)
        self._word_holder: list[str | None] = [None] * self._ranges
        self.receipts: list[Receipt | None] = [None] * len(problem.tiles)
        # What members hold, None if nothing.
        self._held: Held | None = None
        self._sums: dict[str, Array] = {}
        # The sums that the last sweep has left, if H is still as it has left it.
        self._last: Any = None
        self.lost = 0
        self._until_done(lambda: None)
        # Should a worker go, its part is made again from the beginning.
        self._source = rows.pieces(problem.tiles, problem.dtype)

    @property
    def _ranges(self) -> int:
        """How many ranges of words there are."""
        return -(-self.problem.m // (WORDS if self.problem.sparse else FEATURES))

    # --- what a fit asks for ------------------------------------------------------------------

    def set_fit(self, fit: Fit) -> None:
        """Say what is to be minimised."""
        self.fit = fit
        self._sums = {}
        self._until_done(lambda: self._call("fit_to", [(fit,)] * self.size))

    def sweep(self, H: Array, sums: Any, l1_ratio: float) -> tuple[Any, int]:
        """Make one sweep: H and the sums as they are before, then as they are after it."""

        def attempt() -> Any:
            # Nobody changes H between two sweeps and leaves the sums as they are.
            if not (sums is self._last and self._has(sums.state())):
                self._hold(H, sums.state())
            return self._call("sweep", [(l1_ratio,)] * self.size)

        found = self._until_done(attempt)
        self._held = Held(H.shape, [(self._items(k), swept.rows) for k, swept in enumerate(found)])
        self._held.copy_to(H)
        sums.load({**sums.state(), **found[0].sums})
        self._sums = {name: np.array(array) for name, array in sums.state().items()}
        self._last = sums
        return found[0].found, found[0].refused

    def product(self, V: Array) -> Array:
        """Return w A V, the diagonal left out."""
        return self._until_done(lambda: self._product(V))

    def _product(self, V: Array) -> Array:
        whole = V.ndim == 1
        parts = [(V if whole else V[self._items(rank)], whole) for rank in range(self.size)]
        found = self._call("product", parts)
        product = np.empty(V.shape, found[0].dtype)
        for rank, rows in enumerate(found):
            product[self._items(rank)] = rows
        return product

    def errors(self, H: Array, power: int, method: str = "errors") -> list[Array]:
        """Return what every item adds to f_p, in parts."""

        def attempt() -> list[Array]:
            small = H.shape[1] == 1
            if not small:
                self._hold(H, {})
            arg = H if small else None
            found = self._call(method, [(arg, power)[: 2 if method == "errors" else 1]] * self.size)
            found = [rows if isinstance(rows, list | tuple) else [rows] for rows in found]
            parts: list[Array] = [np.empty(self.problem.n) for _ in found[0]]
            for rank, some in enumerate(found):
                for part, rows in zip(parts, some, strict=True):
                    part[self._items(rank)] = rows
            return parts

        return self._until_done(attempt)

    def words(self, H: Array) -> Array:
        """Return X^T H."""

        def attempt() -> Array:
            self._hold(H, {})
            found = self._call("words", [()] * self.size)
            Z = np.empty((self.problem.m, H.shape[1]))
            for rank, rows in enumerate(found):
                Z[self._words(rank)] = rows
            return Z

        return self._until_done(attempt)

    def energy(self) -> float:
        """Return |X^T X|^2, from blocks of words with blocks of words, in their order."""

        def attempt() -> float:
            found = self._call("energy", [()] * self.size)
            return float(np.sum(np.sum(found, axis=0)))

        return self._until_done(attempt)

    def stop(self) -> None:
        """Let members give up what they are at; what comes next begins anew."""
        self.client.sync(self._stop_all, list(self._addresses))
        self._forget()
        self._begun = False

    def close(self) -> None:
        """Let members go, and the memory that they hold."""
        with suppress(TimeoutError, OSError, LostError):
            self.client.sync(self._close_all)
        for actor in self._actors.values():
            actor.release()
        self._actors = {}

    # --- who holds what -----------------------------------------------------------------------

    def _owners(self, holders: list[str | None]) -> Array:
        ranks = {address: rank for rank, address in enumerate(self._addresses)}
        return np.array([ranks[str(address)] for address in holders], dtype=np.intp)

    def _items(self, rank: int) -> slice | Array:
        """Return the items of a member, as a slice where they follow each other."""
        return items_of(self.problem.tiles, self._owners(self._holder), rank)

    def _words(self, rank: int) -> Array:
        size = WORDS if self.problem.sparse else FEATURES
        return words_of(self._owners(self._word_holder), rank, self.problem.m, size)

    def _hold(self, H: Array, sums: dict[str, Array]) -> None:
        """Let members hold this H and these sums; only what differs is sent."""
        held = self._held
        where: Array | None = None
        places: list[Any] = [self._items(rank) for rank in range(self.size)]
        if held is not None and held.shape == H.shape:
            where = held.differing_rows(H)
            places = np.array_split(where, self.size)  # any member may tell the others
        known = {} if held is None else self._sums
        news = {
            name: array
            for name, array in sums.items()
            if name not in known or not np.array_equal(known[name], array)
        }
        self._last = None
        if where is not None and not len(where) and not news:
            return
        self._held = None
        args = [(H[some], None if where is None else some, news) for some in places]
        self._call("hold", args)
        self._held = Held(H.shape, [(slice(0, len(H)), packed(H))])
        self._sums = {**known, **{name: np.array(array) for name, array in news.items()}}

    def _forget(self) -> None:
        """Know no more what members hold."""
        self._held, self._sums, self._last = None, {}, None

    def _has(self, sums: dict[str, Array]) -> bool:
        """Say whether members hold these sums."""
        known = self._sums
        return all(name in known and np.array_equal(known[name], sums[name]) for name in sums)

    # --- losing and finding workers -----------------------------------------------------------

    def _until_done(self, attempt: Callable[[], Any]) -> Any:
        """Do something, however many workers go meanwhile."""
        for _ in range(TIMES):
            try:
                if not self._addresses:
                    self._gather_crew()
                elif not self._begun:
                    self._begin()
                return attempt()
            except LostError as error:
                reason = error.with_traceback(None)  # which would keep the tasks of the attempt
                self.lost += 1
                self._forget()
                self._addresses = []
        raise RuntimeError(
            f"a step of the fit was tried {TIMES} times, and every time a worker was lost: {reason}"
        ) from reason

    def _gather_crew(self) -> None:
        """Make members of all workers, and give the tiles that nobody holds to those with least."""
        self._muster()
        self._deal()
        self._load()
        self._begin()
        owners = self._owners(self._holder)
        words = self._owners(self._word_holder) if self.problem.m else None
        self._call("assemble", [(owners, words, self.diagonal, self.fit)] * self.size)

    def _deal(self) -> None:
        """Give away the tiles and words that nobody holds."""
        self._holder = _dealt(self._holder, self.load, self._addresses)
        self._word_holder = _dealt(self._word_holder, np.ones(self._ranges), self._addresses)

    def _load(self) -> None:
        """Have the pieces made where they are missing."""
        import dask

        give = dask.delayed(receive, pure=False)
        pick = dask.delayed(columns_of, pure=False)
        tasks: list[tuple[str, int, Any]] = []
        for address in self._addresses:
            name = self._actors[address].key
            tiles, ranges = self.client.sync(self._ask, address, "held")
            wanted = {t for t, holder in enumerate(self._holder) if holder == address}
            tasks += [
                (address, t, give(name, t, self._source[t])) for t in sorted(wanted - set(tiles))
            ]
            words = [k for k, holder in enumerate(self._word_holder) if holder == address]
            if self.problem.m and words != list(ranges):
                own = dask.delayed(self._words(self._addresses.index(address)), traverse=False)
                tasks += [
                    (address, -1, give(name, t, pick(self._source[t], own), True))
                    for t in range(len(self.problem.tiles))
                ]
        futures: list[Any] = []
        for address in self._addresses:
            own = [task for holder, _, task in tasks if holder == address]
            futures += self.client.compute(own, workers=[address], optimize_graph=False)
        self._wait_for(futures, set(self._addresses))
        for (_, t, _), receipt in zip(tasks, self.client.gather(futures), strict=True):
            if t >= 0:
                self.receipts[t] = receipt
                if self.problem.m:
                    self.diagonal[self.problem.tiles[t]] = receipt.squares


def _dealt(holders: list[str | None], load: Array, addresses: list[str]) -> list[str | None]:
    """Give what nobody has to those who have least; in the beginning, everybody a stretch."""
    if not any(holder in addresses for holder in holders):
        ends = np.cumsum(load) - load / 2
        ranks = (ends * len(addresses) / max(float(load.sum()), 1e-300)).astype(int)
        return [addresses[min(rank, len(addresses) - 1)] for rank in ranks.tolist()]
    held = dict.fromkeys(addresses, 0.0)
    for holder, size in zip(holders, load, strict=True):
        if holder in held:
            held[holder] += float(size)
    found: list[str | None] = []
    for holder, size in zip(holders, load, strict=True):
        if holder not in held:
            holder = min(held, key=lambda address: held[address])
            held[holder] += float(size)
        found.append(holder)
    return found
