"""Files of NumPy and SciPy: .npy and .npz, never unpickled, never larger than they are."""

import io
import math
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.io._filters import filtered
from odsymnmf.io._items import InputError, bad, reason
from odsymnmf.io._source import refuse_promise, unpacked_limit
from odsymnmf.io._symmetry import refuse_other_types

# What reading a damaged header can raise: it is a Python literal, and names a dtype.
HEADER_ERRORS = (
    ValueError,
    TypeError,
    SyntaxError,
    KeyError,
    OverflowError,
    RecursionError,
    MemoryError,
    struct.error,
    tokenize.TokenError,
)
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    UnicodeDecodeError,
    ValueError,
    struct.error,
)
MATRIX_ERRORS = (
    ValueError,
    TypeError,
    IndexError,
    KeyError,
    NotImplementedError,
    ZeroDivisionError,
)
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
INDICES = {"indices", "indptr", "row", "col", "coords", "offsets", "shape"}


def read_npy(path: Path, data: bytes) -> Array:
    """Return the 2-D array of an .npy file."""
    array = _array(path, data, "it")
    refuse_other_types(path, array)
    if array.ndim != 2:
        raise bad(path, f"holds an array of shape {array.shape}; give one of two dimensions")
    return array.copy()


def read_npz(path: Path, data: bytes) -> sparse.csr_array:
    """Return the sparse matrix that scipy.sparse.save_npz wrote."""
    members = _members(path, data)
    if "format" not in members or "shape" not in members:
        raise bad(
            path, "is not a sparse matrix; save it with scipy.sparse.save_npz, a spreadsheet as CSV"
        )
    arrays = {name: _array(path, member, name) for name, member in members.items()}
    wanted = dict.fromkeys(INDICES, ("iu", "integers")) | {"format": ("SU", "text")}
    for name in wanted.keys() & arrays.keys():
        kinds, what = wanted[name]
        if arrays[name].dtype.kind not in kinds:
            raise bad(path, f"{name} holds {arrays[name].dtype}, not {what}; save it again")
    if arrays["shape"].shape != (2,):
        raise bad(path, "is not a matrix: its shape does not have two numbers; save it again")
    rows, columns = arrays["shape"].tolist()
    refuse_promise(path, rows, columns, len(data))
    try:
        matrix = _assembled(arrays, (rows, columns))
        refuse_other_types(path, matrix)
        if hasattr(matrix, "check_format"):
            # Indices out of range would make compiled code write where it must not.
            matrix.check_format(full_check=True)
            # Which SciPy does not look at when the last of them promises no entries.
            if (matrix.indptr[1:] < matrix.indptr[:-1]).any():
                raise ValueError("indptr must not decrease")
        made = sparse.csr_array(matrix)
        # SciPy would sort in place, in the bytes of the file.
        return made if made.has_canonical_format else made.copy()
    except MATRIX_ERRORS as error:
        raise bad(path, f"is not a valid sparse matrix ({reason(error)}); save it again") from None


def _assembled(arrays: dict[str, Array], shape: tuple[int, int]) -> Any:
    """Put the matrix together as SciPy would, but from arrays whose sizes have been checked."""
    format = arrays["format"].item()
    format = format.decode("ascii") if isinstance(format, bytes) else format
    data = arrays["data"]
    if format in ("csr", "csc", "bsr"):
        make = getattr(sparse, f"{format}_array")
        return make((data, arrays["indices"], arrays["indptr"]), shape=shape)
    if format == "dia":
        return sparse.dia_array((data, arrays["offsets"]), shape=shape)
    if format == "coo":
        coords = arrays["coords"] if "coords" in arrays else (arrays["row"], arrays["col"])
        return sparse.coo_array((data, tuple(coords)), shape=shape)
    raise ValueError(f"its format is {format!r}")


def _members(path: Path, data: bytes) -> dict[str, bytes]:
    """Return the arrays of the archive, as .npy files, if they unpack to a sensible size."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if sum(info.file_size for info in infos) > unpacked_limit(len(data)):
                problem = "decompresses to far more than its size, as a zip bomb does"
                raise bad(path, f"{problem}; save it without compression")
            if any(info.compress_type not in PACKED for info in infos):
                raise bad(
                    path, "is compressed in an unusual way; save it with scipy.sparse.save_npz"
                )
            return {info.filename.removesuffix(".npy"): _member(archive, info) for info in infos}
    except ZIP_ERRORS as error:
        if isinstance(error, InputError):
            raise
        raise bad(
            path, f"is not a valid .npz file ({reason(error)}); copy or save it again"
        ) from None


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Unpack no more than the directory promises: without a size, zipfile would unpack 2 GB."""
    with archive.open(info) as file:
        data = file.read(info.file_size)
        if file.read(1):
            raise ValueError(f"{info.filename!r} is larger than its directory says")
        return data


def _array(path: Path, data: bytes, name: str) -> Array:
    """Return the array of an .npy file, without a copy."""
    try:
        shape, is_fortran, dtype, start = _header(data)
    except HEADER_ERRORS as error:
        problem = f"{name} has no valid .npy header ({reason(error)})"
        raise bad(path, f"{problem}; save it again") from None
    if dtype.hasobject:
        raise bad(path, "holds Python objects, which are not read for safety; save numbers")
    if dtype.itemsize <= 0:  # NumPy 1 takes S-1 for a type
        raise bad(path, f"{name} holds values of type {dtype}, of no size; save numbers")
    promised, there = math.prod(shape) * dtype.itemsize, len(data) - start
    if min(shape, default=0) < 0 or promised > there:
        raise bad(path, f"its header announces {promised} bytes, but {there} follow; copy it again")
    try:
        return np.ndarray(shape, dtype, data, start, order="F" if is_fortran else "C")
    except (ValueError, TypeError) as error:
        raise bad(path, f"has an impossible shape ({reason(error)}); save it again") from None


def _header(data: bytes) -> tuple[tuple[int, ...], bool, Any, int]:
    stream = io.BytesIO(data)
    npy: Any = np.lib.format  # typed in some versions of numpy only
    with filtered("ignore"):  # about headers that Python 2 wrote
        version = npy.read_magic(stream)
        if version == (1, 0):
            header = npy.read_array_header_1_0(stream)
        elif version == (2, 0):
            header = npy.read_array_header_2_0(stream)
        else:
            raise ValueError(f"version {version} is for structured arrays")
    return *header, stream.tell()
