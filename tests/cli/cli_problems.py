"""Small inputs, and helpers to run the command in this process."""

import csv
from pathlib import Path

import numpy as np
from click.testing import CliRunner, Result

from odsymnmf.cli import app

FILES = ["labels.csv", "matrix.npz", "membership.csv", "model.npz", "report.html", "run.json"]


def run(*arguments: object) -> Result:
    """Run the command; raise any exception except SystemExit."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], prog_name="odsymnmf")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def refused(result: Result, code: int, *words: str) -> None:
    """Check the exit code, and that stderr is one line with all words."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    line = result.stderr.strip()
    assert line.startswith("Error: ")
    assert "\n" not in line
    for word in words:
        assert word in line


def rows(path: Path) -> list[list[str]]:
    """Return the rows of a csv file."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def write_edges(path: Path, groups: int = 3, size: int = 8, seed: int = 0) -> Path:
    """Write complete groups of named items, with a few links between groups."""
    n = groups * size
    rng = np.random.default_rng(seed)
    lines = ["source,target,weight"]
    for i in range(n):
        for j in range(i):
            if i // size == j // size or rng.uniform() < 0.05:
                lines.append(f"item {i},item {j},1")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
