"""Write folders so that they are complete or not there at all."""

import errno
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from odsymnmf.io import _spare

__all__ = ["check_place", "complete_folder", "put_back"]


def check_place(target: Path) -> None:
    """Refuse now a place where nothing could be written later; tidy it, and leave no trace.

    Parameters
    ----------
    target : Path
        What is to be written; its parents need not exist.

    Raises
    ------
    OSError
        With one line that names the problem.

    Examples
    --------
    >>> from pathlib import Path
    >>> from odsymnmf.io.write import check_place
    >>> check_place(Path("/dev/null/run"))
    Traceback (most recent call last):
    OSError: cannot write /dev/null/run: Not a directory; choose another place
    """
    home = next(parent for parent in target.parents if os.path.lexists(parent))
    _spare.tidy(home)
    probe = home / _spare_name()
    try:
        probe.mkdir()
        with suppress(FileNotFoundError):  # somebody else has tidied up
            probe.rmdir()
    except OSError as error:
        raise _cannot_write(target, error) from error


@contextmanager
def complete_folder(target: Path, refuse: Callable[[], None]) -> Iterator[Path]:
    """Provide a new folder to write to, which becomes `target` when the block ends without error.

    If the block fails, or the disk is full, nothing is left behind and what `target` held before
    is still there: at every moment, even if the power fails, either all of the old or all of the
    new.

    Parameters
    ----------
    target : Path
        Links followed. Missing parents are made.
    refuse : callable
        Called when all is written: raises FileExistsError if `target` is not to be replaced.

    Yields
    ------
    Path
        Where to write: an empty folder next to the final one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from odsymnmf.io.write import complete_folder
    >>> with tempfile.TemporaryDirectory() as home:
    ...     target = Path(home, "results")
    ...     with complete_folder(target, lambda: None) as new:
    ...         _ = (new / "a.txt").write_text("all of it")
    ...     (target / "a.txt").read_text()
    'all of it'
    """
    made = [p for p in target.parents if not p.exists()]
    new = target.parent / _spare_name()
    try:
        if made:
            target.parent.mkdir(parents=True, exist_ok=True)
        _spare.tidy(target.parent)
        with _spare.claimed(new, folder=True):
            yield new
            for file in new.iterdir():
                _to_disk(file)
            _to_disk(new)
            refuse()  # a fit takes time: somebody may have been here
            with _uninterrupted():
                _swap(new, target)
    except BaseException as error:
        with _uninterrupted():
            shutil.rmtree(new, ignore_errors=True)
            for parent in made:
                _remove_if_empty(parent)
        if isinstance(error, OSError) and not isinstance(error, FileExistsError):
            raise _cannot_write(target, error) from error
        raise
    with _uninterrupted():  # or the caller would take it for unwritten
        _to_disk(target.parent)


def put_back(folder: Path) -> None:
    """Give a folder its name back, if a process was killed while it was to be replaced.

    Parameters
    ----------
    folder : Path

    Examples
    --------
    >>> from pathlib import Path
    >>> from odsymnmf.io.write import put_back
    >>> put_back(Path("nowhere"))
    """
    _spare.tidy(Path(os.path.realpath(folder)).parent)


def _spare_name() -> str:
    return f"{_spare.PREFIX}{secrets.token_hex(6)}"


def _cannot_write(target: Path, error: OSError) -> OSError:
    # What the system says, not what was made of it for a file inside the folder.
    reason = os.strerror(error.errno) if error.errno else str(error)
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    remedy = "make room, or choose another place" if full else "choose another place"
    return OSError(f"cannot write {target}: {reason}; {remedy}")


def _swap(new: Path, target: Path) -> None:
    """Put the new folder in the place of the target; on failure the old one is back there."""
    if not target.exists():
        os.rename(new, target)
    elif _spare.exchange(new, target):
        shutil.rmtree(new, ignore_errors=True)  # the old one, by now
    else:
        # Whoever is ended between the two renames leaves the old folder where `tidy` finds it.
        old = target.parent / f"{_spare_name()}{_spare.KEPT}"
        with _spare.claimed(old, folder=True):
            os.rename(target, old / target.name)
            try:
                os.rename(new, target)
            except BaseException:
                os.rename(old / target.name, target)
                raise
            finally:
                shutil.rmtree(old, ignore_errors=True)


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # somebody else has put something there
        return


def _to_disk(path: Path) -> None:
    """Wait until the file, or the names in the folder, have reached the disk."""
    if path.is_dir() and os.name != "posix":  # elsewhere folders cannot be opened
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C off for the moment that tidying up takes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
