"""Benchmarks: ratios measured in one run, never bare seconds. ``python -m benchmarks --help``."""
