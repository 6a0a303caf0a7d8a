"""Files: one .npz with a JSON header for models, results and checkpoints; atomic replacement."""

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZipFile, is_zipfile

import numpy as np
from scipy import sparse

import odsymnmf
from odsymnmf.utils import check_memory

# Version of the names in headers and arrays.
FORMAT = 1
HEADER = "header"
CSR_PARTS = ("data", "indices", "indptr", "shape")
# Classes that `load` returns; their kind in a file is their name.
CLASSES = ("ODSymNMF", "SymNMF", "Factorization")


def load(path: str | Path) -> Any:
    """Read a fitted model or a `Factorization` from a file written by ``save``.

    Nothing is unpickled or executed, whatever the file contains.

    Parameters
    ----------
    path : path
        A file written by ``save``.

    Returns
    -------
    ODSymNMF, SymNMF or Factorization
        The predictions of a loaded model are bit-identical. It has ``similarity_`` only if this was
        saved.

    Raises
    ------
    ValueError
        If the file is damaged, truncated, was not written by ``save``, or does not fit into memory.
    OSError
        If the file does not exist or cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import odsymnmf as od
    >>> A = np.kron(np.eye(2), np.ones((3, 3)))
    >>> model = od.ODSymNMF(2).fit(A)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "model.npz")
    ...     model.save(path)
    ...     loaded = od.load(path)
    >>> loaded.predict([[1, 1, 1, 0, 0, 0]]) == model.labels_[:1]
    array([ True])
    """
    header, arrays = read_arrays(path, *CLASSES)
    with valid(path):
        return getattr(odsymnmf, header["kind"])._from_arrays(header, arrays)


def write_arrays(
    path: str | Path, kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write a JSON header and named arrays, dense or CSR, to one .npz file."""
    header = {"kind": kind, "format": FORMAT, "version": odsymnmf.__version__, **header}
    text = np.array(json.dumps(header, default=_to_json).encode())
    with atomic_write(path) as file:
        np.savez(file, **{HEADER: text, **flattened(arrays)})


def read_arrays(path: str | Path, *kinds: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read header and arrays; ValueError unless the file is intact and of one of the kinds."""
    parts = read_npz(path)
    with valid(path):
        if HEADER not in parts:
            raise ValueError("it was not written by odsymnmf")
        header = json.loads(parts.pop(HEADER).item())
        if header["kind"] not in kinds:
            raise ValueError(f"it contains a {header['kind']}, not a {' or '.join(kinds)}")
        if header["format"] != FORMAT:
            raise ValueError(f"it was written by odsymnmf {header['version']} in another format")
        return header, _unflattened(parts)


def read_npz(path: str | Path) -> dict[str, Any]:
    """Read the arrays of an .npz file without unpickling; ValueError unless it is intact."""
    with open(path, "rb") as file, valid(path):
        if not is_zipfile(file):
            raise ValueError("it is truncated, or was not written by odsymnmf")
        size = sum(member.file_size for member in ZipFile(file).infolist())
        check_memory(size, "it", "use a machine with more memory")
        file.seek(0)
        return dict(np.load(file, allow_pickle=False))


def flattened(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays with CSR matrices replaced by their parts."""
    flat: dict[str, Any] = {}
    for name, array in arrays.items():
        if sparse.issparse(array):
            matrix = array.tocsr()
            flat |= {f"{name}.{part}": np.asarray(getattr(matrix, part)) for part in CSR_PARTS}
        else:
            flat[name] = np.asarray(array)
    return flat


def _unflattened(flat: dict[str, Any]) -> dict[str, Any]:
    arrays = dict(flat)
    for name in [name.removesuffix(".indptr") for name in flat if name.endswith(".indptr")]:
        data, indices, indptr, shape = (arrays.pop(f"{name}.{part}") for part in CSR_PARTS)
        matrix = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)  # compiled code relies on the indices
        arrays[name] = matrix
    return arrays


def prefixed(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays with a prefix before their names."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def without_prefix(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays that have the prefix, without it."""
    start = f"{prefix}."
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}


@contextmanager
def valid(path: str | Path) -> Iterator[None]:
    """Turn errors caused by the content of a file into a ValueError that names the file."""
    try:
        yield
    except Exception as error:  # of many types; MemoryError for sizes that may be wrong
        raise ValueError(
            f"cannot load {path}: {error or type(error).__name__}. Use another copy, or create it "
            "again."
        ) from error


def checked_names(names: Any) -> Any:
    """Return the names of items; ValueError if JSON would not preserve one."""
    for name in names or []:
        if not isinstance(name, str | int | float | np.generic):
            raise ValueError(
                f"the name {name!r} cannot be saved: names must be strings or numbers. Rename the "
                "items before the fit."
            )
    return names


def _to_json(value: Any) -> Any:
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return list(value)  # ranges and sets


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary file in the same directory; it replaces `path` if the block succeeds."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise FileExistsError(f"{target} is not a regular file; choose another name")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def atomic_directory(target: Path) -> Iterator[Path]:
    """Create a directory next to `target`; it replaces `target` if the block succeeds."""
    token = secrets.token_hex(4)
    new, old = (target.with_name(f".{target.name}.{token}.{end}") for end in ("tmp", "old"))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        new.mkdir()
        yield new
        if target.exists():
            os.rename(target, old)
        os.rename(new, target)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException as error:
        if old.exists() and not target.exists():
            os.rename(old, target)
        if isinstance(error, OSError) and not isinstance(error, FileExistsError):
            raise _cannot_write(target, error) from error
        raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _cannot_write(target: Path, error: OSError) -> OSError:
    reason = os.strerror(error.errno) if error.errno else error
    return OSError(error.errno, f"cannot write {target}: {reason}; choose another path")
