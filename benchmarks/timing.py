"""Ratios of times that are measured in turn, and Markdown tables of them."""

import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

Clock = Callable[[], float]
PACKAGES = ("odsymnmf", "numpy", "scipy", "scikit-learn", "numba", "pandas", "dask", "igraph",
            "cdlib")  # fmt: skip


def print_environment() -> None:
    """Print the versions of the packages, the processor and the number of cores."""
    for name in PACKAGES:
        try:
            print(f"{name} {version(name)}", end=", ")
        except PackageNotFoundError:
            print(f"{name} not installed", end=", ")
    print(f"Python {platform.python_version()}; {processor()}, {os.cpu_count()} cores", flush=True)


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(
                line.split(":")[1].strip() for line in file if line.startswith("model name")
            )
    except (OSError, StopIteration):
        return platform.processor()


def seconds(function: Callable[[], Any], clock: Clock = time.perf_counter) -> float:
    start = clock()
    function()
    return clock() - start


def cpu_seconds(function: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result and the CPU seconds of a call."""
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def minima(
    *functions: Callable[[], Any], repeats: int = 15, clock: Clock = time.perf_counter
) -> list[float]:
    """Time the functions in turn, several times, and return the minimum for each.

    In turn, because the speed of a shared machine varies; the minimum, because other programs only
    make a run longer.
    """
    times = [[seconds(function, clock) for function in functions] for _ in range(repeats)]
    return [min(column) for column in zip(*times, strict=True)]


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a Markdown table, each row as soon as it is measured."""
    print(f"\n## {title}\n", flush=True)
    for line in markdown(header, rows):
        print(line, flush=True)


def peak_memory() -> int:
    """Return the peak memory of this process in bytes; `resource` includes that of its parent."""
    match = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(match[1]) if match else 0


def in_new_process(code: str, *arguments: str, **environment: str) -> str:
    """Run code in a new interpreter and return its output."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"a benchmark process failed:\n{done.stderr}")
    return done.stdout.strip()
