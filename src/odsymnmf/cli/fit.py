"""From input to a fitted model, for the command cluster."""

import hashlib
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from odsymnmf.cli.text import plain

if TYPE_CHECKING:
    from odsymnmf import ODSymNMF
    from odsymnmf.io import Items


def read_items(
    paths: Sequence[str], *, text: bool, format: str | None, features: bool, symmetrize: str | None
) -> tuple["Items", str]:
    """Return what to cluster, and the SHA-256 of what was read."""
    from odsymnmf import io

    if text:
        return _read_texts(paths)
    items = io.read(paths[0], format=format, features=features, symmetrize=symmetrize)
    if len(items.names) < 2:
        raise io.InputError(f"{paths[0]}: one item only; give at least two, to compare")
    with open(paths[0], "rb") as file:
        return items, hashlib.file_digest(file, "sha256").hexdigest()


def _read_texts(paths: Sequence[str]) -> tuple["Items", str]:
    from odsymnmf import io

    names, texts = io.read_texts(paths)
    if len(names) < 2:
        raise io.InputError(f"{names[0]}: one text only; give at least two, to compare")
    names = readable(names)
    words = vectorizer()
    try:
        X = words.fit_transform(texts)
    except ValueError as error:
        raise io.InputError(
            f"the {len(texts)} texts hold no words of two or more letters"
        ) from error
    fingerprint = hashlib.sha256()
    for part in (*names, *texts):
        piece = part.encode()
        fingerprint.update(len(piece).to_bytes(8, "big") + piece)
    terms = list(words.get_feature_names_out())
    notes = _without_words([names[i] for i in (X.getnnz(axis=1) == 0).nonzero()[0]])
    return io.Items(X, names, "text", notes, features=terms), fingerprint.hexdigest()


def readable(names: Sequence[str]) -> list[str]:
    """Return the names of files, which may be any bytes, as a table of UTF-8 can hold them."""
    return [os.fsencode(name).decode("utf-8", "replace") for name in names]


def vectorizer(terms: Sequence[str] | None = None, idf: Any = None) -> Any:
    """Return what turns texts into tf-idf; with its words and their frequencies, if known."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(vocabulary=terms)
    if terms is not None:
        words.idf_ = idf
    return words


def features_of(items: "Items") -> Any:
    """Return what a model file says of the features: their names, of words the frequencies, too."""
    import numpy as np

    from odsymnmf.estimators.saving import Features

    if items.features is None:
        return None
    if items.format != "text":
        return Features(list(items.features))
    # As TfidfVectorizer has them: every word that it kept is in a text.
    n, occurrences = items.matrix.shape[0], items.matrix.getnnz(axis=0)
    return Features(list(items.features), np.log((n + 1.0) / (occurrences + 1.0)) + 1.0)


def _without_words(names: list[str]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(repr(plain(name)) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    hold = "1 text holds" if len(names) == 1 else f"{len(names)} texts hold"
    where = "will be in no cluster"
    return [f"{hold} no words of two or more letters, and {where}: {shown}{more}"]


def fit(X: Any, parameters: dict[str, Any], verbose: int) -> tuple["ODSymNMF", int]:
    """Return a fitted model, and the signal that ended the fit early (0: none did).

    Raises
    ------
    KeyboardInterrupt
        If there was no complete sweep yet.
    """
    from sklearn.exceptions import ConvergenceWarning

    from odsymnmf import ODSymNMF
    from odsymnmf.factorization import InterruptedWarning

    model = ODSymNMF(**parameters, verbose=verbose)
    with warnings.catch_warnings(), _noticing_interrupts() as pressed:
        # The summary says it, with the names of the options.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", InterruptedWarning)
        try:
            model.fit(X)
        except MemoryError as error:
            reason = str(error) or "the fit does not fit into it"
            raise MemoryError(f"{reason}; choose a smaller -r, or cluster fewer items") from error
    if pressed and model.n_iter_ == 0:
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
        raise KeyboardInterrupt

    before = {number: signal.signal(number, notice) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield pressed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
