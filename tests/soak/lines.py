"""The lines of the table, and how one is run."""

import atexit
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Line(NamedTuple):
    """A promise: what is tried, how often in full, and how to try case k of a seed."""

    title: str
    rounds: int
    once: Callable[[int, int], str | None]
    # The least share of the rounds with a word, where not every round can have it.
    least: tuple[str, float] | None = None


class Outcome(NamedTuple):
    """What came of a line."""

    rounds: int
    words: Counter
    failures: list[tuple[int, BaseException]]
    seconds: float

    def broken(self, line: Line) -> bool:
        """Tell whether the promise was broken."""
        if self.failures or not self.rounds:
            return True
        if line.least is None:
            return False
        word, share = line.least
        return self.words[word] < share * self.rounds


@cache
def folder(name: str) -> Path:
    """Return a folder that lasts as long as the process."""
    made = tempfile.TemporaryDirectory()
    atexit.register(made.cleanup)
    return Path(made.name)


def run(line: Line, seed: int, rounds: int, seconds: float = float("inf")) -> Outcome:
    """Try cases 0, 1, ... until there were enough of them, or time is up."""
    words: Counter = Counter()
    failures: list[tuple[int, BaseException]] = []
    began = time.monotonic()
    k = 0
    while k < rounds and time.monotonic() - began < seconds and len(failures) < 10:
        try:
            words[line.once(seed, k) or "held"] += 1
        except Exception as error:
            failures.append((k, error))
        k += 1
    return Outcome(k, words, failures, time.monotonic() - began)
