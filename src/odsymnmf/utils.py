"""Arrays, seeds, checks of options, BLAS threads and memory."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from inspect import Parameter, Signature, signature
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import ThreadpoolController

Array = NDArray[Any]

PACKAGE = os.path.dirname(__file__)
# Bytes of a cache line.
CACHE_LINE = 64
# Entries of a block of rows that are computed or copied at a time.
BLOCK_ENTRIES = 2**22
# Multiply-adds of one product; Ctrl-C is handled between products.
MAX_PRODUCT_WORK = 2**30
# Smaller allocations, in bytes, are not checked: the check would take longer than a small fit.
MIN_CHECKED = 2**20


F = TypeVar("F", bound=Callable[..., Any])


def plain_signature(function: F) -> F:
    """Remove annotations, which are long, from the signature that help() shows."""
    parameters = signature(function).parameters.values()
    plain = Signature([p.replace(annotation=Parameter.empty) for p in parameters])
    function.__signature__ = plain  # type: ignore[attr-defined]
    return function


def optional_import(module: str, needed_by: str, install: str) -> Any:
    """Import an optional package; ImportError with what to install if it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{needed_by} needs {package}; install it with: pip install {install}"
        ) from error


def user_stacklevel() -> int:
    """Return the ``stacklevel`` with which a warning names the first line outside the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    return level


def blocks(n: int, size: int | None = None, *, width: int = 1) -> Iterator[slice]:
    """Yield slices of at most ``size`` that cover range(n).

    By default, these are blocks of BLOCK_ENTRIES entries of rows that have ``width`` entries.
    """
    size = max(1, BLOCK_ENTRIES // max(1, width)) if size is None else size
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def asymmetry(dtype: Any) -> float:
    """Return the tolerance for |A_ij - A_ji|, relative to the largest entry."""
    return float(np.sqrt(np.finfo(dtype).eps))


def as_csr(X: Any, name: str) -> Any:
    """Return a sparse X of any format as CSR without duplicates; ValueError if it is not valid.

    Indices are int32 if they suffice, for which kernels are compiled.

    Examples
    --------
    >>> from scipy import sparse
    >>> X = sparse.csr_array([[0, 1], [1, 0]])
    >>> X.indices[0] = 2_000_000_000
    >>> as_csr(X, "A")
    Traceback (most recent call last):
    ValueError: A is not a valid sparse matrix: ...
    """
    try:
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)
            if hasattr(X, "indptr") and (np.diff(X.indptr) < 0).any():
                raise ValueError("indptr decreases")  # not checked by SciPy if the last is 0
        elif X.format == "coo" and X.nnz:  # scipy has no method for it
            for index, size in zip((X.row, X.col), X.shape, strict=True):
                if not 0 <= index.min() <= index.max() < size or len(index) != len(X.data):
                    raise ValueError(f"indices must be from 0 to {size - 1}")
    except ValueError as error:
        raise ValueError(
            f"{name} is not a valid sparse matrix: {error}. Create it from its entries: "
            "scipy.sparse.coo_array((values, (rows, columns)), shape=(n, m))."
        ) from None
    A = sparse.csr_array(X)
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    index = np.int32 if max(A.nnz, *A.shape) < 2**31 else np.int64
    indices, indptr = A.indices.astype(index, copy=False), A.indptr.astype(index, copy=False)
    return sparse.csr_array((A.data, indices, indptr), shape=A.shape)


def squared(X: Array) -> Array:
    """Return X^T X in double precision, computed over blocks of rows."""
    m = X.shape[1]
    total = np.zeros((m, m))
    for b in blocks(len(X), max(1, MAX_PRODUCT_WORK // max(1, m) ** 2)):
        rows = X[b].astype(np.float64, copy=False)
        total += rows.T @ rows
    return total


def aligned_empty(count: int, size: int) -> Array:
    """Return an empty array of ``count`` rows of at least ``size`` numbers, aligned to cache lines.

    Without alignment, a sweep of l2 takes up to a tenth longer.
    """
    width = -(-size * 8 // CACHE_LINE) * CACHE_LINE // 8
    buffer = np.empty(count * width + CACHE_LINE // 8)
    first = -buffer.__array_interface__["data"][0] % CACHE_LINE // 8
    return buffer[first : first + count * width].reshape(count, width)


RandomSource = np.random.Generator | np.random.RandomState
RandomState = RandomSource | int | None


def as_random(random_state: RandomState) -> RandomSource:
    """Return a Generator or a RandomState; an int seeds a RandomState, whose streams never change.

    It is scikit-learn's check_random_state, whose import takes longer than a fit.
    """
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return random_state
    if random_state is None:
        return np.random.mtrand._rand
    if isinstance(random_state, Integral) and 0 <= random_state < 2**32:
        return np.random.RandomState(int(random_state))
    raise ValueError(
        f"random_state={random_state!r} cannot seed a generator; pass None, an int from 0 to "
        "2**32 - 1, a numpy.random.RandomState or a numpy.random.Generator"
    )


def whole_number(name: str, value: Any, minimum: int) -> int:
    """Return the value as an int, if it is a whole number of at least ``minimum``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
        raise ValueError(f"{name} must be a whole number >= {minimum}; got {value!r}.")
    return int(value)


