"""How members of a fit tell each other things: each sends all others what it has, unasked.

A member is an actor of Dask: an object that stays on its worker. Its slow methods run in a thread
of their own, one after the other; those that are coroutines run beside them, so that parcels arrive
while a member computes, and who comes last to an exchange waits for nobody. Workers talk to each
other directly.
"""

import asyncio
import threading
from collections import defaultdict
from functools import partial
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
            actor=key,
            function=method,
            args=[arg if type(arg) is int else to_serialize(arg) for arg in args],
            kwargs={},
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


class Post:
    """The post of one member: what the others have sent, until it is asked for.

    Parcels come in the event loop of the worker, and are waited for in the member's thread. An
    exchange has ended for everybody when the next one has: arrays that were sent in it may then
    be written to.
    """

    def __init__(self, worker: Any):
        self._worker = worker
        self._peers: list[tuple[str, str]] = []
        self._rank, self._epoch, self._count = 0, 0, 0
        # What has come, by epoch and number of the exchange, then by rank.
        self._come: dict[tuple[int, int], dict[int, Any]] = defaultdict(dict)
        self._given_up = False
        self._news = threading.Condition()

    def begin(self, epoch: int, rank: int, peers: list[tuple[str, str]]) -> None:
        """Begin anew among these members, each an address and a key; forget what was before.

        Called from the member's thread: what was under way there has ended.
        """
        with self._news:
            self._epoch, self._rank, self._peers, self._count = epoch, rank, peers, 0
            self._given_up = False
            for key in [key for key in self._come if key[0] < epoch]:
                del self._come[key]

    def give_up(self) -> None:
        """Give up what is under way: who waits for news hears of it, and who sends some."""
        with self._news:
            self._given_up = True
            self._news.notify_all()

    def check(self) -> None:
        """Raise LostError if what is under way has been given up."""
        if self._given_up:
            raise LostError("given up")

    def exchange(self, parcel: Any) -> list[Any]:
        """Give all others a parcel, and return theirs, by rank; called from the member's thread."""
        self.check()
        others = len(self._peers) - 1
        if others < 1:
            return [parcel]
        key = (self._epoch, self._count)
        self._count += 1
        self._worker.loop.asyncio_loop.call_soon_threadsafe(self._send, key, parcel)
        with self._news:
            self._news.wait_for(lambda: self._given_up or len(self._come[key]) == others)
            self.check()
            come = self._come.pop(key)
        return [parcel if rank == self._rank else come[rank] for rank in range(others + 1)]

    def _send(self, key: tuple[int, int], parcel: Any) -> None:
        """Send all others a parcel; called in the event loop."""
        for rank, (address, name) in enumerate(self._peers):
            if rank != self._rank:
                rpc = self._worker.rpc(address)
                sent = asyncio.ensure_future(call(rpc, name, "give", *key, self._rank, parcel))
                sent.add_done_callback(partial(self._sent, key[0]))

    def _sent(self, epoch: int, sent: Any) -> None:
        """Give up if a parcel could not be delivered."""
        if (sent.cancelled() or sent.exception() is not None) and epoch == self._epoch:
            self.give_up()

    async def give(self, epoch: int, count: int, rank: int, parcel: Any) -> None:
        """Take what another member sends; called in the event loop."""
        with self._news:
            if epoch < self._epoch or (epoch == self._epoch and self._given_up):
                raise LostError("given up")
            self._come[epoch, count][rank] = parcel
            self._news.notify_all()
