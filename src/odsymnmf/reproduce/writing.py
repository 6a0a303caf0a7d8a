"""How results are written: CSV, Markdown tables and pictures."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odsymnmf.reproduce.cells import Request

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"OD-l1": "C3", "OD-l2": "C0", "symNMF": "C2", "ours l1": "C1", "ours l2": "C4"}


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the rows, whose keys are the names of the columns."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table.

    Examples
    --------
    >>> print(table(["n", "time"], [["10", "1 s"]]), end="")
    | n | time |
    |---|---|
    | 10 | 1 s |
    """
    lines = [header, *rows]
    written = ["| " + " | ".join(cells) + " |" for cells in lines]
    return "\n".join([written[0], "|---" * len(header) + "|", *written[1:]]) + "\n"


def write_page(request: Request, name: str, title: str, pieces: Sequence[str]) -> None:
    """Write NAME.md: the title, the command that made it, the pieces, the picture."""
    page = [f"# {title}", f"```\n{command(request, name)}\n```", *(p.strip() for p in pieces)]
    page.append(f"![{title}]({name}.png)")
    (request.out / f"{name}.md").write_text("\n\n".join(page) + "\n")


def command(request: Request, name: str) -> str:
    """Return the command that makes a result, without the names of this computer's directories."""
    data = " --data DIR" if request.data and name in ("all", "starts", "table-documents") else ""
    words = f"python -m odsymnmf.reproduce {name} --out DIR{data}"
    return f"{words} --trials {request.trials} --seed {request.seed}"


def canvas(width: float, height: float) -> "Figure":
    """Return an empty picture."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "odsymnmf[plots]"') from error
    return Figure(figsize=(width, height), layout="constrained")


def save(picture: "Figure", request: Request, name: str) -> None:
    """Write NAME.png, the same bytes for the same picture."""
    picture.savefig(request.out / f"{name}.png", dpi=120, metadata={"Software": None})