def bound(upper: Any) -> float:
    """Return the upper bound on the entries of H, infinity for None."""
    if upper is None:
        return float("inf")
    if not isinstance(upper, Real) or not float(upper) > 0:
        raise ValueError(f"upper must be a number > 0, or None for no bound; got {upper!r}.")
    return float(upper)


def threads(n_jobs: Any) -> int:
    """Return the number of threads for ``n_jobs``: -1 is all cores, -2 all but one.

    Within a worker of joblib, all cores are those of the worker.
    """
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be a whole number >= 1, -1 for all cores, or None; got {n_jobs!r}."
        )
    if int(n_jobs) > 0:
        return int(n_jobs)
    from joblib import effective_n_jobs  # takes a while to import

    return int(effective_n_jobs(int(n_jobs)))


@cache
def _controller() -> ThreadpoolController:
    # Created at the first use, when all BLAS libraries are loaded.
    return ThreadpoolController()


def limit_blas_threads() -> AbstractContextManager[object]:
    """Limit BLAS to one thread: results do not depend on their number, and n_jobs uses the cores.

    On a busy machine, products with several threads are slow: a sweep over 2,000 dense items took
    50 times as long. The limit applies to the whole process, so only the main thread sets it.
    """
    if threading.current_thread() is not threading.main_thread():
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes available on the machine and in its control groups (version 2), if known."""
    limits = []
    if hasattr(os, "sysconf"):  # not on Windows
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    machine = _fields(root / "proc/meminfo")
    if "MemAvailable:" in machine:
        limits.append(machine["MemAvailable:"] * 1024)
    mount = root / "sys/fs/cgroup"
    # In a container the path may be that of the host: missing files are skipped.
    path = _text(root / "proc/self/cgroup").strip().removeprefix("0::/").partition("\n")[0]
    for group in [mount / path, *(mount / path).parents]:
        limit, used = _text(group / "memory.max"), _text(group / "memory.current")
        if limit.strip().isdecimal() and used.strip().isdecimal():
            cached = _fields(group / "memory.stat").get("inactive_file", 0)
            limits.append(int(limit) - int(used) + cached)
    return max(0, min(limits)) if limits else None


def check_memory(size: int, what: str, remedy: str) -> None:
    """Raise MemoryError if ``what`` needs more bytes than are available."""
    available = available_memory() if size > MIN_CHECKED else None
    if available is not None and size > available:
        raise MemoryError(
            f"{what} needs {_bytes(size)} of memory, but only {_bytes(available)} is available; "
            f"{remedy}"
        )


def _bytes(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.1f} MiB"


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""


def _fields(path: Path) -> dict[str, int]:
    """Return the first number after the first word of each line."""
    rows = (line.split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}
