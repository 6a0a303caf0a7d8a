"""Every line, in the order of the table."""

from . import concurrency, containers, files, medians, problems, rank_one, symmetries

LINES = {
    name: line
    for module in (problems, medians, rank_one, files, containers, symmetries, concurrency)
    for name, line in module.LINES.items()
}
