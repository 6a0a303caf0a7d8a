"""Names of tests/problems.py for the tests in this directory."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems import (
    INPUTS,
    as_input,
    documents,
    naive_objective,
    quiet,
    swept,
)
from test_init import greedy_of, paper_greedy

KINDS, as_kind, greedy = INPUTS, as_input, greedy_of
__all__ = ["KINDS", "as_kind", "documents", "greedy", "naive_objective", "paper_greedy", "quiet",
           "swept"]  # fmt: skip
