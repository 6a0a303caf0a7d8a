"""Parts written out in less time.

Before Numba writes a part out, it copies its blocks one by one, and with each of them a scope that
names every variable of the part: the time grows as the square of its length, and was half of that
of compiling `mixed`. Here the blocks of a part share one copy of their scope, as they share their
scope.
"""

import copy
from contextlib import suppress
from functools import wraps
from typing import Any


class _Copies:
    """What `copy` is to Numba while it writes out one part."""

    def __init__(self) -> None:
        self._scope: Any = None
        self._copy: Any = None

    def deepcopy(self, block: Any) -> Any:
        """Return a copy of a block whose scope is that of the block before, if theirs were one."""
        scope = block.scope
        if scope is not self._scope:
            self._scope, self._copy = scope, copy.deepcopy(scope)
        return copy.deepcopy(block, {id(scope): self._copy})


def share_scopes() -> None:
    """Let the blocks of a part share the copy of their scope; another Numba goes without."""
    with suppress(ImportError, AttributeError):
        from numba.core import inline_closurecall

        write_out = inline_closurecall.InlineWorker.inline_ir
        if inline_closurecall.copy is not copy:
            return

        @wraps(write_out)
        def quickly(*args: Any, **options: Any) -> Any:
            # Numba's lock is held: one thread compiles at a time.
            inline_closurecall.copy = _Copies()
            try:
                return write_out(*args, **options)
            finally:
                inline_closurecall.copy = copy

        inline_closurecall.InlineWorker.inline_ir = quickly
