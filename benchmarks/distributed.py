"""Fits on the workers of Dask: the same bits, what a sweep costs, kills, and how far it reaches."""

import logging
import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import odsymnmf as od
from benchmarks import problems
from benchmarks.timing import minima, seconds, table
from odsymnmf.distributed.door import looked_at
from odsymnmf.distributed.packing import packed, put, room_for
from odsymnmf.engine.losses import make_loss
from odsymnmf.engine.starts import random
from odsymnmf.engine.sweeps import Rounds
from odsymnmf.engine.team import Team
from odsymnmf.problem.rounds import ROUNDS, tiles
from odsymnmf.similarity import as_similarity

RANDOM = {"init": "random", "random_state": 0, "tol": 0.0}
LIMIT = "1.5GB"
KILLS = 20
# The problem that the simulation is about: items, stored entries, clusters, bytes of a number.
ITEMS, STORED, COLUMNS, BYTES = 10**7, 2 * 10**9, 50, 8
# How much of H is not zero: about as much as the first table says of its problem.
FILLED = 0.2
# A network of 10 Gbit/s, in bytes a second.
NETWORK = 1.25e9
# Numbers of a long message, and by how much the times of tiles spread.
LONG, SPREAD = 2**20, 0.1


@contextmanager
def cluster(workers: int, memory: str = "auto") -> Iterator[Any]:
    """Be a client of so many processes of one thread each."""
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    options = {"silence_logs": logging.ERROR, "dashboard_address": ":0", "memory_limit": memory}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, **options) as local,
        Client(local) as client,
    ):
        client.wait_for_workers(workers)
        yield client


def blocks(A: Any, count: int) -> Any:
    """Return a sparse matrix as a dask array of CSR row blocks."""
    import dask
    import dask.array as da

    n = A.shape[0]
    cuts = np.linspace(0, n, count + 1).astype(int)
    rows = [
        da.from_delayed(
            dask.delayed(A[a:b]), (b - a, n), dtype=A.dtype, meta=sparse.csr_array((0, 0))
        )
        for a, b in pairwise(cuts.tolist())
    ]
    return da.concatenate(rows)


def timed_fit(A: Any, r: int, sweeps: int, **options: Any) -> tuple[Any, float]:
    """Return a fit, and the median time of its sweeps after the first two."""
    moments: list[float] = []
    found = od.factorize(
        A,
        r,
        max_iter=sweeps,
        callback=lambda sweep: moments.append(time.perf_counter()),
        **RANDOM,
        **options,
    )
    return found, median(np.diff(moments)[1:])


def same(one: Any, other: Any) -> bool:
    return bool((one.H == other.H).all() and (one.history == other.history).all())


def sweeps_beside_threads() -> Iterator[tuple[str, str, str]]:
    """Compare sweeps of two worker processes with those of two threads, in turn."""
    A, _ = problems.shuffled(*problems.planted(200_000, 4_000_000, 50))
    A = sparse.csr_array(A)
    with cluster(2) as client:
        D = client.persist(blocks(A, 8))
        timed_fit(D, 50, 3)  # compiled
        ratios, equal = [], []
        for _ in range(3):
            mine, here = timed_fit(A, 50, 8, n_jobs=2)
            found, there = timed_fit(D, 50, 8)
            ratios.append(there / here)
            equal.append(same(found, mine))
    name = "l2 sparse, n = 200,000, r = 50, 2 processes"
    yield f"{name}: same bits as n_jobs=2", "always", f"{sum(equal)} of {len(equal)}"
    filled = np.count_nonzero(found.H) / found.H.size
    yield "how much of its H is not zero, and travels", "", f"{filled:.2f}"
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    yield f"{name}: sweep / that of n_jobs=2", "<= 1.5", f"{median(ratios):.2f} ({spread})"


def from_parquet(n: int = 500_000, stored: int = 20_000_000, r: int = 20) -> Iterator[Any]:
    """Fit a graph that is read from 16 parquet files, by workers of little memory."""
    import dask.dataframe as dd
    import pandas as pd

    A, _ = problems.shuffled(*problems.planted(n, stored, r))
    upper = sparse.triu(A, 1).tocoo()
    with tempfile.TemporaryDirectory() as folder:
        for k in range(16):
            some = slice(k, None, 16)
            links = {"source": upper.row[some], "target": upper.col[some]}
            pd.DataFrame(links | {"weight": upper.data[some]}).to_parquet(
                Path(folder, f"part{k:02d}.parquet")
            )
        with cluster(2, LIMIT) as client:
            held = Watch(client)
            with held:
                rows = od.distributed.from_edges(dd.read_parquet(folder))
                found = od.factorize(rows, r, max_iter=3, **RANDOM)
    mine = od.factorize(sparse.csr_array(A), r, max_iter=3, n_jobs=2, **RANDOM)
    what = f"{A.nnz:,} stored entries of {n:,} items, 16 parquet files, r = {r}"
    yield f"{what}, {LIMIT} a worker", "fits", f"at most {held.peak / 2**30:.2f} GiB a worker"
    equal = "equal" if found.objective == mine.objective else "differs"
    yield "its objective beside that of one machine", "equal", equal


