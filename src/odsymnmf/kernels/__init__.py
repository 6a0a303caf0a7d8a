"""Compiled kernels: plain arrays in, plain arrays out.

A kernel module is imported when it is first used, because importing numba takes a while and
most of the library does without it.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from odsymnmf.signals import held


def __getattr__(name: str) -> Any:
    home = f"{__name__}.{name}"
    with held():  # Ctrl-C here would leave half of Numba imported, or be swallowed by it
        if name.startswith("_") or find_spec(home) is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(home)
