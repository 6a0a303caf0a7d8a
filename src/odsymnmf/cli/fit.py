"""From input to a fitted model, for the command cluster."""

import hashlib
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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
    with open(path, "rb") as file:
        return items, hashlib.file_digest(file, "sha256").hexdigest()


def fit(X: Any, parameters: dict[str, Any], verbose: int) -> tuple["ODSymNMF", bool]:
    """Return a fitted model, and whether Ctrl-C ended the fit early.

    Raises
    ------
    KeyboardInterrupt
        If there was no complete sweep yet.
    """
    from sklearn.exceptions import ConvergenceWarning

    from odsymnmf import ODSymNMF

    model = ODSymNMF(**parameters, verbose=verbose)
    with warnings.catch_warnings(), _noticing_interrupts() as pressed:
        # The summary says it, with the names of the options.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X)
        except MemoryError as error:
            reason = str(error) or "the fit does not fit into it"
            raise MemoryError(f"{reason}; choose a smaller -r, or cluster fewer items") from error
    if pressed and model.n_iter_ == 0:
        raise KeyboardInterrupt
    return model, bool(pressed)


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
def _noticing_interrupts() -> Iterator[list[bool]]:
    """Yield a list that gets an entry at Ctrl-C: the engine ends early, and does not say why."""
    pressed: list[bool] = []

    def notice(signum: int, frame: Any) -> None:
        pressed.append(True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, notice)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
