"""The workers of a distributed fit, made again from those present when one is lost."""

import sys
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from odsymnmf import __version__
from odsymnmf.distributed.row_blocks import RowBlocks
from odsymnmf.distributed.worker import FitWorker, Layout, WorkerLostError
from odsymnmf.utils import Array

# Seconds between checks that all workers are present.
CHECK_EVERY = 0.5
# Seconds to wait for a worker if there is none.
WAIT = 300.0
# How often a call is tried.
N_TRIES = 10


def current_client() -> Any:
    """Return the current client of dask.distributed, None if there is none.

    Examples
    --------
    >>> current_client() is None
    True
    """
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    try:
        client = Client.current()
    except ValueError:
        return None
    if client.asynchronous:
        raise ValueError(
            "the current client of Dask is asynchronous; make a synchronous one, Client(address), "
            "and call this in a thread."
        )
    return client


class WorkerGroup:
    """One `FitWorker` on every worker of a client.

    Parameters
    ----------
    client : distributed.Client
    rows : RowBlocks
    blocks : list of Future
        The cleaned blocks of ``rows``, already computed.
    layout : Layout
        The ranges are set when the workers are known.
    work : ndarray
        Work of each tile, by which the ranges are balanced.
    """

    def __init__(
        self, client: Any, rows: RowBlocks, blocks: list[Any], layout: Layout, work: Array
    ):
        self.client, self.rows, self.layout, self.work = client, rows, layout, work
        self.n_lost = 0
        # Whether the workers have H and the sums of the last complete sweep.
        self.is_current = False
        self._blocks: list[Any] | None = blocks
        self._is_checked = rows.is_symmetric or bool(rows.m)
        self._futures: list[Any] = []
        self._members: list[Any] = []
        self._addresses: list[str] = []
        self._call = 0
        self._setup: list[tuple[Any, ...]] = []

    def setup(self, *call: Any) -> None:
        """Call a method of all workers, now and whenever the group is made again."""
        self.call(*call)
        self._setup.append(call)

    def call(self, method: str, *args: Any) -> list[Any]:
        """Call a method of all workers; return the results by rank."""
        return self.repeat(lambda: self.run(method, *args))

    def repeat(self, task: Callable[[], Any]) -> Any:
        """Return ``task()``; if a worker is lost, repeat it on the workers that are present."""
        for attempt in range(N_TRIES):
            try:
                if not self._members:
                    self._make()
                return task()
            except Exception as error:
                if attempt == N_TRIES - 1 or not self._means_lost(error):
                    raise
                self.close()
                self.n_lost += 1
                time.sleep(CHECK_EVERY)

    def run(self, method: str, *args: Any) -> list[Any]:
        """Call a method of all workers, once."""
        self._call += 1
        try:
            return self._wait([m.run(self._call, method, *args) for m in self._members])
        except BaseException:
            self._send("stop", self._call)
            raise

    def close(self) -> None:
        """Release the memory of the workers."""
        self._send("close")
        self._members, self._futures, self.is_current = [], [], False

    def _make(self) -> None:
        client, starts = self.client, self.rows.starts
        blocks = self._blocks or client.compute(self.rows.cleaned())
        self._blocks, threads = None, self._present()
        self._addresses = sorted(threads)[: len(self.work)]
        ranges = _ranges(self.layout.tiles, self.work, len(self._addresses))
        layout, self._futures = self.layout._replace(ranges=ranges), []
        for rank, (address, own) in enumerate(zip(self._addresses, ranges, strict=True)):
            some = slice(bisect_right(starts, own.start) - 1, bisect_left(starts, own.stop))
            args = __version__, layout, rank, threads[address], blocks[some], starts[some]
            options = {"actor": True, "workers": [address], "pure": False}
            self._futures.append(client.submit(FitWorker, *args, **options))
        self.layout, self._members = layout, self._wait(self._futures)
        self._wait([member.meet(self._members) for member in self._members])
        self.run("load")
        if not self._is_checked:
            self.run("check_symmetric")
            self._is_checked = True
        for call in self._setup:
            self.run(*call)

    def _present(self) -> dict[str, int]:
        """Return the addresses of the workers and their threads."""
        try:
            self.client.wait_for_workers(1, timeout=WAIT)
        except TimeoutError:
            raise RuntimeError(
                f"{self.client.scheduler.address} had no worker for {WAIT:.0f} s; start some. "
                "With checkpoint=, the fit can then be resumed."
            ) from None
        threads: dict[str, int] = self.client.nthreads()
        return threads

    def _wait(self, futures: list[Any]) -> list[Any]:
        """Return the results of calls, or of Dask futures; WorkerLostError if a worker is lost."""
        pending = list(futures)
        while pending:
            try:
                pending[0].result(timeout=CHECK_EVERY)
                pending.pop(0)
            except TimeoutError:
                if pending[0].done():
                    raise
                if not {*self._addresses} <= {*self.client.nthreads()}:
                    raise WorkerLostError("a worker was lost") from None
                pending.sort(key=lambda future: not future.done())  # errors first
        return [future.result() for future in futures]

    def _means_lost(self, error: Exception) -> bool:
        """Whether an error means that a worker was lost, or replaced at its address."""
        if isinstance(error, KeyError):
            return error.args[0] in {member.key for member in self._members}
        kinds = WorkerLostError, CancelledError, OSError
        return isinstance(error, kinds) or "Worker holding Actor was lost" in str(error)

    def _send(self, method: str, *args: Any) -> None:
        """Call a method of the workers that can be reached, without waiting."""
        for member in self._members:
            with suppress(Exception):
                getattr(member, method)(*args)


def _ranges(tiles: list[slice], work: Array, size: int) -> list[slice]:
    """Cut the items into ranges of whole tiles with about equal work."""
    k, total = np.arange(1, size), np.cumsum(work)
    cuts = np.searchsorted(total, total[-1] * k / size)
    cuts = np.clip(np.maximum.accumulate(cuts - k) + k, k, len(tiles) - size + k)
    ends = [0, *cuts.tolist(), len(tiles)]
    return [slice(tiles[a].start, tiles[b - 1].stop) for a, b in pairwise(ends)]
