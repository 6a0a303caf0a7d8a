"""Every line, in the order of the table."""

from . import concurrency, containers, files, interrupts, medians, problems, rank_one, symmetries

MODULES = [problems, medians, rank_one, files, containers, interrupts, symmetries, concurrency]
LINES = {name: line for module in MODULES for name, line in module.LINES.items()}
