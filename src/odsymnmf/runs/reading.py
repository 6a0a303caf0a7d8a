"""What a run folder holds, read: nothing is unpickled, waited for or believed beyond its size."""

import csv
import io
import math
import tokenize
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.drawing import MOST_CLUSTERS, MatrixPicture
from odsymnmf.io._filters import filtered
from odsymnmf.io.write import put_back
from odsymnmf.runs.folder import is_run, load_record, open_file

DAMAGE = (
    ArithmeticError,
    BadZipFile,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    csv.Error,
    tokenize.TokenError,
    zlib.error,
)
# Of a side of the picture; ours have 400.
MOST_PIXELS = 4000


def read_record(folder: Path) -> dict[str, Any]:
    """Return run.json.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    dict

    Examples
    --------
    >>> from pathlib import Path
    >>> from odsymnmf.runs import read_record
    >>> read_record(Path("nowhere"))
    Traceback (most recent call last):
    ValueError: nowhere is not a folder; give one that odsymnmf cluster has written
    """
    if not folder.is_dir():
        put_back(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder; give one that odsymnmf cluster has written")
    if not is_run(folder):
        raise ValueError(
            f"{folder} is not a run of odsymnmf (it has no valid run.json); "
            "give a folder that odsymnmf cluster has written"
        )
    with _complete(folder, "run.json"):
        return load_record(folder)


def read_history(folder: Path) -> tuple[list[float], list[int]]:
    """Return the objective after every step, and which of the steps were restarts.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    history : list of float
    restarts : list of int
    """
    record = read_record(folder)
    with _complete(folder, "run.json"):
        fit = record["fit"]
        history, restarts = [float(x) for x in fit["history"]], [int(k) for k in fit["restarts"]]
        if not history or not all(map(math.isfinite, history)):
            raise ValueError("history")
        if restarts and not 0 < min(restarts) <= max(restarts) < len(history):
            raise ValueError(f"restarts {restarts}")
        return history, restarts


def read_membership(folder: Path) -> tuple[list[str], Any]:
    """Return the names and H.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    names : list of str
    H : ndarray or csr_array of shape (n, r)
        As it was written.
    """
    record = read_record(folder)
    with _complete(folder, "labels.csv"):
        names = [row[0] for row in _rows(folder, "labels.csv")]
    with _complete(folder, "run.json"):
        shape = (len(names), int(record["fit"]["clusters"]))
    if (folder / "membership.npz").exists():
        with _complete(folder, "membership.npz"):
            H = _stored(folder, shape)
    else:
        with _complete(folder, "membership.csv"):
            H = np.array([row[1:] for row in _rows(folder, "membership.csv")], dtype=float)
    with _complete(folder, "labels.csv or membership"):
        values = H.data if sparse.issparse(H) else H
        if H.shape != shape or not names or not np.isfinite(values).all() or (values < 0).any():
            raise ValueError(f"shape {H.shape}")
    return names, H


def read_picture(folder: Path) -> MatrixPicture:
    """Return the small picture of the matrix.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    MatrixPicture
    """
    record = read_record(folder)
    with _complete(folder, "run.json"):
        r = int(record["fit"]["clusters"])
    if r > MOST_CLUSTERS:
        raise ValueError(
            f"the matrix of {folder} cannot be drawn: more than {MOST_CLUSTERS} clusters are not "
            "to be seen; look at report.html"
        )
    with _complete(folder, "matrix.npz"):
        limit = 8 * MOST_PIXELS**2
        values, edges, n = _arrays(folder / "matrix.npz", ["values", "edges", "n"], limit)
        items = int(n)
        bounds = [0, *edges.tolist(), items]
        sound = (
            values.ndim == 2
            and values.shape == (len(values),) * 2
            and 0 < len(values) <= items
            and values.dtype.kind == "f"
            and not np.isinf(values).any()
            and edges.shape == (r + 1,)
            and edges.dtype.kind in "iu"
            and edges[0] == 0
            and bounds == sorted(bounds)
        )
        if not sound:
            raise ValueError(f"shapes {values.shape} and {edges.shape}")
        return MatrixPicture(values, edges, items)


def _stored(folder: Path, shape: tuple[int, int]) -> Any:
    path = folder / "membership.npz"
    with open_file(path) as file, ZipFile(file) as archive:
        dense = "H.npy" in archive.namelist()
    if dense:
        return _arrays(path, ["H"], 8 * shape[0] * shape[1] + 1000)[0]
    # Entries of a row are distinct, so that there are no more than items x clusters; an entry
    # takes at least some bits of the file, however well it is packed.
    limit = min(16 * shape[0] * shape[1], 2000 * path.stat().st_size) + 16 * shape[0] + 1000
    keys = ["indptr", "indices", "data", "shape"]
    indptr, indices, data, stored = _arrays(path, keys, limit)
    if tuple(stored.tolist()) != shape or {indptr.dtype.kind, indices.dtype.kind} != {"i"}:
        raise ValueError(f"shape {stored}")
    if data.dtype.kind != "f" or len(indptr) != shape[0] + 1 or (np.diff(indptr) < 0).any():
        raise ValueError("indptr")
    H = sparse.csr_array((data, indices, indptr), shape=shape)
    # Indices out of range would make compiled code look where it must not.
    H.check_format(full_check=True)
    return H


def _arrays(path: Path, keys: list[str], limit: int) -> list[Array]:
    """Return arrays of an .npz file, none of which takes more bytes than the limit."""
    found = []
    with open_file(path) as file, ZipFile(file) as archive:
        for key in keys:
            size = archive.getinfo(f"{key}.npy").file_size
            if size > limit:
                raise ValueError(f"{key} takes {size} bytes")
            # Headers that Python 2 wrote are nothing to warn of.
            with archive.open(f"{key}.npy") as member, filtered("ignore"):
                found.append(_array(member.read(), size))
    return found


def _array(content: bytes, size: int) -> Array:
    stream = io.BytesIO(content)
    npy: Any = np.lib.format  # typed in some versions of numpy only
    if npy.read_magic(stream) != (1, 0):
        raise ValueError("not a plain array")
    shape, _, dtype = npy.read_array_header_1_0(stream)
    if dtype.hasobject or min(shape, default=0) < 0:
        raise ValueError(f"an array of {dtype}")
    if math.prod(shape) * dtype.itemsize != size - stream.tell():
        raise ValueError(f"shape {shape} in {size} bytes")
    return np.asarray(npy.read_array(io.BytesIO(content), allow_pickle=False))


def _rows(folder: Path, name: str) -> list[list[str]]:
    file = open_file(folder / name)
    with io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
        return list(csv.reader(text))[1:]


@contextmanager
def _complete(folder: Path, name: str) -> Iterator[None]:
    """Say in one way that a file of a run is missing or damaged."""
    try:
        yield
    except DAMAGE as error:
        raise ValueError(
            f"the run in {folder} is damaged: {name} is missing or was changed; "
            "run odsymnmf cluster again"
        ) from error
