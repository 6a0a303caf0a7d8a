"""Matrices in files of NumPy, SciPy, Matrix Market and parquet."""

import io
import math
import zipfile
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse
from scipy.io import mminfo, mmread

from odsymnmf.utils import as_csr, check_memory

FORMATS = ("npy", "npz", "mtx")
# Bytes decompressed at a time.
CHUNK = 2**27
MATRIX, REMEDY = "the matrix in the file", "use a machine with more memory, or a smaller matrix"


def read_matrix(file: BinaryIO, format: str) -> tuple[Any, list[str]]:
    """Return a matrix of real numbers, as an array or csr_array, and messages."""
    try:
        matrix = {"npy": _read_npy, "npz": _read_npz, "mtx": _read_mtx}[format](file)
        messages = []
        if sparse.issparse(matrix):
            n_stored = matrix.nnz
            matrix = as_csr(matrix, "the matrix")
            if matrix.nnz < n_stored:
                messages = [f"entries given more than once are summed: {n_stored - matrix.nnz}"]
    except (MemoryError, UnicodeDecodeError):
        raise
    except Exception as error:  # NumPy and SciPy raise many types for damaged files
        reason = str(error).rstrip(".") or type(error).__name__
        raise ValueError(
            f"is not a valid {format} file ({reason[:200]}); save the matrix again"
        ) from None
    if matrix.dtype.kind not in "buif":
        raise ValueError(f"holds values of type {matrix.dtype}; save it with real numbers")
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(f"holds an array of shape {matrix.shape}; give a matrix with entries")
    dtype = np.float32 if matrix.dtype in (np.float16, np.float32) else np.float64
    return matrix.astype(dtype, copy=False), messages


def read_all(file: BinaryIO) -> bytes:
    """Return the bytes of a file, without byte order mark; MemoryError if they are too many."""
    chunks: list[bytes] = []
    while chunk := file.read(CHUNK):
        chunks.append(chunk)
        check_memory(CHUNK * len(chunks), "the file", "use a machine with more memory")
    return b"".join(chunks).removeprefix(b"\xef\xbb\xbf")


def read_parquet(file: BinaryIO) -> Any:
    """Return the table of a parquet file as a DataFrame."""
    from pyarrow import ArrowException, parquet

    try:
        size = parquet.ParquetFile(file).metadata
        check_memory(8 * size.num_rows * size.num_columns, "the table in the file", REMEDY)
        table = parquet.read_table(file)
        table.validate(full=True)  # UTF-8 of names
        return table.to_pandas()
    except (ArrowException, KeyError, OSError, ValueError) as error:
        raise ValueError(
            f"is not a valid parquet file ({str(error)[:200]}); save it with DataFrame.to_parquet"
        ) from None


def _read_npy(file: BinaryIO) -> Any:
    header: Any = np.lib.format
    version = header.read_magic(file)
    read = header.read_array_header_1_0 if version == (1, 0) else header.read_array_header_2_0
    shape, _, dtype = read(file)
    check_memory(math.prod(shape) * dtype.itemsize, MATRIX, REMEDY)
    file.seek(0)
    return np.load(file, allow_pickle=False)


def _read_npz(file: BinaryIO) -> Any:
    with zipfile.ZipFile(file) as archive:
        check_memory(sum(member.file_size for member in archive.infolist()), MATRIX, REMEDY)
        if "format.npy" not in archive.namelist():
            raise ValueError("it is not a sparse matrix of scipy.sparse.save_npz")
    file.seek(0)
    matrix = sparse.load_npz(file)
    check_memory(8 * max(matrix.shape), MATRIX, REMEDY)
    return matrix


def _read_mtx(file: BinaryIO) -> Any:
    # SciPy takes streams in memory or paths: an open file makes it abort. A last line that is cut
    # off, such as "1 2 3E", makes it read beyond the end.
    data = read_all(file) + b"\n"
    rows, columns, entries, layout, _, symmetry = mminfo(io.BytesIO(data))
    if symmetry != "general" and rows != columns:  # SciPy would write beyond the matrix
        raise ValueError(f"{symmetry}, but {rows} rows and {columns} columns")
    size = rows * columns if layout == "array" else 3 * entries + rows
    check_memory(8 * size, MATRIX, REMEDY)
    return mmread(io.BytesIO(data))
