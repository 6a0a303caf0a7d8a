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
# Seconds after which a member asks for what it is waiting for.
LONG = 5.0


class LostError(Exception):
    """A worker has gone, or another member has given up on the sweep."""


async def call(rpc: Any, key: str, method: str, *args: Any, reply: bool = True) -> Any:
    """Call a method of the member ``key`` on the worker that ``rpc`` reaches.

    Without a reply nobody hears how it ended: it need not even have reached the worker.
    """
    from distributed.protocol import to_serialize

    try:
        found = await rpc.actor_execute(
            actor=key,
            function=method,
            args=[arg if type(arg) is int else to_serialize(arg) for arg in args],
            kwargs={},
            reply=reply,
        )
    except GONE as error:
        raise LostError(str(error)) from error
    except KeyError as error:
        if error.args != (key,):
            raise
        raise LostError("the worker has been restarted") from error
    if not reply:
        return None
    if found["status"] == "OK":
        return found["result"]
    raise found["exception"]


class Post:
    """The post of one member: what the others have sent, until it is asked for.

    Parcels come in the event loop of the worker, and are waited for in the member's thread. Nobody
    says that one has come; who waits for long asks for it, should a connection have been lost. An
    exchange has ended for everybody when the next one has: arrays that were sent in it may then be
    written to.
    """

    def __init__(self, worker: Any):
        self._worker = worker
        self._peers: list[tuple[str, str]] = []
        self._rank = 0
        # The epoch, and the number of the exchange within it.
        self._now = (0, 0)
        # By exchange: what was sent, and what has come, by rank.
        self._sent: dict[tuple[int, int], Any] = {}
        self._come: dict[tuple[int, int], dict[int, Any]] = defaultdict(dict)
        self._calls: set[Any] = set()
        self._given_up = False
        self._news = threading.Condition()

    def begin(self, epoch: int, rank: int, peers: list[tuple[str, str]]) -> None:
        """Begin anew among these members, each an address and a key; forget what was before.

        Called from the member's thread: what was under way there has ended.
        """
        with self._news:
            self._now, self._rank, self._peers = (epoch, 0), rank, peers
            self._given_up = False
            self._forget()

    def _forget(self) -> None:
        """Forget what came before this exchange, and what was sent before the last one."""
        epoch, count = self._now
        for parcels, first in ((self._come, self._now), (self._sent, (epoch, count - 1))):
            for key in [key for key in parcels if key < first]:
                del parcels[key]

    def give_up(self) -> None:
        """Give up what is under way: who waits for news hears of it."""
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
        now, size = self._now, len(self._peers)
        if size < 2:
            return [parcel]
        with self._news:
            self._sent[now] = self._come[now][self._rank] = parcel
            come = self._come[now]
        self._begin_calls(now, set(range(size)) - {self._rank}, self._send)
        with self._news:
            while not self._news.wait_for(lambda: self._given_up or len(come) == size, LONG):
                self._begin_calls(now, set(range(size)) - set(come), self._ask)
            self.check()
            self._now = now[0], now[1] + 1
            self._forget()
        return [come[rank] for rank in range(size)]

    async def give(self, epoch: int, count: int, rank: int, parcel: Any) -> None:
        """Take what another member sends, unless it has come already."""
        with self._news:
            if (epoch, count) >= self._now:
                self._come[epoch, count][rank] = parcel
                self._news.notify_all()

    async def again(self, epoch: int, count: int) -> tuple[Any, ...]:
        """Return what was sent; nothing if this member has not come so far."""
        with self._news:
            key = (epoch, count)
            return (self._sent[key],) if key in self._sent else ()

    def _begin_calls(self, now: tuple[int, int], ranks: set[int], method: Any) -> None:
        """Let calls to other members begin in the event loop."""
        peers, loop = self._peers, self._worker.loop.asyncio_loop

        def begin() -> None:
            for rank in ranks:
                # The loop itself does not keep them from being collected.
                task = asyncio.ensure_future(self._reach(now, rank, method, *peers[rank]))
                self._calls.add(task)
                task.add_done_callback(self._calls.discard)

        loop.call_soon_threadsafe(begin)

    async def _reach(
        self, now: tuple[int, int], rank: int, method: Any, address: str, name: str
    ) -> None:
        """Call another member; if that fails, nobody is to wait for it."""
        try:
            await method(now, rank, partial(call, self._worker.rpc(address), name))
        except Exception:
            if now[0] == self._now[0]:
                self.give_up()

    async def _send(self, now: tuple[int, int], rank: int, member: Any) -> None:
        await member("give", *now, self._rank, self._sent[now], reply=False)

    async def _ask(self, now: tuple[int, int], rank: int, member: Any) -> None:
        for parcel in await member("again", *now):
            await self.give(*now, rank, parcel)
