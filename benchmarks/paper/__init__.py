"""Reproduce the tables and figures of the paper: ``python -m benchmarks.paper all --out DIR``."""
