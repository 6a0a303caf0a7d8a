"""A run written down now and then, and taken up again as if it had never been stopped.

A checkpoint is written after a step, when H and the sums that sweeps keep up to date are whole, and
holds both: so the run that goes on from it makes the same steps, to the bit.
"""

import hashlib
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from odsymnmf import storage
from odsymnmf.arrays import Array
from odsymnmf.engine.run import Run, State
from odsymnmf.random_state import RandomState

KIND = "checkpoint"
# What of a State is one number or a short list.
PLAIN = {
    "n_iter": int,
    "fresh": int,
    "first_violation": float,
    "round": int,
    "accepted": int,
    "spent": int,
    "converged": bool,
    "stalled": bool,
}
WORDS = {"data": "the similarities or weights", "start": "what was given as init"}


class Checkpoint:
    """Where a run is written to, how often, and what run it is.

    Parameters
    ----------
    path : path
    every : float
        Least seconds between two writes.
    identity : dict
        All that decides how the run goes: the version, the data, the parameters.
    """

    def __init__(self, path: str | Path, every: float, identity: dict[str, Any]):
        self.path, self.every, self.identity = Path(path), every, identity
        self._written: float | None = None

    def read(self, shape: tuple[int, int], dtype: Any) -> Any:
        """Return the state and sums of the run that was written, None if none was.

        Raises
        ------
        StorageError
            If the file is damaged, or of another run; with the reason.
        """
        try:
            header, arrays = storage.read(self.path, KIND)
        except FileNotFoundError:
            return None
        try:
            self._refuse_others(header["identity"])
            return self._unpack(header, arrays, shape, dtype)
        except storage.StorageError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise self._damaged() from error

    def resume(self, run: Run, state: Any, sums: Any) -> None:
        """Let a run go on from what was read."""
        try:
            run.resume(state, sums)
        except (LookupError, ValueError) as error:
            raise self._damaged() from error

    def _damaged(self) -> storage.StorageError:
        return storage.StorageError(
            f"{self.path} is damaged: its parts do not fit together; remove it to start again."
        )

    def _refuse_others(self, found: dict[str, Any]) -> None:
        differ = [name for name in self.identity if found.get(name) != self.identity[name]]
        if not differ and set(found) == set(self.identity):
            return
        name = differ[0] if differ else "version"
        reason = (
            f"{WORDS[name]} differ"
            if name in WORDS
            else f"its {name} was {found.get(name)!r}, not {self.identity[name]!r}"
        )
        raise storage.StorageError(
            f"{self.path} is the checkpoint of another fit: {reason}. Remove it to start again, or "
            "give another path."
        )

    def keep(self, run: Run) -> None:
        """Write the run down, if it is time; whether that can be done shows at the first call."""
        now = time.monotonic()
        if self._written is not None and now - self._written < self.every:
            return
        try:
            self.write(run)
        except OSError as error:
            if self._written is None:
                raise
            # A full disk must not cost the fit.
            warnings.warn(f"the checkpoint is out of date: {error}", RuntimeWarning, stacklevel=2)
        self._written = time.monotonic()

    def write(self, run: Run) -> None:
        """Write the run down; a crash leaves the file that was there before, or the new one."""
        header, arrays = self._pack(run)
        storage.write(self.path, KIND, {"identity": self.identity, **header}, arrays)

    def _pack(self, run: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what is plain of a run, and its arrays."""
        state, sums = run.state, run.sums()
        header = {
            "plain": {name: getattr(state, name) for name in PLAIN},
            "objective": state.objective,
            "queue": state.queue,
            "audits": state.audits,
            "sums": None if sums is None else sorted(sums),
        }
        arrays = {
            "H": state.H,
            "below": state.below,
            "decreases": np.array(state.decreases, dtype=np.float64),
            "restarts": np.array(state.restarts, dtype=np.int64),
            **{f"sums_{name}": array for name, array in (sums or {}).items()},
        }
        return header, arrays

    def _unpack(
        self, header: dict[str, Any], arrays: dict[str, Any], shape: tuple[int, int], dtype: Any
    ) -> Any:
        """Return what `resume` takes; ValueError or the like if that makes no sense."""
        return _state(header, arrays, shape, dtype)

    def end(self, run: Run) -> None:
        """Write down where the run ended, so that the same fit returns at once."""
        try:
            self.write(run)
        except OSError as error:
            warnings.warn(f"the checkpoint is out of date: {error}", RuntimeWarning, stacklevel=2)


def complete(run: Run, kept: Checkpoint | None, saved: Any) -> Any:
    """Go on from what was saved, if anything was, to the end, and write it down; return H."""
    if kept and saved:
        kept.resume(run, *saved)
    H = run.complete()
    if kept and run.status != "interrupted":
        kept.end(run)
    return H


def _state(
    header: dict[str, Any], arrays: dict[str, Any], shape: tuple[int, int], dtype: Any
) -> tuple[State, Any]:
    """Return state and sums; ValueError or the like if they are no such thing."""
    H = arrays["H"]
    below, decreases, restarts = (arrays[name] for name in ("below", "decreases", "restarts"))
    plain = {name: wanted(header["plain"][name]) for name, wanted in PLAIN.items()}
    queue, objective = header["queue"], header["objective"]
    if queue is not None:
        queue = [int(j) for j in queue]
    if (
        H.shape != shape
        or H.dtype != dtype
        or not (np.isfinite(H) & (H >= 0)).all()
        or below.shape != shape[1:]
        or decreases.ndim != 1
        or restarts.ndim != 1
        or any(not 0 <= j < shape[1] for j in queue or [])
    ):
        raise ValueError
    state = State(
        H,
        H.copy(),
        decreases.tolist(),
        restarts.tolist(),
        below=below.astype(np.float64),
        queue=queue,
        objective=None if objective is None else float(objective),
        audits=[(int(stop), float(value)) for stop, value in header["audits"]],
        **plain,
    )
    names = header["sums"]
    return state, None if names is None else {name: arrays[f"sums_{name}"] for name in names}


def seed_of(random_state: RandomState) -> int | str | None:
    """Return what tells one ``random_state`` from another."""
    if isinstance(random_state, np.random.Generator):
        return _digest(random_state.bit_generator.state)
    if isinstance(random_state, np.random.RandomState):
        return _digest(random_state.get_state(legacy=False))
    return None if random_state is None else int(random_state)


def _digest(state: Any) -> str:
    with np.printoptions(threshold=10**6):
        return hashlib.sha256(repr(state).encode()).hexdigest()


def array_of(init: Any) -> str | None:
    """Return what tells one array that is given as start from another."""
    if isinstance(init, str):
        return None
    given: Array = np.ascontiguousarray(init, dtype=np.float64)
    return hashlib.sha256(repr(given.shape).encode() + given.tobytes()).hexdigest()
