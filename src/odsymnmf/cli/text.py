"""Text for a terminal: one line, without surprises."""

import unicodedata
from collections.abc import Sequence

__all__ = ["one_line", "plain", "table"]


def one_line(error: BaseException) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        return plain(f"{where}{error.strerror}", 2000)
    if isinstance(error, MemoryError):
        return plain(f"not enough memory: {str(error) or 'the input is too large'}", 2000)
    # Errors of the readers say it twice: with the names of arguments, and of options.
    return plain(getattr(error, "command_line", None) or str(error), 2000)


def plain(name: str, most: int = 30) -> str:
    """Return a name in one line without control characters, which could upset a terminal."""
    line = " ".join(str(name).split())
    line = "".join("?" if unicodedata.category(c) in {"Cc", "Cf", "Cs"} else c for c in line)
    return line if len(line) <= most else line[: most - 1] + "…"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text in columns; the first row is the heading."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
