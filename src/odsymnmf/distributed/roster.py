"""Who takes part in a fit: the workers that are there, and calls to their members."""

import asyncio
import time
import uuid
from collections.abc import Sequence
from typing import Any

import odsymnmf
from odsymnmf.distributed.member import Member
from odsymnmf.distributed.parts import Problem
from odsymnmf.distributed.post import LostError, call

# Seconds: how long to wait for any worker, for an answer to a ping, and between looks at who is
# still there.
PATIENCE, ANSWER, LOOK = 300.0, 10.0, 5.0
# Seconds within which a worker answers that the client can reach itself.
NEAR = 2.0


class Roster:
    """The members on the workers of a client.

    Parameters
    ----------
    client : distributed.Client
    problem : Problem
        What members are told when they are made.
    """

    def __init__(self, client: Any, problem: Problem):
        self.client, self.problem = client, problem
        self._epoch = self._count = 0
        self._actors: dict[str, Any] = {}  # by the address of their workers
        self._addresses: list[str] = []  # by rank
        self._begun = False
        # Whether the client reaches the workers, or only the scheduler does.
        self._direct = bool(client.direct_to_workers)

    @property
    def size(self) -> int:
        """How many members there are."""
        return len(self._addresses)

    def _muster(self) -> None:
        """Make members of all workers; LostError if there is none."""
        there = self._workers()
        alive = self.client.sync(self._alive, [a for a in self._actors if a in there])
        gone = [address for address in self._actors if address not in alive]
        for address in gone:  # the scheduler may still think that they are there
            self._actors.pop(address).release()
        for address in there:
            if address not in self._actors and address not in gone:
                self._add_member(address)
        if not self._actors:
            time.sleep(1.0)
            raise LostError("no worker is left")
        if not self._direct:
            self._direct = self.client.sync(self._reaches, next(iter(self._actors)))
        self._addresses = sorted(self._actors, key=lambda a: str(self._actors[a].key))

    def _begin(self) -> None:
        """Let members begin anew: what they were at is over."""
        self._epoch += 1
        peers = [(address, self._actors[address].key) for address in self._addresses]
        self._call("begin", [(self._epoch, rank, peers) for rank in range(self.size)])
        self._begun = True

    def _workers(self) -> list[str]:
        """Return the addresses of the workers; wait for one, if there are none."""
        for _ in range(int(PATIENCE / LOOK)):
            there = list(self.client.nthreads())
            if there:
                return there
            try:
                self.client.wait_for_workers(1, timeout=LOOK)
            except TimeoutError:
                continue
        raise RuntimeError(
            f"no worker of {self.client.scheduler.address} is left, and none came in "
            f"{PATIENCE:.0f} s; start some. With checkpoint=, the fit can then go on from there."
        )

    def _add_member(self, address: str) -> None:
        self._count += 1
        name = f"odsymnmf-{self._count:06d}-{uuid.uuid4().hex}"
        future = self.client.submit(
            Member,
            name,
            self.problem,
            odsymnmf.__version__,
            actor=True,
            workers=[address],
            key=name,
            pure=False,
        )
        self._wait_for([future], {address})
        self._actors[address] = future

    def _wait_for(self, futures: list[Any], addresses: set[str]) -> None:
        """Wait for tasks on some workers; LostError if one of these goes, or nobody is at them.

        What tasks need may have been asked of a worker that has gone, and would then be waited for
        without end: so they are cancelled, to be asked for anew.
        """
        try:
            self._watch(futures, addresses)
        except LostError:
            self.client.cancel(futures)
            raise

    def _watch(self, futures: list[Any], addresses: set[str]) -> None:
        from distributed import wait
        from distributed.scheduler import KilledWorker

        idle = 0
        while True:
            try:
                wait(futures, timeout=LOOK)
                break
            except TimeoutError:
                idle = 0 if any(self.client.processing().values()) else idle + 1
                if idle > 1 or not addresses <= set(self.client.nthreads()):
                    raise LostError("a worker has gone") from None
        for future in futures:
            if future.status != "finished":
                error = future.exception() if future.status == "error" else None
                if error is None or isinstance(error, KilledWorker):
                    raise LostError("a worker has gone")
                raise error

    # --- calls, in the event loop of the client -----------------------------------------------

    def _call(self, method: str, args: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of every member; when one fails, let all others give up, and raise."""
        return self.client.sync(self._call_all, method, args)

    async def _call_all(self, method: str, args: Sequence[tuple[Any, ...]]) -> list[Any]:
        tasks = [
            asyncio.ensure_future(self._ask(address, method, *some))
            for address, some in zip(self._addresses, args, strict=True)
        ]
        waiting = set(tasks)
        while waiting:
            done, waiting = await asyncio.wait(
                waiting, timeout=LOOK, return_when=asyncio.FIRST_EXCEPTION
            )
            failed = any(task.exception() is not None for task in done)
            if failed or (waiting and not await self._all_there()):
                # Whose call has ended, well or not, has nothing to give up: it may be gone.
                busy = zip(self._addresses, tasks, strict=True)
                await self._stop_all([address for address, task in busy if not task.done()])
                if waiting:
                    await asyncio.wait(waiting, timeout=ANSWER)
                break
        for task in tasks:
            if not task.done():
                task.cancel()
        errors = [task.exception() for task in tasks if task.done() and not task.cancelled()]
        for error in errors:
            if error is not None and not isinstance(error, LostError):
                raise error
        if any(errors) or not all(task.done() and not task.cancelled() for task in tasks):
            raise LostError("a worker has gone")
        return [task.result() for task in tasks]

    async def _ask(self, address: str, method: str, *args: Any) -> Any:
        from distributed.actor import ProxyRPC

        rpc = self.client.rpc(address)
        if not self._direct:
            rpc = ProxyRPC(self.client.scheduler, address)
        return await call(rpc, self._actors[address].key, method, *args)

    async def _reaches(self, address: str) -> bool:
        """Say whether a worker answers the client itself."""
        try:
            rpc = self.client.rpc(address)
            await asyncio.wait_for(call(rpc, self._actors[address].key, "ping"), NEAR)
            return True
        except (TimeoutError, LostError):
            return False

    async def _all_there(self) -> bool:
        there = await self.client.scheduler.ncores(workers=None)
        return set(self._addresses) <= set(there)

    async def _alive(self, addresses: list[str]) -> list[str]:
        """Return which of these members answer."""

        async def answers(address: str) -> bool:
            try:
                await asyncio.wait_for(self._ask(address, "ping"), ANSWER)
                return True
            except (TimeoutError, LostError):
                return False

        found = await asyncio.gather(*(answers(address) for address in addresses))
        return [address for address, there in zip(addresses, found, strict=True) if there]

    async def _stop_all(self, addresses: list[str]) -> None:
        asked = (asyncio.wait_for(self._ask(a, "stop"), ANSWER) for a in addresses)
        await asyncio.gather(*asked, return_exceptions=True)

    async def _close_all(self) -> None:
        asked = (asyncio.wait_for(self._ask(a, "close"), ANSWER) for a in self._actors)
        await asyncio.gather(*asked, return_exceptions=True)
