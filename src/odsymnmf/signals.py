"""Hold Ctrl-C and SIGTERM off for the moments that must not be cut in two."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

HELD = (signal.SIGINT, signal.SIGTERM)


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


def _postponed(handler: Callable[..., Any], deliveries: ExitStack) -> Callable[..., None]:
    def note(number: int, frame: FrameType | None) -> None:
        # An exit stack calls them all, even where one raises.
        deliveries.callback(handler, number, frame)

    return note
