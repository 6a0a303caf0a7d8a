"""From input to a fitted model, for the command cluster."""

import hashlib
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from odsymnmf.cli.ending import Pressed

if TYPE_CHECKING:
    from odsymnmf import ODSymNMF
    from odsymnmf.io import Items


def read_items(
    path: str, *, format: str | None, features: bool, symmetrize: str | None
) -> tuple["Items", str]:
    """Return what to cluster, and the SHA-256 of what was read."""
    from odsymnmf import io

    items = io.read(path, format=format, features=features, symmetrize=symmetrize)
    if len(items.names) < 2:
        raise io.InputError(f"{path}: one item only; give at least two, to compare")
    return items, _fingerprint(path)


class PairWeights(NamedTuple):
    """Weights of pairs, the file they come from, and its SHA-256."""

    path: str
    fingerprint: str
    matrix: Any


def read_weights(path: str, names: list[str]) -> PairWeights:
    """Return the weights in a file of pairs of the items with these names."""
    from odsymnmf import io

    matrix = io.read_weights(path, names)  # first: it says best why a file cannot be read
    return PairWeights(path, _fingerprint(path), matrix)


def _fingerprint(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fit(
    X: Any, parameters: dict[str, Any], weights: Any = None, *, verbose: int
) -> tuple["ODSymNMF", int]:
    """Return a fitted model, and the signal that ended the fit early (0: none did).

    Raises
    ------
    KeyboardInterrupt
        If there was no complete sweep yet.
    """
    from sklearn.exceptions import ConvergenceWarning

    from odsymnmf import ODSymNMF
    from odsymnmf.fitting import InterruptedWarning

    model, done = ODSymNMF(**parameters, verbose=verbose), False
    with warnings.catch_warnings(), _noticing_interrupts() as pressed:
        # The summary says it, with the names of the options.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", InterruptedWarning)
        try:
            model.fit(X, weights=weights)
            done = model.n_iter_ > 0 or not pressed
        except KeyboardInterrupt:
            pass
        except MemoryError as error:
            reason = str(error) or "the fit does not fit into it"
            raise MemoryError(f"{reason}; choose a smaller -r, or cluster fewer items") from error
    if not done:
        if pressed:  # with nothing to save, let it do what it does outside of a fit
            signal.raise_signal(pressed[0])
        raise KeyboardInterrupt
    return model, pressed[0] if pressed else 0


@contextmanager
def finishing(pressed: bool, tell: Callable[[str], None]) -> Iterator[list[bool]]:
    """Let a first Ctrl-C pass, so that a finished fit is saved; yield a list that notes it.

    If Ctrl-C was pressed before, or at the second one, KeyboardInterrupt is raised.
    """
    presses = [True] * pressed

    def notice(signum: int, frame: Any) -> None:
        presses.append(True)
        if len(presses) > 1:
            raise KeyboardInterrupt
        tell("interrupted; the fit was done and is being saved (Ctrl-C again: do not save)")

    before = signal.signal(signal.SIGINT, notice)
    try:
        yield presses
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _noticing_interrupts() -> Iterator[list[int]]:
    """Yield a list that gets the number of every signal to end: the last sweep is then saved."""
    pressed: list[int] = []

    def notice(signum: int, frame: Any) -> None:
        pressed.append(signum)
        raise Pressed(signum)

    before = {number: signal.signal(number, notice) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield pressed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
