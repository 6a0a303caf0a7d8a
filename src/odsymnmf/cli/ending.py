"""How a command ends that was told to: with 128 and the number of the signal."""

import os
import signal
import sys
from typing import Any

TERMINATED = "ended by SIGTERM; an incomplete run is not kept"
# Seconds after which a signal that was dropped is sent again: the destructor has ended by then.
SOON = 0.01


class Pressed(KeyboardInterrupt):
    """A signal to end that came during a fit, whose last sweep is kept if there is one."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


def listen() -> None:
    """Let SIGTERM end the command as Ctrl-C does, and let neither of the two get lost.

    Their exceptions are raised wherever Python is. In a destructor or a callback of the garbage
    collector it can only drop them, and tells `sys.unraisablehook`: they are then sent once more.
    """
    signal.signal(signal.SIGTERM, _end)
    if not hasattr(signal, "setitimer"):
        return
    lost: list[int] = []

    def note(dropped: Any) -> None:
        number = _number(dropped.exc_value)
        if number is None:
            sys.__unraisablehook__(dropped)
            return
        lost.append(number)
        signal.setitimer(signal.ITIMER_REAL, SOON)

    def again(number: int, frame: object) -> None:
        if lost:
            signal.raise_signal(lost.pop())

    signal.signal(signal.SIGALRM, again)
    sys.unraisablehook = note


def _end(number: int, frame: object) -> None:
    # Past Python's own stream, which may be in the middle of a line.
    os.write(2, b"\n" + TERMINATED.encode() + b"\n")
    sys.exit(128 + number)


def _number(error: BaseException | None) -> int | None:
    """Return the signal that was answered with the error, None if it was none."""
    if isinstance(error, SystemExit):
        return signal.SIGTERM if error.code == 128 + signal.SIGTERM else None
    if isinstance(error, Pressed):
        return error.number
    return signal.SIGINT if isinstance(error, KeyboardInterrupt) else None


def words_and_code(error: KeyboardInterrupt) -> tuple[str, int]:
    """Return what to say, and the exit code, where nothing was kept."""
    number = error.number if isinstance(error, Pressed) else signal.SIGINT
    said = TERMINATED if number == signal.SIGTERM else "interrupted; nothing was written"
    return said, 128 + number
