"""Compiled kernels: plain arrays in, plain arrays out.

A kernel module is imported at its first use, because importing numba takes time and most of the
library does not need it.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def __getattr__(name: str) -> Any:
    module = f"{__name__}.{name}"
    if name.startswith("_") or find_spec(module) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(module)
