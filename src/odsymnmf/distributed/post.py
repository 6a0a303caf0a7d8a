"""How members of a fit tell each other things: each asks all others for what they have posted.

A member is an actor of Dask: an object that stays on its worker. Its slow methods run in a thread
of their own, one after the other; those that are coroutines run beside them, so that a member
answers the others while it computes. Workers talk to each other directly.
"""

import asyncio
from typing import Any

# What ends a call when the worker at its other end is gone; CommClosedError is an OSError.
GONE = (OSError, asyncio.TimeoutError, EOFError)


class LostError(Exception):
    """A worker has gone, or another member has given up on the sweep."""


async def call(rpc: Any, key: str, method: str, *args: Any) -> Any:
    """Call a method of the member ``key`` on the worker that ``rpc`` reaches."""
    from distributed.protocol import to_serialize

    try:
        found = await rpc.actor_execute(
            actor=key, function=method, args=[to_serialize(arg) for arg in args], kwargs={}
        )
    except GONE as error:
        raise LostError(str(error)) from error
    except KeyError as error:
        if error.args != (key,):
            raise
        raise LostError("the worker has been restarted") from error
    if found["status"] == "OK":
        return found["result"]
    raise found["exception"]


def _noticed(future: Any) -> None:
    """Take notice of how something ended that nobody waits for any more."""
    if not future.cancelled():
        future.exception()


class Post:
    """The post of one member: what it has for the others, until all of them have taken it.

    All that it holds belongs to the event loop of the worker, so that nothing needs a lock.
    """

    def __init__(self, worker: Any):
        self._worker = worker
        self._peers: list[tuple[str, str]] = []
        self._rank, self._epoch, self._count = 0, 0, 0
        # Posted: what it is, and how many are still to take it.
        self._posted: dict[tuple[int, int], tuple[Any, int]] = {}
        self._news, self._given_up = asyncio.Event(), asyncio.Event()

    def begin(self, epoch: int, rank: int, peers: list[tuple[str, str]]) -> None:
        """Begin anew among these members, each an address and a key; forget all that was posted.

        Called from the member's thread: what was under way there has ended.
        """
        loop = self._worker.loop.asyncio_loop
        asyncio.run_coroutine_threadsafe(self._begin(epoch, rank, peers), loop).result()

    async def _begin(self, epoch: int, rank: int, peers: list[tuple[str, str]]) -> None:
        self._epoch, self._rank, self._peers, self._count = epoch, rank, peers, 0
        self._posted, self._given_up = {}, asyncio.Event()
        self._wake()

    def stop(self) -> None:
        """Let the loop `give_up`; called from the member's thread."""
        self._worker.loop.asyncio_loop.call_soon_threadsafe(self.give_up)

    def give_up(self) -> None:
        """Give up what is under way: who waits for news, here or there, hears of it."""
        self._given_up.set()
        self._wake()

    def check(self) -> None:
        """Raise LostError if what is under way has been given up."""
        if self._given_up.is_set():
            raise LostError("given up")

    def exchange(self, parcel: Any) -> list[Any]:
        """Give all others a parcel, and return theirs, by rank; called from the member's thread."""
        self.check()
        if len(self._peers) < 2:
            return [parcel]
        key = (self._epoch, self._count)
        self._count += 1
        loop = self._worker.loop.asyncio_loop
        return asyncio.run_coroutine_threadsafe(self._exchange(key, parcel), loop).result()

    async def _exchange(self, key: tuple[int, int], parcel: Any) -> list[Any]:
        given_up: Any = asyncio.ensure_future(self._given_up.wait())
        self._posted[key] = parcel, len(self._peers) - 1
        self._wake()
        ranks = range(len(self._peers))
        asked = asyncio.gather(*(self._ask(rank, key, parcel) for rank in ranks))
        asked.add_done_callback(_noticed)
        try:
            await asyncio.wait({asked, given_up}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise LostError("given up")
            return list(asked.result())
        finally:
            asked.cancel()
            given_up.cancel()

    async def _ask(self, rank: int, key: tuple[int, int], own: Any) -> Any:
        if rank == self._rank:
            return own
        address, name = self._peers[rank]
        return await call(self._worker.rpc(address), name, "take", *key)

    async def take(self, epoch: int, count: int) -> Any:
        """Answer another member, as soon as this one has come so far."""
        key = epoch, count
        while key not in self._posted:
            if self._epoch > epoch or (self._epoch == epoch and self._given_up.is_set()):
                raise LostError("given up")
            await self._news.wait()
        parcel, left = self._posted[key]
        if left > 1:
            self._posted[key] = parcel, left - 1
        else:
            del self._posted[key]
        return parcel

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
