"""A file into arrays and a header, without trust."""

import hashlib
import json
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.storage._layout import (
    DTYPES,
    MAGIC,
    START,
    VERSION,
    Entry,
    Part,
    StorageError,
    check,
    grows_little,
)


def read(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what `write` wrote: the header and the arrays.

    Every byte is checked, and memory is taken only for what the file is large enough to hold.

    Parameters
    ----------
    path : path
    kind : str
        What the file must be.

    Returns
    -------
    header : dict
    arrays : dict of str to ndarray or scipy.sparse.csr_array

    Raises
    ------
    StorageError
        If the file is damaged, cut short, of another kind or version, or not one of ours.
    OSError
        If there is no such file, or it may not be read.

    Examples
    --------
    >>> from odsymnmf import storage
    >>> storage.read("/dev/null", "model")
    Traceback (most recent call last):
    odsymnmf.storage._layout.StorageError: /dev/null is a folder, a pipe or a device; give a file.
    """
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        text = _description(path, file, size)
        try:
            found, header, entries = _understood(text)
        except (KeyError, TypeError, ValueError, RecursionError):
            raise _bad(path, "its description makes no sense") from None
        if found != kind:
            raise StorageError(f"{path} holds a {found[:50]!r}, not a {kind!r}; give another file.")
        left = size - START.size - len(text)
        if sum(part.size for entry in entries for part in entry.parts) != left:
            raise _bad(path, "its length is not what it should be")
        try:
            for entry in entries:
                check(entry, left)
            if not grows_little(entries):
                raise ValueError("its arrays would grow beyond measure")
            return header, {entry.name: _array(file, entry) for entry in entries}
        except ValueError as error:
            raise _bad(path, str(error)) from None


def _bad(path: str | Path, what: str) -> StorageError:
    return StorageError(f"{path} is damaged: {what}; use another copy, or make it again.")


def _opened(path: str | Path) -> BufferedReader:
    """Open a regular file, and nothing that could keep us waiting."""
    if stat.S_ISREG(os.stat(path).st_mode):
        file = open(path, "rb", opener=_at_once)  # noqa: SIM115 (the caller closes it)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
    raise StorageError(f"{path} is a folder, a pipe or a device; give a file.")


def _at_once(path: str, flags: int) -> int:
    """Open without waiting, should a pipe have taken the place of the file."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _description(path: str | Path, file: BufferedReader, size: int) -> bytes:
    """Return the description, undamaged; what it says is not looked at yet."""
    start = file.read(START.size)
    if not start or start[: len(MAGIC)] != MAGIC[: len(start)]:
        raise StorageError(f"{path} was not written by odsymnmf; give a file that was saved by it.")
    if len(start) < START.size:
        raise _bad(path, "it ends too early")
    _, version, length, digest = START.unpack(start)
    if version != VERSION:
        raise StorageError(
            f"{path} has layout {version}, and this version of odsymnmf reads layout {VERSION}; "
            "use the version that wrote it, or a newer one."
        )
    if length > size - START.size:
        raise _bad(path, "it ends too early")
    text = file.read(length)
    if hashlib.sha256(text).digest() != digest:
        raise _bad(path, "its description has changed")
    return text


def _understood(text: bytes) -> tuple[str, dict[str, Any], list[Entry]]:
    """Return kind, header and arrays of a description, all of the right types."""
    description = json.loads(text.decode())
    entries = [
        Entry(
            _of_type(str, item["name"]),
            _of_type(str, item["form"]),
            _of_type(str, item["dtype"]),
            tuple(_of_type(int, number) for number in _of_type(list, item["shape"])),
            [
                Part(
                    _of_type(str, part["dtype"]),
                    _of_type(int, part["length"]),
                    _of_type(str, part["sha256"]),
                )
                for part in _of_type(list, item["parts"])
            ],
        )
        for item in _of_type(list, description["arrays"])
    ]
    names = {entry.name for entry in entries}
    numbers = [n for e in entries for n in (*e.shape, *(part.length for part in e.parts))]
    dtypes = {dtype for e in entries for dtype in (e.dtype, *(part.dtype for part in e.parts))}
    if len(names) < len(entries) or min(numbers, default=0) < 0 or not dtypes <= DTYPES:
        raise ValueError
    return _of_type(str, description["kind"]), _of_type(dict, description["header"]), entries


def _of_type(wanted: type, value: Any) -> Any:
    if type(value) is not wanted:
        raise TypeError
    return value


def _array(file: BufferedReader, entry: Entry) -> Any:
    """Read an array; ValueError if it is not sound."""
    parts = [_part(file, entry.name, part) for part in entry.parts]
    if entry.form == "dense":
        return parts[0].reshape(entry.shape)
    data, indices, indptr = parts
    rows, columns = entry.shape
    if (
        int(indptr[0]) != 0
        or int(indptr[-1]) != len(data)
        or (indptr[1:] < indptr[:-1]).any()
        or (len(data) and int(indices.max()) >= columns)
    ):
        raise ValueError(f"array {entry.name[:50]!r} has indices out of place")
    small = max(len(data), rows, columns) <= np.iinfo(np.int32).max
    index = np.int32 if small else np.int64
    indices, indptr = indices.astype(index), indptr.astype(index)
    if entry.form == "csr":
        from scipy import sparse

        return sparse.csr_array((data, indices, indptr), shape=entry.shape)
    full = np.zeros(entry.shape, dtype=data.dtype)
    full[np.repeat(np.arange(rows), np.diff(indptr)), indices] = data
    return full


def _part(file: BufferedReader, name: str, part: Part) -> Array:
    flat = np.empty(part.length, dtype=np.dtype(part.dtype).newbyteorder("<"))
    raw = flat.view(np.uint8)
    count = file.readinto(raw.data)
    if count != part.size or hashlib.sha256(raw.data).hexdigest() != part.sha256:
        raise ValueError(f"array {name[:50]!r} has changed")
    if part.dtype == "bool" and raw.max(initial=0) > 1:
        raise ValueError(f"array {name[:50]!r} holds what is neither true nor false")
    return flat.astype(part.dtype, copy=False)
