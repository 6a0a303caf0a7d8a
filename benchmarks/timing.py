"""Ratios of times that are measured side by side, and tables of them."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Clock = Callable[[], float]


def seconds(function: Callable[[], Any], clock: Clock = time.perf_counter) -> float:
    started = clock()
    function()
    return clock() - started


def minima(
    *functions: Callable[[], Any], repeats: int = 15, clock: Clock = time.perf_counter
) -> list[float]:
    """Time the functions in turn, several times over, and keep the least time of each.

    Interleaved, because the speed of a shared machine wanders; the least, because everything
    that disturbs a run makes it longer.
    """
    times = [[seconds(function, clock) for function in functions] for _ in range(repeats)]
    return [min(column) for column in zip(*times, strict=True)]


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a Markdown table, row by row as the rows come in."""
    print(f"\n## {title}\n", flush=True)
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header), flush=True)
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def in_new_process(code: str, *arguments: str, **environment: str) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    import os

    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"a measuring process failed:\n{done.stderr}")
    return done.stdout.strip()
