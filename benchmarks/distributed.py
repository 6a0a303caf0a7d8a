"""Fits on the workers of Dask: the same bits, what a sweep costs, kills, and how far it reaches."""

import logging
import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import odsymnmf as od
from benchmarks import problems
from benchmarks.timing import table
from odsymnmf.distributed.door import looked_at
from odsymnmf.engine.losses import make_loss
from odsymnmf.engine.starts import random
from odsymnmf.engine.sweeps import Rounds
from odsymnmf.engine.team import Team
from odsymnmf.problem.rounds import tiles
from odsymnmf.similarity import as_similarity

RANDOM = {"init": "random", "random_state": 0, "tol": 0.0}
LIMIT = "1.5GB"
KILLS = 20
# The problem that the simulation is about: items, stored entries, clusters, bytes of a number.
ITEMS, STORED, COLUMNS, BYTES = 10**7, 2 * 10**9, 50, 8
# A network of 10 Gbit/s, in bytes a second.
NETWORK = 1.25e9


@contextmanager
def cluster(workers: int, memory: str = "auto") -> Iterator[Any]:
    """Be a client of so many processes of one thread each."""
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    options = {"silence_logs": logging.ERROR, "dashboard_address": ":0", "memory_limit": memory}
    with LocalCluster(workers, threads_per_worker=1, processes=True, **options) as local:
        with Client(local) as client:
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
        for a, b in zip(cuts[:-1], cuts[1:], strict=True)
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
            client.wait_for_workers(workers)
            pids = sorted(client.run(os.getpid).values())
            victim = pids[int(rng.integers(len(pids)))]
            moment = rng.uniform(0, usual)
            timer = threading.Timer(moment, os.kill, (victim, signal.SIGKILL))
            timer.start()
            equal += same(od.factorize(D, 20, **options), mine)
            timer.join()
    yield (
        f"kill -9 of one of {workers} workers at a random moment",
        "same bits",
        (f"{equal} of {KILLS}"),
    )


# --- how far it reaches -----------------------------------------------------------------------


class Constants(NamedTuple):
    """What was measured: seconds of a thread for an entry of A or of H H^T, of a message, a byte.

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
    """

    entry: float
    square: float
    message: float
    byte: float


def one_sweep(stored: int, n: int = 100_000, r: int = COLUMNS) -> float:
    """Return the time of a sweep in rounds by one thread."""
    A, _ = problems.shuffled(*problems.planted(n, stored, r))
    loss = make_loss("l2", as_similarity(sparse.csr_array(A)), np.inf)
    H = random(loss, r, np.random.default_rng(0))
    sums, rounds, items = loss.sums(H), Rounds(loss, Team()), np.arange(n)
    times = []
    for _ in range(6):
        started = time.perf_counter()
        loss.sweep(H, sums, items, rounds=rounds)
        times.append(time.perf_counter() - started)
    return min(times[1:])


def constants() -> Constants:
    """Measure them here: two sweeps of different density, two messages of different length."""
    n, few, many = 100_000, 1_000_000, 4_000_000
    thin, thick = one_sweep(few, n), one_sweep(many, n)
    entry = (thick - thin) / ((many - few) * COLUMNS)
    square = max(0.0, thin - entry * few * COLUMNS) / (n * COLUMNS**2)
    A, _ = problems.planted(n, 200_000, 10)
    with cluster(2) as client:
        rows = looked_at(client, blocks(sparse.csr_array(A), 4))
        crew = rows.load(tiles(n, 10, 2))
        times = {}
        for width in (1, 100):
            parts = [(np.ones((len(np.arange(n)[crew._items(k)]), width)), None) for k in range(2)]
            found = []
            for _ in range(5):
                started = time.perf_counter()
                crew._call("timed_share", parts)
                found.append(time.perf_counter() - started)
            times[width] = found
        inside = {
            w: crew._call(
                "timed_share",
                [(np.ones((len(np.arange(n)[crew._items(k)]), w)), None) for k in range(2)],
            )
            for w in times
        }
        rows.close()
    del inside
    small, large = (min(times[width]) for width in (1, 100))
    byte = max(0.0, large - small) / (99 * 8 * n / 2)
    return Constants(entry, square, small, byte)


def main(data: Path | None) -> None:
    warnings.simplefilter("ignore")
    header = ["what", "goal", "measured"]
    table("Sweeps of worker processes", header, sweeps_beside_threads())
    table("A graph from parquet", header, from_parquet())
    table("Workers that are killed", header, kills())
