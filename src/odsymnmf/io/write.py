"""Write results so that they are complete or not there at all, and nothing else is lost."""

import errno
import json
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["check_folder", "complete_file", "complete_folder", "is_run"]

RUN = "run.json"
# What a run may hold, and what file managers put there: with anything else it is not replaced.
RUN_FILES = {
    RUN,
    "labels.csv",
    "membership.csv",
    "membership.npz",
    "matrix.npz",
    "report.html",
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
}


def is_run(folder: str | Path) -> bool:
    """Tell whether a folder was written by `odsymnmf cluster`: its run.json says so.

    Parameters
    ----------
    folder : path

    Returns
    -------
    bool

    Examples
    --------
    >>> from odsymnmf.io.write import is_run
    >>> is_run("no such folder")
    False
    """
    try:
        with open(Path(folder) / RUN, encoding="utf-8") as file:
            return "odsymnmf" in json.load(file)["versions"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def check_folder(folder: str | Path, *, force: bool = False) -> Path:
    """Refuse now what `complete_folder` could not write later; leave no trace.

    Parameters
    ----------
    folder : path
        Must not exist yet, or be empty.
    force : bool
        It may be a run of ours, which is to be replaced.

    Returns
    -------
    Path
        The folder, with links followed.

    Raises
    ------
    OSError
        With one line that says what is in the way.

    Examples
    --------
    >>> from odsymnmf.io.write import check_folder
    >>> check_folder("/dev/null")
    Traceback (most recent call last):
    FileExistsError: /dev/null is not a folder; choose another name
    """
    target = Path(os.path.realpath(folder))
    _refuse_loss(target, force)
    home = next(parent for parent in target.parents if os.path.lexists(parent))
    probe = home / _spare_name()
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise _cannot_write(target, error) from error
    return target


@contextmanager
def complete_folder(folder: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Give a new folder to write to, which becomes `folder` when the block has ended well.

    If the block fails, or the disk is full, nothing is left behind and what `folder` held before
    is still there.

    Parameters
    ----------
    folder : path
        Must not exist yet, or be empty. Missing parents are made.
    force : bool
        It may be a run of ours, which is replaced once the new one is complete.

    Yields
    ------
    Path
        Where to write: an empty folder beside the final one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from odsymnmf.io.write import complete_folder
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with complete_folder(Path(home, "run")) as new:
    ...         _ = (new / "labels.csv").write_text("name,cluster")
    ...         Path(home, "run").exists()
    ...     [path.name for path in Path(home, "run").iterdir()]
    False
    ['labels.csv']
    """
    target = check_folder(folder, force=force)
    made = [p for p in target.parents if not p.exists()]
    new = target.parent / _spare_name()
    try:
        new.mkdir(parents=True)
        yield new
        for file in new.iterdir():
            _to_disk(file)
        _to_disk(new)
        _refuse_loss(target, force)  # a fit takes time: somebody may have been here
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


@contextmanager
def complete_file(file: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Give a new name to write to, which becomes `file` when the block has ended well.

    Parameters
    ----------
    file : path
        Must not exist yet. Missing parents are made.
    force : bool
        It may exist, and is replaced once the new one is complete.

    Yields
    ------
    Path
        Where to write: a file beside the final one, with the same suffix.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from odsymnmf.io.write import complete_file
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with complete_file(Path(home, "picture.svg")) as new:
    ...         _ = new.write_text("<svg/>")
    ...     [path.name for path in Path(home).iterdir()]
    ['picture.svg']
    """
    target = Path(os.path.realpath(file))
    if target.exists() and not target.is_file():
        raise FileExistsError(f"{target} is not a file; choose another name")
    if target.exists() and not force:
        raise FileExistsError(f"{target} exists already; --force replaces it")
    made = [p for p in target.parents if not p.exists()]
    new = target.parent / (_spare_name() + target.suffix)
    try:
        if made:
            target.parent.mkdir(parents=True, exist_ok=True)
        yield new
        _to_disk(new)
        os.replace(new, target)
    except BaseException as error:
        with _uninterrupted():
            with suppress(OSError):
                new.unlink()
            for parent in made:
                _remove_if_empty(parent)
        if isinstance(error, OSError):
            raise _cannot_write(target, error) from error
        raise


def _spare_name() -> str:
    return f".odsymnmf-{secrets.token_hex(6)}"


def _cannot_write(target: Path, error: OSError) -> OSError:
    reason = error.strerror or str(error)
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    remedy = "make room, or choose another place" if full else "choose another place"
    return OSError(f"cannot write {target}: {reason}; {remedy}")


def _refuse_loss(target: Path, force: bool) -> None:
    """Refuse to write where anything but an empty folder, or a run to replace, is in the way."""
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise FileExistsError(f"{target} is not a folder; choose another name")
    strangers = sorted(set(os.listdir(target)) - RUN_FILES)
    if is_run(target):
        if not force:
            raise FileExistsError(f"{target} holds a run already; --force replaces it")
        if strangers:
            raise FileExistsError(
                f"{target} holds {strangers[0]!r}, which is no part of a run and would be lost; "
                "move it, or choose another name"
            )
    elif os.listdir(target):
        raise FileExistsError(
            f"{target} exists and is not a run of odsymnmf (no {RUN} of ours), so that it is not "
            "replaced; choose another name"
        )


def _swap(new: Path, target: Path) -> None:
    """Put the new folder in the place of the target; on failure the old one is back there."""
    if not target.exists():
        os.rename(new, target)
        return
    old = target.parent / _spare_name()
    os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException:
        os.rename(old, target)
        raise
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
