"""Arrays and a header into a file."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.atomic import replaced
from odsymnmf.storage._layout import (
    DTYPES,
    INDEX_TYPES,
    MAGIC,
    START,
    VERSION,
    Entry,
    Part,
    check,
    grows_little,
)


def write(
    path: str | Path, kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write a header and named arrays into one file, which is complete or not there.

    The file is written next to the final one, flushed to disk and renamed: a crash or a kill
    leaves what was there before, or the new file. The same input gives the same bytes.

    Parameters
    ----------
    path : path
        A regular file there is replaced; anything else (a link, too) is not.
    kind : str
        What the file is for; `read` wants to be given the same.
    header : mapping
        Anything that JSON can hold; tuples come back as lists. NaN and infinity are kept.
    arrays : mapping of str to ndarray or scipy sparse
        bool, integers, float32 and float64. Sparse ones are kept as CSR; a matrix with many zeros
        is stored sparsely where that is smaller.

    Raises
    ------
    OSError
        If it cannot be written, with one line that says why.
    TypeError
        If something is neither JSON nor such an array.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from odsymnmf import storage
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "model.odsym")
    ...     storage.write(file, "model", {"names": ["a", "b"]}, {"H": np.eye(2)})
    ...     header, arrays = storage.read(file, "model")
    >>> header["names"], arrays["H"].tolist()
    (['a', 'b'], [[1.0, 0.0], [0.0, 1.0]])
    """
    entries: list[Entry] = []
    stored: list[Array] = []
    for name, value in arrays.items():
        entry, parts = _taken_apart(name, value)
        if entry.form == "zeros" and not grows_little([*entries, entry]):
            entry, parts = _taken_apart(name, value, full=True)
        entries.append(entry)
        stored += parts
    for entry in entries:
        check(entry, sum(part.size for entry in entries for part in entry.parts))
    description = {"kind": kind, "header": dict(header), "arrays": [_as_json(e) for e in entries]}
    text = json.dumps(description, separators=(",", ":"), default=_plain).encode()
    with replaced(path) as file:
        file.write(START.pack(MAGIC, VERSION, len(text), hashlib.sha256(text).digest()))
        file.write(text)
        for part in stored:
            file.write(_bytes(part))


def _taken_apart(name: str, value: Any, *, full: bool = False) -> tuple[Entry, list[Array]]:
    """Return the description and the parts of an array; ``full``: with all its zeros."""
    from scipy import sparse

    csr = sparse.issparse(value)
    value = value.tocsr() if csr else np.asarray(value)
    if not isinstance(name, str) or value.dtype.name not in DTYPES:
        raise TypeError(
            f"array {name!r} is of dtype {value.dtype}; only bool, integers, float32 and float64 "
            "can be stored, under a name (texts go into the header, as a list)."
        )
    form = "csr" if csr else "dense"
    if csr:
        parts = [value.data, _compact(value.indices), _compact(value.indptr)]
    else:
        parts = [np.ascontiguousarray(value).reshape(-1)]
        if value.ndim == 2 and not full:
            form, parts = _without_zeros(parts[0], *value.shape) or (form, parts)
    described = [Part(p.dtype.name, p.size, hashlib.sha256(_bytes(p)).hexdigest()) for p in parts]
    return Entry(name, form, value.dtype.name, tuple(map(int, value.shape)), described), parts


def _without_zeros(flat: Array, rows: int, columns: int) -> tuple[str, list[Array]] | None:
    """Return the parts of a matrix without its zeros, if these are smaller."""
    bits = flat.view(f"u{flat.itemsize}").reshape(rows, columns)  # -0.0 is not zero
    counts = np.count_nonzero(bits, axis=1)
    count = int(counts.sum())
    entry = flat.itemsize + _index_type(max(columns - 1, 0)).itemsize
    if count * entry + (rows + 1) * _index_type(count).itemsize >= flat.nbytes:
        return None
    where = np.flatnonzero(bits)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return "zeros", [flat[where], _compact(where % columns), _compact(indptr)]


def _compact(indices: Array) -> Array:
    return indices.astype(_index_type(int(indices.max(initial=0))))


def _index_type(largest: int) -> np.dtype[Any]:
    return next(dtype for dtype in INDEX_TYPES if largest <= np.iinfo(dtype).max)


def _bytes(part: Array) -> memoryview:
    """Return the bytes of a flat array, little-endian."""
    return part.astype(part.dtype.newbyteorder("<"), copy=False).view(np.uint8).data


def _as_json(entry: Entry) -> dict[str, Any]:
    return {**entry._asdict(), "parts": [part._asdict() for part in entry.parts]}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"the header holds {value!r}, a {type(value).__name__}: JSON cannot hold it.")
