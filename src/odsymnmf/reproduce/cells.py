"""Cells, what tables are made of: each is computed once, stored, and found again.

A cell is a call of a module-level function with settings that JSON can hold, and a result that
JSON can hold. It is stored under a name made of the function, the settings and the code that can
change the result, as soon as it is finished: a run that is killed loses the cells it was at.
"""

import hashlib
import inspect
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from sys import stderr
from typing import Any

import numpy as np

Settings = dict[str, Any]
Result = dict[str, Any]
Function = Callable[..., Result]

# What uses fits and cannot change them.
ABOVE_FITS = {"cli", "estimators", "io", "observers.py", "plots.py", "report", "reproduce"}
# Without a terminal, progress is told at most this often.
SECONDS_BETWEEN_LINES = 10.0


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    out: Path
    trials: int = 10
    seed: int = 0
    data: Path | None = None
    n_jobs: int = 1


def compute(
    request: Request,
    title: str,
    function: Function,
    settings: Sequence[Settings],
    *,
    context: Settings | None = None,
    n_jobs: int | None = None,
) -> list[Result]:
    """Return the result of every cell, in order; only those not yet stored are computed.

    ``context`` is what the function needs besides and what cannot change a result, as the place
    of the data.
    """
    room = request.out / "cells"
    room.mkdir(parents=True, exist_ok=True)
    paths = [room / f"{function.__name__}-{key(function, s)}.json" for s in settings]
    found = {path: stored(path, s) for path, s in zip(paths, settings, strict=True)}
    missing = {p: s for p, s in zip(paths, settings, strict=True) if found[p] is None}
    tasks = ((function, setting, context or {}, path) for path, setting in missing.items())
    for path, result in progress(run(tasks, n_jobs or request.n_jobs), title, len(missing)):
        found[path] = result
    return [result for path in paths if (result := found[path]) is not None]


def run(tasks: Iterable[tuple[Function, Settings, Settings, Path]], n_jobs: int) -> Iterator[Any]:
    """Run the tasks in processes, or in this one; yield each as it is finished."""
    if n_jobs == 1:
        yield from (run_one(*task) for task in tasks)
        return
    from joblib import Parallel, delayed

    workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    yield from workers(delayed(run_one)(*task) for task in tasks)


def run_one(
    function: Function, settings: Settings, context: Settings, path: Path
) -> tuple[Path, Result]:
    """Compute and store one cell, with one BLAS thread: the bits must not depend on n_jobs."""
    from threadpoolctl import threadpool_limits

    begun = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no convergence")  # the sweeps are part of the settings
        result = function(**settings, **context)
    spent = round(time.process_time() - begun, 3)
    content = {"settings": settings, "processor_seconds": spent, "result": result}
    text = json.dumps(content, indent=1)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(text)
    draft.replace(path)
    return path, json.loads(text)["result"]


def stored(path: Path, settings: Settings) -> Result | None:
    """Return the stored result of a cell; None where there is none, or the file is damaged."""
    try:
        content = json.loads(path.read_text())
        return content["result"] if content["settings"] == as_json(settings) else None
    except (FileNotFoundError, UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError):
        return None


def key(function: Function, settings: Settings) -> str:
    """Return a name for the cell that changes with whatever can change its result."""
    code = Path(inspect.getfile(function)).read_text()
    parts = [function.__name__, code, method_version(), json.dumps(settings, sort_keys=True)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


@cache
def method_version() -> str:
    """Return a digest of NumPy's version, of the code below fits, and of what cells share."""
    here = Path(__file__).parent
    package = here.parent
    files = sorted(package.rglob("*.py"))
    files = [file for file in files if file.relative_to(package).parts[0] not in ABOVE_FITS]
    digest = hashlib.sha256(np.__version__.encode())
    for file in [*files, here / "readings.py"]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def as_json(settings: Settings) -> Any:
    """Return the settings as they come back from a file: tuples are lists there."""
    return json.loads(json.dumps(settings))


def progress(finished: Iterator[Any], title: str, total: int) -> Iterator[Any]:
    """Pass on what is finished, with a bar on a terminal, else with a line now and then."""
    if stderr.isatty():
        try:
            from tqdm import tqdm
        except ImportError:
            pass
        else:
            yield from tqdm(finished, desc=title, total=total, unit="cell")
            return
    begun = told = time.monotonic()
    for number, item in enumerate(finished, 1):
        yield item
        now = time.monotonic()
        if number == total or now - told >= SECONDS_BETWEEN_LINES:
            told = now
            print(f"{title}: {number} of {total} cells, {now - begun:.0f} s", file=stderr)
