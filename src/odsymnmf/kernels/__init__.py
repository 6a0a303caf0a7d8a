"""Compiled kernels: plain arrays in, plain arrays out.

A kernel module is imported when it is first used, because importing numba takes a while and
most of the library does without it.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from odsymnmf.signals import held

if TYPE_CHECKING:
    from odsymnmf.kernels import (
        checks,
        greedy,
        l1,
        l2,
        mixed,
        pairs,
        rounds,
        sources,
        symnmf,
        weighted_median,
        weights,
    )

__all__ = [
    "checks",
    "greedy",
    "l1",
    "l2",
    "mixed",
    "pairs",
    "rounds",
    "sources",
    "symnmf",
    "weighted_median",
    "weights",
]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with held():  # Ctrl-C here would leave half of Numba imported, or be swallowed by it
        return import_module(f"{__name__}.{name}")
