"""How every kernel is compiled: cached if the disk allows, and never half."""

import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import config, njit

from odsymnmf.kernels.inlining import share_scopes
from odsymnmf.signals import held

share_scopes()

_warned = threading.Event()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on first call, cache on disk, release the GIL; fused multiply-add is allowed.

    A kernel makes no arrays of its own: its workspace comes from the caller. So nobody has to count
    who refers to an array (Numba's NRT), and its parts may hand arrays to each other for nothing.
    """
    return _compiled(function, {"contract"})


def allocating(function: Callable[..., Any]) -> Any:
    """Compile as `kernel` does; the function may make arrays of its own, once a call."""
    return _compiled(function, {"contract"}, nrt=True)


def summing(function: Callable[..., Any]) -> Any:
    """Compile as `kernel` does, and let sums be added in any order, so that they vectorise."""
    return _compiled(function, {"contract", "reassoc", "nsz"})


def part(function: Callable[..., Any]) -> Any:
    """Write the function out in the kernels that call it: compiling it on its own costs time.

    Fields of a tuple get a name before they are written to: in a part within a part, Numba 0.6x has
    been seen to lose the store ``row.root[l] = ...``.
    """
    return njit(inline="always")(function)


def _compiled(function: Callable[..., Any], fastmath: set[str], nrt: bool = False) -> Any:
    options: dict[str, Any] = {"nogil": True, "_nrt": nrt, "fastmath": fastmath}
    try:
        dispatcher = njit(cache=True, **options)(function)
    except (RuntimeError, OSError) as error:  # no folder of Numba's choice can be written to
        _warn_once(error)
        dispatcher = njit(**options)(function)
    if not config.DISABLE_JIT:
        for protect in (_hold_signals, _forgive_cache):
            with suppress(AttributeError):  # a Numba with other internals goes without
                protect(dispatcher)
    return dispatcher


def _hold_signals(dispatcher: Any) -> None:
    """Hold Ctrl-C off: a compilation cut in two leaves a kernel that can never be called.

    Numba's C code looks these methods up when no compiled version fits, or a type of argument is
    new (which imports parts of NumPy), and only then.
    """

    def whole(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            with held():
                return method(*args)

        return call

    dispatcher._compile_for_args = whole(dispatcher._compile_for_args)
    dispatcher.typeof_pyval = whole(dispatcher.typeof_pyval)


def _forgive_cache(dispatcher: Any) -> None:
    """Make a damaged or unwritable cache a matter of speed alone."""
    cache = dispatcher._cache
    load, save = cache.load_overload, cache.save_overload

    def load_or_compile(*args: Any) -> Any:
        try:
            return load(*args)
        except Exception as error:  # unpickling a damaged file can raise anything
            _warn_once(error)
            with suppress(Exception):
                cache.flush()  # an empty index, so that the next process finds a sound one
            return None

    def save_if_possible(*args: Any) -> None:
        try:
            save(*args)
        except Exception as error:  # a full disk, or a folder that has gone
            _warn_once(error)

    cache.load_overload, cache.save_overload = load_or_compile, save_if_possible


def _warn_once(error: Exception) -> None:
    if not _warned.is_set():
        _warned.set()
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        warnings.warn(
            f"compiled kernels could not be read from or kept in Numba's cache ({reason}), so they "
            "are compiled anew, which takes some seconds; let the environment variable "
            "NUMBA_CACHE_DIR name a folder that can be written to, with room in it",
            RuntimeWarning,
            stacklevel=2,
        )
