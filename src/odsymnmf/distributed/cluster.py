"""The workers of a distributed fit. If one is lost, they are created again on the others."""

import sys
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from odsymnmf.distributed.row_blocks import RowBlocks
from odsymnmf.distributed.worker import FitWorker, Layout, WorkerLostError
from odsymnmf.utils import Array

# Seconds between checks that all workers are present.
CHECK_EVERY = 0.5
# Seconds to wait for the first worker.
TIMEOUT = 300.0
# Maximum number of attempts of a call.
N_TRIES = 10


def current_client() -> Any:
    """Return the current client of dask.distributed, or None.

    Examples
    --------
    >>> current_client() is None
    True
    """
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    try:
        return Client.current()
    except ValueError:
        return None


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

    Attributes
    ----------
    is_current : bool
        Whether the workers have H and the sums of the last complete sweep.
    """

    def __init__(
        self, client: Any, rows: RowBlocks, blocks: list[Any], layout: Layout, work: Array
    ):
        self.client, self.rows, self.layout, self.work = client, rows, layout, work
        self.is_current = self._is_interrupted = False
        self._blocks: list[Any] | None = blocks
        self._workers: list[Any] = []
        self._addresses: list[str] = []
        self._setup: list[tuple[Any, ...]] = []

    def setup(self, *call: Any) -> None:
        """Call a method of all workers, now and whenever they are created again."""
        self.call(*call)
        self._setup.append(call)

    def call(self, method: str, *args: Any) -> list[Any]:
        """Call a method of all workers; return the results by rank."""
        return self.repeat(lambda: self.run(method, *args))

    def repeat(self, task: Callable[[], Any]) -> Any:
        """Return ``task()``; if a worker is lost, repeat it on the workers that are present."""
        if self._is_interrupted:
            self._is_interrupted = False
            raise KeyboardInterrupt
        for attempt in range(N_TRIES):
            if not self._workers:
                self.client.wait_for_workers(1, timeout=TIMEOUT)
            try:
                if not self._workers:
                    self._create()
                return task()
            except Exception as error:
                is_lost = self._is_lost(error)
                self.close()
                if attempt == N_TRIES - 1 or not is_lost:
                    raise
                time.sleep(CHECK_EVERY)

    def run(self, method: str, *args: Any) -> list[Any]:
        """Call a method of all workers, once. Ctrl-C is raised by the next `repeat`."""
        calls = [worker.run(method, *args) for worker in self._workers]
        try:
            return self._wait(calls)
        except KeyboardInterrupt:
            self._is_interrupted = True
            return self._wait(calls)

    def close(self) -> None:
        """End running calls, and release the memory of the workers."""
        for worker in self._workers:
            with suppress(Exception):  # it cannot be reached
                worker.close()
        self._workers, self.is_current = [], False

    def _create(self) -> None:
        client, starts = self.client, self.rows.starts
        blocks = self._blocks or client.compute(self.rows.cleaned())
        self._blocks, threads = None, client.nthreads()
        self._addresses = sorted(threads)[: len(self.work)]
        ranges = _ranges(self.layout.tiles, self.work, len(self._addresses))
        self.layout, futures = self.layout._replace(ranges=ranges), []
        for rank, (address, items) in enumerate(zip(self._addresses, ranges, strict=True)):
            part = slice(bisect_right(starts, items.start) - 1, bisect_left(starts, items.stop))
            args = self.layout, rank, threads[address], blocks[part], starts[part]
            options = {"actor": True, "workers": [address], "pure": False}
            futures.append(client.submit(FitWorker, *args, **options))
        self._workers = self._wait(futures)
        self._wait([worker.set_peers(self._workers) for worker in self._workers])
        try:
            for call in [("load",), *self._setup]:
                self.run(*call)
        except KeyboardInterrupt:
            self.close()
            raise

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

    def _is_lost(self, error: Exception) -> bool:
        """Whether an error means that a worker was lost, or replaced at its address."""
        if isinstance(error, KeyError):
            return error.args[0] in {worker.key for worker in self._workers}
        kinds = WorkerLostError, CancelledError, OSError
        return isinstance(error, kinds) or "Worker holding Actor was lost" in str(error)


def _ranges(tiles: list[slice], work: Array, size: int) -> list[slice]:
    """Cut the items into ranges of whole tiles with about equal work."""
    k, total = np.arange(1, size), np.cumsum(work)
    cuts = np.searchsorted(total - work / 2, total[-1] * k / size)
    cuts = np.clip(np.maximum.accumulate(cuts - k) + k, k, len(tiles) - size + k)
    ends = [0, *cuts.tolist(), len(tiles)]
    return [slice(tiles[a].start, tiles[b - 1].stop) for a, b in pairwise(ends)]
