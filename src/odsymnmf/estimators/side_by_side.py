"""Starts in threads of their own, which all end when Ctrl-C is pressed."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait

from odsymnmf.signals import stoppable

# Seconds after which a waiting thread looks for signals, where nothing wakes it up (Windows).
PATIENCE = 0.5


def run_all(run: Callable[[int], None], count: int, jobs: int) -> None:
    """Call run(0), ..., run(count - 1), ``jobs`` at a time, and wait for them.

    Ctrl-C, or an error in one of them, stops the others within a block of rows, and is raised when
    none computes any more. A second Ctrl-C does not wait for them.
    """
    if jobs == 1:
        for k in range(count):
            run(k)
        return
    stop = threading.Event()

    def one(k: int) -> None:
        if not stop.is_set():
            with stoppable(stop):
                run(k)

    pool = ThreadPoolExecutor(jobs, "odsymnmf-start")
    futures: list[Future[None]] = []
    try:
        futures += [pool.submit(one, k) for k in range(count)]
        _wait(futures, FIRST_EXCEPTION)
        stop.set()  # nothing is left to do, or one has failed
        _wait(futures, ALL_COMPLETED)
    except KeyboardInterrupt:
        stop.set()
        _wait(futures, ALL_COMPLETED)
        raise
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
    failed = [error for error in (future.exception() for future in futures) if error is not None]
    if failed:
        # Those that were told to stop say so; the reason is what counts.
        raise next((e for e in failed if not isinstance(e, KeyboardInterrupt)), failed[0])


def _wait(futures: Sequence[Future[None]], until: str) -> None:
    """Wait until all are done, or (FIRST_EXCEPTION) one has failed."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=PATIENCE, return_when=until)
        if until == FIRST_EXCEPTION and any(future.exception() for future in done):
            return