class Watch(threading.Thread):
    """The largest resident memory of any worker, looked at ten times a second."""

    def __init__(self, client: Any):
        super().__init__(daemon=True)
        self.pids = list(client.run(os.getpid).values())
        self.peak, self._ended = 0, threading.Event()

    def __enter__(self) -> "Watch":
        self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not self._ended.wait(0.1):
            for pid in self.pids:
                try:
                    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
                except OSError:
                    continue
                self.peak = max(self.peak, resident)


def processes(client: Any, workers: int) -> list[int]:
    """Return the processes of the workers, when so many answer; after a minute, of those that do.

    The killed are replaced, but not always: Dask gives up on a worker that is slow to start.
    """
    end = time.monotonic() + 60
    while True:
        # The scheduler may not know yet that one has gone.
        pids = client.run(os.getpid, on_error="ignore").values()
        if len(pids) == workers or (len(pids) > 1 and time.monotonic() > end):
            return sorted(pids)
        time.sleep(0.5)


def kills(workers: int = 4) -> Iterator[tuple[str, str, str]]:
    """Kill a worker at a random moment of a fit, again and again."""
    A, _ = problems.shuffled(*problems.planted(20_000, 400_000, 20))
    A, rng = sparse.csr_array(A), np.random.default_rng(0)
    options = {"max_iter": 40, **RANDOM}
    mine = od.factorize(A, 20, n_jobs=2, **options)
    equal = 0
    with cluster(workers) as client:
        D = blocks(A, 8)
        started = time.perf_counter()
        od.factorize(D, 20, **options)
        usual = time.perf_counter() - started
        for _ in range(KILLS):
            pids = processes(client, workers)
            victim = pids[int(rng.integers(len(pids)))]
            moment = rng.uniform(0, usual)
            timer = threading.Timer(moment, os.kill, (victim, signal.SIGKILL))
            timer.start()
            equal += same(od.factorize(D, 20, **options), mine)
            timer.join()
    yield (
        f"kill -9 of one of {workers} workers (or those that came back) at a random moment",
        "same bits",
        (f"{equal} of {KILLS}"),
    )


# --- how far it reaches -----------------------------------------------------------------------


class Constants(NamedTuple):
    """What was measured, in seconds of a thread.

    Attributes
    ----------
    entry : float
        For each stored entry and cluster.
    square : float
        For each item and pair of clusters.
    message : float
        Until all have exchanged nothing much.
    byte : float
        For each byte that a worker receives.
    number : float
        For each number of H that is packed and unpacked.
    """

    entry: float
    square: float
    message: float
    byte: float
    number: float


def one_sweep(stored: int, n: int, r: int = COLUMNS) -> Callable[[], Any]:
    """Return a sweep in rounds by one thread."""
    A, _ = problems.shuffled(*problems.planted(n, stored, r))
    loss = make_loss("l2", as_similarity(sparse.csr_array(A)), np.inf)
    H = random(loss, r, np.random.default_rng(0))
    sums, rounds, items = loss.sums(H), Rounds(loss, Team()), np.arange(n)
    return lambda: loss.sweep(H, sums, items, rounds=rounds)


def exchange_seconds(size: int, batches: int = 20, batch: int = 10) -> float:
    """Return the least time of exchanges of so many numbers, on the worker of a member.

    Several at a time: who comes last to a single one finds what the others have sent.
    """
    from odsymnmf.distributed.member import _MEMBERS

    (member,) = _MEMBERS.values()
    numbers = np.ones(size)
    return min(
        seconds(lambda: [member.post.exchange(numbers) for _ in range(batch)]) / batch
        for _ in range(batches)
    )


def packing_seconds() -> float:
    """Return the time to pack and to unpack a number of H."""
    rng = np.random.default_rng(0)
    rows = rng.random((20_000, COLUMNS)) * (rng.random((20_000, COLUMNS)) < FILLED)
    room, again = room_for(rows.size, rows.dtype), np.empty_like(rows)
    (least,) = minima(lambda: put(packed(rows, room), again, slice(0, len(rows))), repeats=7)
    return least / rows.size


