"""The folder of a run: which folders are one, and how a new one comes about."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from odsymnmf.io.write import check_place, complete_folder

RUN = "run.json"
# What a run may hold, and what file managers put there: with anything else it is not replaced.
RUN_FILES = {
    RUN,
    "labels.csv",
    "membership.csv",
    "membership.npz",
    "clusters.txt",
    "matrix.npz",
    "model.odsym",
    "topics.csv",
    "report.html",
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
}
# A record of a million sweeps takes 20 MB.
LARGEST_RECORD = 200_000_000


def open_file(path: Path) -> BinaryIO:
    """Open a file to read; a pipe, a socket or a device is refused, and never waited for."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def load_record(folder: Path) -> dict[str, object]:
    """Return run.json; ValueError or OSError if it is none of ours."""
    try:
        with open_file(folder / RUN) as file:
            if os.fstat(file.fileno()).st_size > LARGEST_RECORD:
                raise ValueError(f"{RUN} is too large")
            record = json.loads(file.read().decode("utf-8"))
        if "odsymnmf" not in record["versions"]:
            raise ValueError(f"{RUN} names no version of odsymnmf")
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{RUN} is not one of ours") from error
    return dict(record)


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
    >>> from odsymnmf.runs import is_run
    >>> is_run("no such folder")
    False
    """
    try:
        load_record(Path(folder))
    except (OSError, ValueError):
        return False
    return True


def check_folder(folder: str | Path, *, force: bool = False) -> Path:
    """Refuse now what `new_run` could not write later; leave no trace.

    Parameters
    ----------
    folder : path
        Must not exist yet, or be empty.
    force : bool
        Whether an existing run is to be replaced.

    Returns
    -------
    Path
        The folder, with symbolic links resolved.

    Raises
    ------
    OSError
        With one line that names the problem.

    Examples
    --------
    >>> from odsymnmf.runs import check_folder
    >>> check_folder("/dev/null")
    Traceback (most recent call last):
    FileExistsError: /dev/null is not a folder; choose another name
    """
    target = Path(os.path.realpath(folder))
    _refuse_loss(target, force)
    check_place(target)
    _refuse_loss(target, force)  # an earlier run may have got its name back
    return target


@contextmanager
def new_run(folder: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Provide a new folder to write a run to, which becomes `folder` if the block succeeds.

    Parameters
    ----------
    folder : path
        Must not exist yet, or be empty. Missing parents are made.
    force : bool
        Replace an existing run once the new one is complete.

    Yields
    ------
    Path
        Where to write: an empty folder next to the final one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from odsymnmf.runs import new_run
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with new_run(Path(home, "run")) as new:
    ...         _ = (new / "labels.csv").write_text("name,cluster")
    ...         Path(home, "run").exists()
    ...     [path.name for path in Path(home, "run").iterdir()]
    False
    ['labels.csv']
    """
    target = check_folder(folder, force=force)
    with complete_folder(target, lambda: _refuse_loss(target, force)) as new:
        yield new


def _refuse_loss(target: Path, force: bool) -> None:
    """Refuse to write where anything but an empty folder, or a run to replace, is in the way."""
    if not os.path.lexists(target):
        return
    if not target.is_dir():
        raise FileExistsError(f"{target} is not a folder; choose another name")
    strangers = sorted(set(os.listdir(target)) - RUN_FILES)
    if is_run(target):
        if not force:
            raise FileExistsError(f"{target} already holds a run; use --force to replace it")
        if strangers:
            raise FileExistsError(
                f"{target} holds {strangers[0]!r}, which is not part of a run and would be lost; "
                "move it, or choose another name"
            )
    elif os.listdir(target):
        raise FileExistsError(
            f"{target} exists and is not a run of odsymnmf (it has no valid {RUN}), so it is not "
            "replaced; choose another name"
        )
