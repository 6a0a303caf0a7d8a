"""Fits that are stopped after any step, with every loss and kind of input, and go on to the end."""

import tempfile
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import numpy as np

from odsymnmf.engine import checkpoint

from .lines import MEMORY, Line
from .problems import KINDS, LOSSES, STARTS, WEIGHTS, problem, quiet, weights


class StoppedError(BaseException):
    """As if the process were no more: no handler of the library sees it as its own."""


def stopped_after(steps):
    """Let the process end after so many checkpoints."""
    original, left = checkpoint.Checkpoint.write, [steps]

    def write(self, run):
        original(self, run)
        left[0] -= 1
        if left[0] == 0:
            raise StoppedError

    return patch.object(checkpoint.Checkpoint, "write", write)


def once(seed, k):
    """Stop after a random number of steps, again and again: the bits of a fit never stopped."""
    rng = np.random.default_rng([seed, k])
    name, kind = (str(rng.choice(list(names))) for names in (LOSSES, KINDS))
    loss, diagonal = LOSSES[name]
    A, whole, _ = problem(rng, kind)
    options = {
        "loss": loss,
        "diagonal": diagonal,
        "weights": weights(rng, len(whole), str(rng.choice(WEIGHTS))),
        "init": str(rng.choice(STARTS)),
        "max_iter": int(rng.integers(0, 30)),
        "tol": float(rng.choice([0, 1e-4])),
        "restarts": int(rng.choice([0, 3])) if diagonal == "ignore" else None,
        "random_state": int(rng.integers(2**31)),
    }
    r = int(rng.integers(1, 6))
    never = quiet(A, r, **options)
    with tempfile.TemporaryDirectory(dir=MEMORY) as home:
        options |= {"checkpoint": Path(home, "c"), "checkpoint_every": 0}
        resumed = None
        while resumed is None:
            # More than two: one may be of what it resumes from.
            with suppress(StoppedError), stopped_after(int(rng.integers(3, 12))):
                resumed = quiet(A, r, **options)
    for name in ("H", "history", "restarts"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(never, name))
    assert (resumed.status, resumed.n_iter) == (never.status, never.n_iter)


LINES = {
    "resuming": Line("fits stopped after any step, every loss and input: same bits", 1_000, once)
}
