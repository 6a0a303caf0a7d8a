"""One BLAS thread for small products.

Two threads finish a small product hardly sooner than one, and on a busy machine they wait for each
other: a sweep over 2,000 dense items was seen to take 50 times as long.
"""

import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController

# Multiply-adds of a product that is worth more than one thread.
LARGE = 2**22


@cache
def _controller() -> ThreadpoolController:
    # Made when first needed: it finds the libraries that are loaded by then.
    return ThreadpoolController()


def threads_for(work: int) -> AbstractContextManager[object]:
    """Keep BLAS to one thread while products of ``work`` multiply-adds run, if that is small."""
    return nullcontext() if work >= LARGE else one_thread()


def one_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread.

    The number belongs to the process and is set by its main thread only: side by side, two
    threads could not both set it back to what it was.
    """
    if threading.current_thread() is not threading.main_thread():
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")
