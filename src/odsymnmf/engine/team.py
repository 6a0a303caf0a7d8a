"""Threads that share the pieces of a round, and end with the fit.

A team belongs to one fit, so that fits may run side by side, and a child that is forked finds no
pool whose threads it does not have. Threads are enough: kernels release the interpreter's lock.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self


class Team:
    """The calling thread and as many others as make ``size``."""

    def __init__(self, size: int = 1):
        self.size = size
        self._pool = ThreadPoolExecutor(size - 1, "odsymnmf") if size > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def all(self, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run the tasks and return what they return, in their order.

        Whoever is free takes the next task. When one fails, or Ctrl-C is pressed, the others
        finish what they are at, and nothing of this call is running any more when it raises.
        """
        if self._pool is None or len(tasks) < 2:
            return [task() for task in tasks]
        found: list[Any] = [None] * len(tasks)
        rest = iter(range(len(tasks)))  # next() of a range is atomic

        def work() -> None:
            try:
                for k in rest:
                    found[k] = tasks[k]()
            except BaseException:
                for _ in rest:  # nobody is to begin another
                    pass
                raise

        helpers = [self._pool.submit(work) for _ in range(min(self.size, len(tasks)) - 1)]
        try:
            work()
        finally:
            errors = [helper.exception() for helper in helpers]
        for error in errors:
            if error is not None:
                raise error
        return found
