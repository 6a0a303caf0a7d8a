"""Ctrl-C at random moments while kernels are imported, loaded from the cache and compiled."""

import os
import subprocess
import sys
import tempfile

import numpy as np

from .lines import Line, folder, hear

# Kernels are called a thousand times more: the answers are right, and the signal arrives once.
SCRIPT = """
import os, signal, sys, threading, time
import numpy as np
from odsymnmf import kernels

def press():
    time.sleep(float(sys.argv[1]))
    os.kill(os.getpid(), signal.SIGINT)
    sent.set()

sent = threading.Event()
threading.Thread(target=press).start()
came = calls = 0
while calls < 1000:
    try:
        found = kernels.weighted_median.select(np.arange(3.0), np.ones(3), 3, 2.0)
        assert found == 1.0, found
        found = kernels.checks.worst_asymmetry(*[np.zeros(2, dtype=int)] * 4, 0, 1)[0]
        assert found == 0.0, found
        calls += sent.is_set()
    except KeyboardInterrupt:
        came += 1
assert came == 1, f"it arrived {came} times"
"""


def once(seed, k):
    """Every other time with an empty cache."""
    rng = np.random.default_rng([seed, k])
    moment = rng.uniform(0, 1.0 if k % 2 else 0.6)
    with tempfile.TemporaryDirectory() as cold:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(moment)],
            env={**os.environ, "NUMBA_CACHE_DIR": cold if k % 2 else str(folder("cache"))},
            preexec_fn=hear,
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-300:]


LINES = {"interrupts-kernels": Line("Ctrl-C while kernels load and compile", 500, once)}
