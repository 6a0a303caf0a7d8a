"""What came of the lines so far, in a file: so that hours can be spent in pieces."""

import fcntl
import json
from collections import Counter
from pathlib import Path

from odsymnmf import atomic

from .lines import Outcome


def read(path: Path, seed: int) -> dict[str, Outcome]:
    """Return what the file says of a seed; nothing, if there is none yet."""
    if not path.exists():
        return {}
    found = json.loads(path.read_text())
    if found["seed"] != seed:
        raise SystemExit(f"{path} is of seed {found['seed']}, not of {seed}.")
    return {name: _outcome(**kept) for name, kept in found["lines"].items()}


def _outcome(rounds, words, failures, seconds) -> Outcome:
    failed = [(int(k), AssertionError(reason)) for k, reason in failures]
    return Outcome(rounds, Counter(words), failed, seconds)


def update(path: Path, seed: int, outcomes: dict[str, Outcome]) -> None:
    """Write down what came of some lines, beside what others have written; whole or not at all."""
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _write(path, seed, read(path, seed) | outcomes)


def _write(path: Path, seed: int, outcomes: dict[str, Outcome]) -> None:
    lines = {
        name: {**o._asdict(), "failures": [(k, str(error)) for k, error in o.failures]}
        for name, o in outcomes.items()
    }
    text = json.dumps({"seed": seed, "lines": lines}, indent=1)
    with atomic.replaced(path) as file:
        file.write(text.encode())
