"""Damaged files in the cache of compiled kernels: the right answers, and a word about it."""

import os
import subprocess
import sys

import numpy as np

from .lines import Line, folder

SCRIPT = """
import warnings
import numpy as np
from odsymnmf import kernels

with warnings.catch_warnings(record=True) as heard:
    warnings.simplefilter("always")
    found = kernels.weighted_median.select(np.arange(3.0), np.ones(3), 3, 2.0)
    assert found == 1.0, found
    found = kernels.checks.worst_asymmetry(*[np.zeros(2, dtype=int)] * 4, 0, 1)[0]
    assert found == 0.0, found
print(*{str(w.message) for w in heard}, sep="\\n")
"""


def said(cache):
    """Return what kernels in a new process warn of."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-300:]
    return done.stdout.strip().splitlines()


def once(seed, k):
    """Cut a file short, or replace it by anything; code that was changed cannot be told."""
    rng = np.random.default_rng([seed, k])
    cache = folder("damaged cache")
    if not any(cache.iterdir()):
        said(cache)
    files = sorted(path for path in cache.rglob("*.nb?"))
    for file in rng.choice(files, int(rng.integers(1, len(files) + 1)), replace=False):
        data = file.read_bytes()
        anything = rng.bytes(int(rng.integers(1, 300)))
        file.write_bytes(data[: rng.integers(len(data))] if rng.random() < 0.5 else anything)
    words = said(cache)
    assert len(words) == 1, words
    assert "NUMBA_CACHE_DIR" in words[0]
    assert said(cache) == []


LINES = {"caches": Line("damaged files in the cache of compiled kernels", 100, once)}
