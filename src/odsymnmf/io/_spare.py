"""Hidden files and folders that hold what is being written, and what becomes of lost ones.

Their owner holds a lock on them, which ends with its process however that ends: one without a lock
is a leftover. Where there are no such locks (Windows, some network disks), leftovers stay.
"""

import ctypes
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREFIX, KEPT = ".odsymnmf-", ".kept"
SPARE = re.compile(r"\.odsymnmf-[0-9a-f]{12}(\.\w+)?$")
# Of Linux: swap two names, both of which exist, at once.
RENAME_EXCHANGE, AT_FDCWD = 2, -100


@contextmanager
def claimed(path: Path, *, folder: bool) -> Iterator[None]:
    """Make a file or folder of one's own, which nobody else tidies away meanwhile."""
    descriptor = None
    while descriptor is None:
        if folder:
            path.mkdir()
        else:
            path.touch(exist_ok=False)
        if fcntl is None:
            break
        descriptor = os.open(path, os.O_RDONLY)
        with suppress(OSError):  # a disk without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not path.exists():  # tidied away before it was locked
            os.close(descriptor)
            descriptor = None
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def tidy(home: Path) -> None:
    """Remove leftovers of processes that were killed; put back a folder that lost its name."""
    if fcntl is None:
        return
    with suppress(OSError):
        for path in [p for p in home.iterdir() if SPARE.match(p.name)]:
            with suppress(OSError), _unclaimed(path) as is_leftover:
                if is_leftover:
                    _remove(path)


def _remove(path: Path) -> None:
    if path.name.endswith(KEPT):
        for old in path.iterdir():
            if not os.path.lexists(path.parent / old.name):
                os.rename(old, path.parent / old.name)
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


@contextmanager
def _unclaimed(path: Path) -> Iterator[bool]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def exchange(a: Path, b: Path) -> bool:
    """Give each of two paths the other's name, at once; False where that is not possible."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux, or long ago
        return False
    names = os.fsencode(a), os.fsencode(b)
    return bool(rename(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0)