def constants() -> Constants:
    """Measure them here: two sweeps of different density, two messages of different length."""
    n, few, many = 50_000, 250_000, 4_000_000
    thin, thick = minima(one_sweep(few, n), one_sweep(many, n), repeats=7)
    entry = (thick - thin) / ((many - few) * COLUMNS)
    if entry <= 0:
        raise RuntimeError("the machine is too busy for a sweep to be timed; try again")
    square = max(0.0, thin - entry * few * COLUMNS) / (n * COLUMNS**2)
    A, _ = problems.planted(n, 200_000, 10)
    with cluster(2) as client:
        rows = looked_at(client, blocks(sparse.csr_array(A), 4))
        rows.load(tiles(n, 10, 2))
        found = []
        for size in (1, LONG):
            asked = [
                client.submit(exchange_seconds, size, workers=[address], pure=False)
                for address in client.nthreads()
            ]
            found.append(max(client.gather(asked)))
        rows.close()
    message, long = found
    byte = max(0.0, long - message) / (8 * LONG)
    return Constants(entry, square, message, byte, packing_seconds())


def simulated(c: Constants, workers: int, threads: int, seed: int = 0) -> float:
    """Return the seconds of a sweep: rounds of tiles, the slowest worker, two exchanges."""
    cut = tiles(ITEMS, COLUMNS, STORED // ITEMS)
    work = c.entry * STORED * COLUMNS + c.square * ITEMS * COLUMNS**2
    times = np.random.default_rng(seed).normal(1.0, SPREAD, (ROUNDS, len(cut)))
    times *= work / (ROUNDS * len(cut) * threads)
    ends = np.linspace(0, len(cut), workers + 1).astype(int)
    slowest = np.add.reduceat(times, ends[:-1], axis=1).max(axis=1).sum()
    if workers == 1:
        return float(slowest)
    byte = c.byte + 1 / NETWORK
    messages = 2 * ROUNDS * c.message * (workers - 1)
    packing = c.number * ITEMS * COLUMNS  # a worker unpacks the rows of all others
    to_client = byte * rows_of_all() + packing
    return float(slowest + messages + byte * traffic(workers) + packing + to_client)


def rows_of_all() -> float:
    """Return how many bytes all rows of H are on their way: a bit for each zero."""
    return (FILLED * BYTES + 1 / 8) * ITEMS * COLUMNS


def traffic(workers: int) -> float:
    """Return how many bytes a worker receives in a sweep: rows of the others, and their sums."""
    pieces = len(tiles(ITEMS, COLUMNS, STORED // ITEMS))
    sums = 8 * ROUNDS * pieces * COLUMNS**2
    return (rows_of_all() + sums) * (workers - 1) / workers


def memory(workers: int) -> float:
    """Return how many bytes a worker holds: its part of A and of the pairs inside rounds, and H."""
    rows = (4 + BYTES) * STORED / workers * (1 + 1 / (2 * ROUNDS)) + 2 * 8 * ITEMS
    return rows + BYTES * ITEMS * COLUMNS * (1 + 1 / ROUNDS) + rows_of_all() / workers


def reach() -> Iterator[tuple[Any, ...]]:
    c = constants()
    for workers in (1, 4, 8, 16, 32, 64):
        cells: list[Any] = [workers, f"{memory(workers) / 2**30:.1f} GiB"]
        cells.append(f"{traffic(workers) / 2**30:.2f} GiB" if workers > 1 else "0")
        for threads in (1, 8):
            alone, sweep = simulated(c, 1, threads), simulated(c, workers, threads)
            cells.append(f"{sweep:.1f} s, {100 * alone / (workers * sweep):.0f} %")
        yield tuple(cells)
    yield (
        f"measured here: {1e9 * c.entry:.2f} ns an entry and cluster, {1e9 * c.square:.2f} ns an "
        f"item and pair of clusters, {1e3 * c.message:.1f} ms an exchange, "
        f"{1e9 * c.byte:.2f} ns a byte, {1e9 * c.number:.2f} ns a number of H packed and unpacked",
        *[""] * 4,
    )


def main(data: Path | None) -> None:
    warnings.simplefilter("ignore")
    header = ["what", "goal", "measured"]
    table("Sweeps of worker processes", header, sweeps_beside_threads())
    table("A graph from parquet", header, from_parquet())
    table("Workers that are killed", header, kills())
    header = ["workers", "memory of each", "received by each in a sweep"]
    header += ["a sweep, efficiency: 1 thread a worker", "8 threads a worker"]
    table("Simulated: 10 million items, a billion pairs, r = 50, 10 Gbit/s", header, reach())
