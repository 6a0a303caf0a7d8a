"""Checkpoints: runs saved at intervals, and resumed with bit-identical results.

A checkpoint is written after a step. It contains H and the sums that sweeps keep up to date, so
that a resumed run makes the same steps.
"""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.persistence import flattened, read_arrays, write_arrays
from odsymnmf.similarity import Similarity
from odsymnmf.utils import RandomState, user_stacklevel

KIND = "checkpoint"
# Messages for the parts of the identity that are hashes.
REASONS = {"data": "the similarities or weights differ", "init_hash": "the given init differs"}


class Checkpoint:
    """A file to which a run is saved, at least ``every`` seconds apart.

    ``identity`` contains everything that determines the run: version, data and parameters.
    ``saved`` are the header and the arrays that the file contains, None if there is no file;
    ValueError if it is of another run.
    """

    def __init__(self, path: str | Path, every: float, identity: dict[str, Any]):
        self.path, self.every, self.identity = Path(path), every, identity
        self._written: float | None = None
        self.saved = self._read() if self.path.exists() else None

    def _read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        header, arrays = read_arrays(self.path, KIND)
        saved = header["identity"]
        for name, value in self.identity.items():
            if saved.get(name) != value:
                reason = REASONS.get(name, f"its {name} was {saved.get(name)!r}, not {value!r}")
                raise ValueError(
                    f"{self.path} is the checkpoint of another fit: {reason}. Remove it to start "
                    "a new fit, or pass another path."
                )
        return header, arrays

    def save(self, run: Any) -> None:
        """Save the run if ``every`` seconds have passed; raise OSError only the first time."""
        if self._written is None or time.monotonic() - self._written >= self.every:
            self.write(run, required=self._written is None)
            self._written = time.monotonic()

    def write(self, run: Any, *, required: bool = False) -> None:
        """Save the run; warn if that fails, unless it is required."""
        header, arrays = run.to_arrays()
        try:
            write_arrays(self.path, KIND, {"identity": self.identity, **header}, arrays)
        except OSError as error:
            if required:
                raise
            # A full disk must not end the fit.
            message = f"the checkpoint is out of date: {error}"
            warnings.warn(message, RuntimeWarning, stacklevel=user_stacklevel())


def hash_of_similarity(A: Similarity) -> str:
    """Return a hash of the similarities and weights."""
    return _hash((type(A).__name__, flattened(A.to_arrays())))


def hash_of_init(init: Any) -> str | None:
    """Return a hash of memberships, labels or sets given as init; None for a name."""
    if isinstance(init, str):
        return None
    return _hash(flattened({"H": init}) if sparse.issparse(init) else init)


def seed_of(random_state: RandomState) -> int | str | None:
    """Return an int or None as it is, and a hash of a generator."""
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return _hash(random_state)
    return None if random_state is None else int(random_state)


def _hash(value: Any) -> str:
    from joblib import hash  # takes a while to import

    return str(hash(value))
