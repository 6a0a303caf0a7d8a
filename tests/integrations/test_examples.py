"""The recipes: from data to a picture to a decision, each as a script in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import odsymnmf

EXAMPLES = Path(__file__).parents[2] / "examples"
# What each prints, and the files that it leaves.
EXPECTED = {
    "network": (["at several tables:", "Valjean"], ["network.gml", "network.png"]),
    "dataframe": (["keep 'worst texture'", "mean texture"], ["dataframe.csv", "dataframe.png"]),
    "texts": (["spline", "belongs to"], ["texts.png"]),
    "single_cells": (
        ["cells are clearly of one type", "CD19+ B"],
        ["single_cells.h5ad", "single_cells.png"],
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_examples(name, tmp_path):
    words, files = EXPECTED[name]
    source = str(Path(odsymnmf.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", tmp_path / "out"],
        env={**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "ConvergenceWarning" not in done.stderr
    for word in words:
        assert word in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == files
