"""Fits on Dask: the time of a sweep, lost workers, and a graph from parquet files."""

import logging
import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

import odsymnmf as od
from benchmarks import problems
from benchmarks.timing import table

RANDOM = {"init": "random", "random_state": 0, "tol": 0.0}
LIMIT = "1.5GB"
N_KILLS = 10


@contextmanager
def cluster(workers: int, memory: str = "auto") -> Iterator[Any]:
    """Start worker processes of one thread each, and a client."""
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    options = {"silence_logs": logging.ERROR, "dashboard_address": ":0", "memory_limit": memory}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, **options) as local,
        Client(local, direct_to_workers=True) as client,
    ):
        client.wait_for_workers(workers)
        yield client


def blocks(A: Any, count: int) -> Any:
    """Return a sparse matrix as a Dask array of CSR row blocks."""
    import dask
    import dask.array as da

    n, meta = A.shape[0], sparse.csr_array((0, 0))
    cuts = np.linspace(0, n, count + 1).astype(int).tolist()
    return da.concatenate(
        [
            da.from_delayed(dask.delayed(A[a:b]), (b - a, n), dtype=A.dtype, meta=meta)
            for a, b in pairwise(cuts)
        ]
    )


def timed_fit(A: Any, r: int, sweeps: int, **options: Any) -> tuple[Any, float]:
    """Return a fit and the mean time of its sweeps after the first two."""
    times: list[float] = []
    f = od.factorize(
        A,
        r,
        max_iter=sweeps,
        callback=lambda sweep: times.append(time.perf_counter()),
        **RANDOM,
        **options,
    )
    return f, (times[-1] - times[1]) / (sweeps - 2)


def identical(f: Any, g: Any) -> bool:
    return bool((f.H == g.H).all() and (f.history == g.history).all())


def sweeps() -> Iterator[tuple[str, str, str]]:
    """Compare sweeps of two worker processes and of two threads, in turn."""
    A, _ = problems.shuffled(*problems.planted(200_000, 4_000_000, 50))
    A = sparse.csr_array(A)
    with cluster(2) as client:
        D = client.persist(blocks(A, 8))
        timed_fit(D, 50, 3)  # compiled
        ratios, equal = [], []
        for _ in range(5):
            expected, threads = timed_fit(A, 50, 12, n_jobs=2)
            f, workers = timed_fit(D, 50, 12)  # H is fetched every ten sweeps
            ratios.append(workers / threads)
            equal.append(identical(f, expected))
    name = "l2, n = 200,000, 4 million entries, r = 50"
    yield f"{name}: fits identical to n_jobs=2", "all", f"{sum(equal)} of {len(equal)}"
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    yield f"{name}: sweep / sweep of n_jobs=2", "<= 1.7", f"{median(ratios):.2f} ({spread})"


def kills(workers: int = 2) -> Iterator[tuple[str, str, str]]:
    """Kill a worker at a random moment of a fit, several times."""
    A, _ = problems.shuffled(*problems.planted(20_000, 400_000, 20))
    A, rng, options = sparse.csr_array(A), np.random.default_rng(0), {"max_iter": 30, **RANDOM}
    expected, n_equal = od.factorize(A, 20, n_jobs=2, **options), 0
    with cluster(workers):
        start = time.perf_counter()
        od.factorize(blocks(A, 8), 20, **options)
        seconds = time.perf_counter() - start
    for _ in range(N_KILLS):
        with cluster(workers) as client:
            pids = sorted(client.run(os.getpid).values())
            kill = os.kill, (pids[int(rng.integers(len(pids)))], signal.SIGKILL)
            timer = threading.Timer(rng.uniform(0, seconds), *kill)
            timer.start()
            n_equal += identical(od.factorize(blocks(A, 8), 20, **options), expected)
            timer.join()
    yield (
        f"kill -9 of one of {workers} workers at a random moment: identical fits",
        f"{N_KILLS} of {N_KILLS}",
        f"{n_equal} of {N_KILLS}",
    )


def parquet(n: int = 500_000, stored: int = 20_000_000, r: int = 20) -> Iterator[Any]:
    """Fit a graph read from 16 parquet files, on workers with little memory."""
    import dask.dataframe as dd
    import pandas as pd

    A, _ = problems.shuffled(*problems.planted(n, stored, r))
    upper = sparse.triu(A, 1).tocoo()
    with tempfile.TemporaryDirectory() as folder:
        for k in range(16):
            part = slice(k, None, 16)
            edges = {"source": upper.row[part], "target": upper.col[part]}
            pd.DataFrame(edges | {"weight": upper.data[part]}).to_parquet(
                Path(folder, f"part{k:02d}.parquet")
            )
        with cluster(2, LIMIT) as client:
            memory = PeakMemory(client)
            with memory:
                rows = od.distributed.from_edges(dd.read_parquet(folder))
                f = od.factorize(rows, r, max_iter=3, **RANDOM)
    expected = od.factorize(sparse.csr_array(A), r, max_iter=3, n_jobs=2, **RANDOM)
    name = f"{A.nnz:,} entries of {n:,} items from 16 parquet files, r = {r}"
    yield f"{name}: peak of a worker", LIMIT, f"{memory.peak / 2**30:.2f} GiB"
    yield f"{name}: identical to n_jobs=2", "yes", "yes" if identical(f, expected) else "no"


class PeakMemory(threading.Thread):
    """The largest resident memory of any worker, sampled ten times a second."""

    def __init__(self, client: Any):
        super().__init__(daemon=True)
        self.pids = list(client.run(os.getpid).values())
        self.peak, self._ended = 0, threading.Event()

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while not self._ended.wait(0.1):
            for pid in self.pids:
                resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
                self.peak = max(self.peak, resident)


def main(data: Path | None) -> None:
    warnings.simplefilter("ignore")
    header = ["case", "goal", "measured"]
    table("Sweeps of worker processes", header, sweeps())
    table("Lost workers", header, kills())
    table("A graph from parquet files", header, parquet())
