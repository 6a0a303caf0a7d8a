"""Mutated files of every format: items or an error of one line."""

import sys
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from odsymnmf import io

from .lines import Line, folder

sys.path.insert(0, str(Path(__file__).parents[1] / "io"))
import io_fuzz


@contextmanager
def within():
    """Bound memory, and let no warning pass."""
    with io_fuzz.limits(), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def once(format, seed, k):
    """Read mutant k of a format, soon."""
    name, data, options = io_fuzz.mutant(format, seed, k)
    path = folder("files") / name
    path.write_bytes(data)
    io_fuzz.set_alarms()
    try:
        return io_fuzz.check(path, options)
    except io_fuzz.Hang as hang:
        raise AssertionError(str(hang)) from hang


LINES = {
    f"files-{format}": Line(
        f"mutated files: {format}", 1_000_000, partial(once, format), within=within
    )
    for format in io.FORMATS
}
