"""Hold Ctrl-C and SIGTERM off for the moments that must not be cut in two."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

HELD = (signal.SIGINT, signal.SIGTERM)
_here = threading.local()


@contextmanager
def held() -> Iterator[None]:
    """Let SIGINT and SIGTERM wait until the block has ended, then deliver them all.

    Python's handlers belong to the main thread, so elsewhere there is nothing to hold. A signal
    that ends the process without calling Python (SIGTERM, unless a handler was set) still does:
    nothing of ours could see it half done.

    Examples
    --------
    >>> import signal
    >>> from odsymnmf.signals import held
    >>> try:
    ...     with held():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("done")
    ... except KeyboardInterrupt:
    ...     print("and interrupted")
    done
    and interrupted
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with ExitStack() as deliveries, ExitStack() as restored:
        for number in HELD:
            handler = signal.getsignal(number)
            if callable(handler):
                restored.callback(signal.signal, number, handler)
                signal.signal(number, _postponed(handler, deliveries))
        yield


@contextmanager
def stoppable(stop: threading.Event) -> Iterator[None]:
    """Let `check` raise KeyboardInterrupt in this thread, once, as soon as the event is set.

    Python gives Ctrl-C to the main thread only; the others look for themselves.

    Examples
    --------
    >>> import threading
    >>> from odsymnmf.signals import check, stoppable
    >>> stop = threading.Event()
    >>> with stoppable(stop):
    ...     check()
    ...     stop.set()
    ...     try:
    ...         check()
    ...     except KeyboardInterrupt:
    ...         print("stopped")
    stopped
    """
    _here.stop = stop
    try:
        yield
    finally:
        _here.stop = None


def check() -> None:
    """Raise KeyboardInterrupt if this thread was told to stop; else cost next to nothing.

    Called between any two blocks of rows. Only once, so that what there is can be finished.
    """
    stop = getattr(_here, "stop", None)
    if stop is not None and stop.is_set():
        _here.stop = None
        raise KeyboardInterrupt


def _postponed(handler: Callable[..., Any], deliveries: ExitStack) -> Callable[..., None]:
    def note(number: int, frame: FrameType | None) -> None:
        # An exit stack calls them all, even where one raises.
        deliveries.callback(handler, number, frame)

    return note
