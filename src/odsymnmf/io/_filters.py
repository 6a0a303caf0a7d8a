"""Filters for warnings, set by one thread at a time.

Python's list of filters belongs to the process, and whoever leaves `catch_warnings` puts back what
was there on entering: of two readers side by side, one would leave the other's filter for good.
"""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

_one_by_one = threading.RLock()


@contextmanager
def filtered(action: Literal["error", "ignore"], about: type[Warning] = Warning) -> Iterator[None]:
    """Let warnings of a kind be errors, or nothing, inside the block."""
    with _one_by_one, warnings.catch_warnings():
        warnings.simplefilter(action, about)
        yield
