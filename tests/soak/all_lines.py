"""Every line, in the order of the table."""

from . import (
    concurrency,
    containers,
    files,
    interrupts,
    kills,
    medians,
    problems,
    rank_one,
    symmetries,
)

MODULES = [
    problems,
    medians,
    rank_one,
    files,
    containers,
    kills,
    interrupts,
    symmetries,
    concurrency,
]
LINES = {name: line for module in MODULES for name, line in module.LINES.items()}
