"""The recipes of the site, each run in its own process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import odsymnmf

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"
# A condition on the variables of every recipe after it has run.
EXPECTED = {
    "network": 'len(groups) == 6 and "Marius" in between.index and "cluster" in G.nodes[name]',
    "dataframe": "len(keep) == 6 and accuracy(keep) > accuracy(every[:6])",
    "texts": 'scores["nmi"] > 0.8 and any("filter" == word for word, _ in topics[topic])',
    "single_cells": "0.8 < clear.n_obs / adata.n_obs < 1"
    ' and "CD34+" in {cluster["mostly"] for cluster in table.values()}',
}
RUN = """
import runpy, sys
result = runpy.run_path(sys.argv[1], run_name="__main__")
from matplotlib import pyplot
assert pyplot.get_fignums(), "no picture"
assert eval(sys.argv[2], result), {name: result.get(name) for name in ("scores", "table", "keep")}
"""


def test_every_recipe_is_tested():
    assert sorted(path.stem for path in RECIPES.glob("*.py")) == sorted(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_recipes(name):
    source = str(Path(odsymnmf.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", RUN, RECIPES / f"{name}.py", EXPECTED[name]],
        env={**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "ConvergenceWarning" not in done.stderr
