"""Small inputs, and two ways to run the command: in this process, and in one of its own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import odsymnmf
from odsymnmf.cli.app import app

FILES = ["labels.csv", "matrix.npz", "membership.csv", "model.odsym", "report.html", "run.json"]
posix = pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")
COMMAND = [sys.executable, "-m", "odsymnmf.cli"]


def run(*arguments: object) -> Result:
    """Run the command here; anything but an exit is an error of ours."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], prog_name="odsymnmf")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def process(*arguments: object, **options) -> subprocess.Popen:
    """Start the command in a process of its own."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([*COMMAND, *map(str, arguments)], env=environment(), **options)


def environment() -> dict[str, str]:
    """The variables that let a new process find this very package."""
    return {**os.environ, "PYTHONPATH": str(Path(odsymnmf.__file__).parents[1])}


def refused(result: Result, code: int, *words: str) -> None:
    """Expect an exit code, and one line on stderr that holds the words."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    line = result.stderr.strip()
    assert line.startswith("Error: ")
    assert "\n" not in line
    for word in words:
        assert word in line


def write_edges(path: Path, groups: int = 3, size: int = 8, seed: int = 0) -> Path:
    """Write complete groups of named items with a few links between them."""
    n = groups * size
    rng = np.random.default_rng(seed)
    lines = ["source,target,weight"]
    for i in range(n):
        for j in range(i):
            if i // size == j // size or rng.uniform() < 0.05:
                lines.append(f"item {i},item {j},1")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_long_fit(path: Path) -> Path:
    """Write a graph whose fit takes many sweeps of some milliseconds with --tol 0."""
    rng = np.random.default_rng(0)
    pairs = {(int(i), int(j)) for i, j in rng.integers(0, 3000, size=(60_000, 2)) if i < j}
    path.write_text("".join(f"a{i},a{j}\n" for i, j in sorted(pairs)), encoding="utf-8")
    return path


def python(code: str) -> subprocess.CompletedProcess:
    """Run a script."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment()
    )
