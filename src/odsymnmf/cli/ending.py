"""How a command ends that was told to: with 128 and the number of the signal."""

import signal

TERMINATED = "ended by SIGTERM; an incomplete run is not kept"


class Pressed(KeyboardInterrupt):
    """A signal to end that came during a fit, whose last sweep is kept if there is one."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


def words_and_code(error: KeyboardInterrupt) -> tuple[str, int]:
    """Return what to say, and the exit code, where nothing was kept."""
    number = error.number if isinstance(error, Pressed) else signal.SIGINT
    said = TERMINATED if number == signal.SIGTERM else "interrupted; nothing was written"
    return said, 128 + number
