"""Replace a file in one step: whatever happens, the old one is there, or the new one is."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from odsymnmf.signals import held

try:
    import fcntl
except ImportError:  # Windows: what a killed process has left behind is not recognised there
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".part"


@contextmanager
def replaced(path: str | Path) -> Iterator[BinaryIO]:
    """Give a new file to write to, which takes the place of `path` when the block has ended well.

    It is written next to it, flushed to disk and renamed, and the folder is flushed too. If the
    block fails nothing is left behind; what a killed process has left is removed by the next one
    that writes the same file.

    Parameters
    ----------
    path : path
        Nothing yet, or a regular file; a link, a pipe or a device is refused.

    Yields
    ------
    binary file

    Raises
    ------
    OSError
        With one line that names the problem.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from odsymnmf.atomic import replaced
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for text in (b"old", b"new"):
    ...         with replaced(Path(folder, "file")) as file:
    ...             _ = file.write(text)
    ...     [(path.name, path.read_bytes()) for path in Path(folder).iterdir()]
    [('file', b'new')]
    """
    target = Path(os.path.abspath(path))
    new = target.with_name(f".{target.name}.{secrets.token_hex(6)}{SUFFIX}")
    try:
        mode = _mode(target)
        _remove_leftovers(target)
        with _created(new) as file:
            yield file
            file.flush()
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            if os.name == "posix":  # elsewhere an open file cannot be renamed
                _rename(new, target)
        if os.name != "posix":
            _rename(new, target)
    except BaseException as error:
        with held(), suppress(OSError):
            new.unlink()
        if isinstance(error, OSError):
            raise _cannot_write(target, error) from error
        raise


def _mode(target: Path) -> int | None:
    """Return the permissions of the file to replace; None if there is none yet."""
    try:
        found = os.lstat(target)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        link = "a link" if stat.S_ISLNK(found.st_mode) else "not a regular file"
        raise FileExistsError(errno.EEXIST, f"it is {link}, which is not replaced")
    return stat.S_IMODE(found.st_mode)


@contextmanager
def _created(new: Path) -> Iterator[BinaryIO]:
    """Create a file that did not exist, locked as long as it is written."""
    with open(new, "xb") as file:
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file.fileno()).st_nlink == 0:
                # Taken for a leftover in the moment before it was locked.
                raise OSError(errno.EAGAIN, "another process wrote it at the same time")
        yield file


def _remove_leftovers(target: Path) -> None:
    """Remove unfinished files of this target that nobody holds: their writers are dead."""
    if fcntl is None:
        return
    for old in target.parent.glob(f".{_escaped(target.name)}.????????????{SUFFIX}"):
        with suppress(OSError):
            handle = os.open(old, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                old.unlink()
            finally:
                os.close(handle)


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _rename(new: Path, target: Path) -> None:
    """Put the new file in its place, and wait until the disk knows."""
    with held():  # or the caller would take it for unwritten
        os.replace(new, target)
        if os.name == "posix":  # elsewhere folders cannot be opened
            folder = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _cannot_write(target: Path, error: OSError) -> OSError:
    reason = error.strerror or str(error)
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    remedy = "make room, or choose another place" if full else "choose another name or place"
    return type(error)(error.errno, f"cannot write {target}: {reason}; {remedy}")
