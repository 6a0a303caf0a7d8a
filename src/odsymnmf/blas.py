"""One BLAS thread, always; large products in pieces that threads of our own share.

BLAS cuts a product into as many parts as it has threads and adds them up accordingly, so the last
digits would depend on their number. Here the pieces depend on the problem alone. And two threads
finish a small product hardly sooner than one; on a busy machine they wait for each other: a sweep
over 2,000 dense items was seen to take 50 times as long.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from odsymnmf.arrays import blocks

# Multiply-adds of a product that is worth more than one thread.
LARGE = 2**22

T = TypeVar("T")
_here = threading.local()


@cache
def _controller() -> ThreadpoolController:
    # Made when first needed: it finds the libraries that are loaded by then.
    return ThreadpoolController()


@contextmanager
def threads_for(work: int, team: Callable[[int], AbstractContextManager[Any]]) -> Iterator[None]:
    """Keep BLAS to one thread while products of ``work`` multiply-adds run.

    If that is much, `share` cuts products into pieces, which a ``team`` of as many threads as BLAS
    had works on; fits outside the main thread, which run side by side, do theirs alone.
    """
    large, before = work >= LARGE, getattr(_here, "all", None)
    with team(_threads() if large and _is_main() else 1) as members, one_thread():
        _here.all = members.all if large else None
        try:
            yield
        finally:
            _here.all = before


def together(tasks: list[Callable[[], T]]) -> list[T]:
    """Return what the tasks do, worked on side by side if products are large.

    Tasks call this no more: in other threads they would find nobody to share with.
    """
    everybody = getattr(_here, "all", None)
    return [task() for task in tasks] if everybody is None else everybody(tasks)


def share(count: int, size: int, work: Callable[[slice], T]) -> list[T]:
    """Return what ``work`` makes of range(count): in pieces of ``size`` if products are large."""
    if getattr(_here, "all", None) is None:
        return [work(slice(0, count))]
    return together([partial(work, piece) for piece in blocks(count, size)])


def one_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread.

    The number belongs to the process and is set by its main thread only: side by side, two
    threads could not both set it back to what it was.
    """
    return _controller().limit(limits=1, user_api="blas") if _is_main() else nullcontext()


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _threads() -> int:
    """Return how many threads BLAS would use."""
    pools = _controller().select(user_api="blas").info()
    return max((int(pool["num_threads"]) for pool in pools), default=1)
