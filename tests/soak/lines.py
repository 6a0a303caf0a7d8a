"""The lines of the table, and how one is run."""

import atexit
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import NamedTuple

# A line that fails so often is given up.
FAILURES = 10
# A folder in memory, where there is one: a disk takes longer than to read most small files.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Line(NamedTuple):
    """A promise: what is tried, how often in full, and how to try case k of a seed."""

    title: str
    rounds: int
    once: Callable[[int, int], str | None]
    # The least share of the rounds with a word, where not every round can have it.
    least: tuple[str, float] | None = None
    # What holds around all cases of a run: to make it for each would take longer than the case.
    within: Callable[[], AbstractContextManager] = nullcontext


class Outcome(NamedTuple):
    """What came of a line."""

    rounds: int
    words: Counter
    failures: list[tuple[int, BaseException]]
    seconds: float

    @classmethod
    def none(cls) -> "Outcome":
        """Return what there is before the first case."""
        return cls(0, Counter(), [], 0.0)

    def ended(self, rounds: int) -> bool:
        """Tell whether there were enough rounds, or more failures than need be looked at."""
        return self.rounds >= rounds or len(self.failures) >= FAILURES

    def broken(self, line: Line) -> bool:
        """Tell whether the promise was broken."""
        if self.failures or not self.rounds:
            return True
        if line.least is None:
            return False
        word, share = line.least
        return self.words[word] < share * self.rounds


def hear() -> None:
    """Let a child that is about to begin hear Ctrl-C, also where this process does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@cache
def folder(name: str) -> Path:
    """Return a folder that lasts as long as the process."""
    made = tempfile.TemporaryDirectory(dir=MEMORY)
    atexit.register(made.cleanup)
    return Path(made.name)


def run(
    line: Line,
    seed: int,
    rounds: int,
    seconds: float = float("inf"),
    before: Outcome | None = None,
) -> Outcome:
    """Try cases 0, 1, ... until there were enough of them, or time is up.

    With what came ``before``, go on from there; what failed then is tried again first.
    """
    with line.within():
        return _run(line, seed, rounds, seconds, before or Outcome.none())


def _run(line: Line, seed: int, rounds: int, seconds: float, before: Outcome) -> Outcome:
    words, failures = Counter(before.words), []
    began = time.monotonic()
    k, again = before.rounds, [case for case, _ in before.failures]
    while len(failures) < FAILURES:
        late = time.monotonic() - began >= seconds
        if not again and (k >= rounds or late):
            break
        case = again.pop(0) if again else k
        k += case == k
        try:
            words[line.once(seed, case) or "held"] += 1
        except Exception as error:
            failures.append((case, error))
    failures += [(case, error) for case, error in before.failures if case in again]
    return Outcome(k, words, failures, before.seconds + time.monotonic() - began)
