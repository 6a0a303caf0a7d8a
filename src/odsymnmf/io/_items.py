"""What every reader returns, and the one error that it raises."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from odsymnmf.arrays import Array


class InputError(ValueError):
    """Raised for a file that cannot be read; the message is one line: file, line, problem, remedy.

    Examples
    --------
    >>> from odsymnmf import io
    >>> try:
    ...     io.read("missing.csv")
    ... except io.InputError as error:
    ...     print(error)
    missing.csv: no such file; check the spelling and the folder

    The message names arguments of Python functions. ``command_line`` is the same message with the
    options of the command `odsymnmf` instead.
    """

    def __init__(self, message: str, command_line: str | None = None) -> None:
        super().__init__(message)
        self.command_line = message if command_line is None else command_line


class Remedy(NamedTuple):
    """What to do about a problem, as a caller of the library and as a user of the command."""

    python: str
    command_line: str


@dataclass(frozen=True)
class Items:
    """Items with their similarities (or features), as read from a file.

    Attributes
    ----------
    matrix : ndarray or csr_array
        Similarities, n x n, symmetric, with an empty diagonal; or n x m features.
    names : list of str
        The n names; "0", "1", ... when the file has none.
    format : str
        The format that was recognised, one of `FORMATS`.
    notes : list of str
        Notes for the user: what was assumed, summed or left out.
    truth : ndarray or None
        The class of each item, from a ``.rclass`` file next to a CLUTO matrix.
    features : list of str or None
        The names of the m features, where the file has them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from odsymnmf import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "graph.csv")
    ...     _ = path.write_text("ann,bob,2\\nbob,cid,1\\n")
    ...     items = io.read(path)
    >>> items.names, items.format
    (['ann', 'bob', 'cid'], 'edges')
    >>> items.matrix.toarray()
    array([[0., 2., 0.],
           [2., 0., 1.],
           [0., 1., 0.]])
    """

    matrix: Any
    names: list[str]
    format: str
    notes: list[str]
    truth: Array | None = None
    features: list[str] | None = None


def bad(
    path: Path, problem: str, remedy: str | Remedy = "", *, line: int | None = None
) -> InputError:
    """Return the error; whatever stands in the file or its name, it fits on one line.

    A problem without ``remedy`` ends with it.
    """
    where = f"{path}, line {line}" if line is not None else f"{path}"
    ways = remedy if isinstance(remedy, Remedy) else Remedy(remedy, remedy)
    return InputError(*(_one_line(f"{where}: {problem}{'; ' * bool(w)}{w}") for w in ways))


def _one_line(message: str) -> str:
    message = " ".join(message.split())
    if message.isprintable():
        return message
    return "".join(c if c.isprintable() else "?" for c in message)


def reason(error: Exception) -> str:
    """Return what a library says of a file; some quote half of it."""
    text = str(error) or type(error).__name__
    return text if len(text) <= 120 else text[:117] + "..."


def quoted(text: str) -> str:
    """Return text from a file for a message: in quotes, printable, not too long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def numbered(n: int) -> list[str]:
    """Return the names of items that have none."""
    return [str(i) for i in range(n)]


def number(text: str) -> float | None:
    """Return text as a float, None if it is not one. (1_000 is one in Python only.)"""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None
