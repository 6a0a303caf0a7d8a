"""Compiled kernels: plain arrays in, plain arrays out.

A kernel module is imported when it is first used, because importing numba takes a while and
most of the library does without it.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def __getattr__(name: str) -> Any:
    home = f"{__name__}.{name}"
    if name.startswith("_") or find_spec(home) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(home)
