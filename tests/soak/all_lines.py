"""Every line, in the order of the table."""

from . import (
    caches,
    concurrency,
    containers,
    files,
    interrupts,
    kills,
    medians,
    problems,
    rank_one,
    resuming,
    scales,
    symmetries,
)

MODULES = [
    problems,
    medians,
    rank_one,
    files,
    containers,
    kills,
    resuming,
    interrupts,
    caches,
    symmetries,
    scales,
    concurrency,
]
LINES = {name: line for module in MODULES for name, line in module.LINES.items()}
