"""A stream for notes and progress that never stands in the way of the work."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any

__all__ = ["forgiving_stderr"]


class Forgiving:
    """Writes to another stream; once that is full or closed, writes nowhere."""

    def __init__(self, stream: Any):
        self._stream = stream
        self._lost = stream is None  # closed before we began, as in 2>&-

    def write(self, text: str) -> int:
        """Write, if it can be done."""
        if not isinstance(text, str):  # click asks so what kind of stream this is
            raise TypeError(f"a str is needed, not {type(text).__name__}")
        self._try("write", text)
        return len(text)

    def flush(self) -> None:
        """Hand on what was written, if it can be done."""
        self._try("flush")

    def isatty(self) -> bool:
        """Tell whether somebody looks at a terminal."""
        return not self._lost and bool(self._stream.isatty())

    def _try(self, method: str, *arguments: str) -> None:
        if self._lost:
            return
        try:
            getattr(self._stream, method)(*arguments)
        except (OSError, ValueError):  # ValueError: the stream was closed
            self._lost = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def forgiving_stderr() -> Iterator[None]:
    """Let no note or progress bar end a fit because stderr is full or closed."""
    with redirect_stderr(Forgiving(sys.stderr)):
        yield
