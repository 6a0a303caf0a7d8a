"""`odsymnmf cluster --many` and `predict` for hundreds of clusters."""

import json

import numpy as np
import pytest
from cli_problems import rows, run
from scipy import sparse


@pytest.fixture(scope="module")
def rings(tmp_path_factory):
    """300 complete groups of five items in a ring, with one link between consecutive groups."""
    path = tmp_path_factory.mktemp("many") / "rings.edges"
    lines = []
    for g in range(300):
        names = [f"g{g}_{i}" for i in range(5)]
        lines += [f"{a} {b}" for k, a in enumerate(names) for b in names[k + 1 :]]
        lines.append(f"g{g}_0 g{(g + 1) % 300}_1")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("r", ["auto", 300])
def test_groups_are_found_and_written(rings, r, tmp_path):
    folder = tmp_path / "run"
    result = run("cluster", rings, "-r", r, "--many", "-o", folder)
    assert result.exit_code == 0, result.output
    assert "1,500 items in 300 clusters" in result.stdout
    lines = (folder / "clusters.txt").read_text().splitlines()
    clusters = [set(line.split("\t")) for line in lines]
    # The neighbors of the group in the ring, with one link each, may be in the set, too.
    for g in range(300):
        group = {f"g{g}_{i}" for i in range(5)}
        assert any(group <= items and len(items) <= 7 for items in clusters)
    H = sparse.load_npz(folder / "membership.npz")
    assert H.shape == (1500, 300)
    assert len((folder / "labels.csv").read_text().splitlines()) == 1501
    record = json.loads((folder / "run.json").read_text())
    assert record["fit"]["clusters"] == 300
    assert record["parameters"]["sparse_membership"] is True
    assert np.all(np.diff(record["fit"]["history"]) <= 1e-9)
    assert (folder / "report.html").stat().st_size < 2e6


def test_new_items_go_to_the_groups_they_are_linked_to(rings, tmp_path):
    assert run("cluster", rings, "-r", 300, "--many", "-o", tmp_path / "run").exit_code == 0
    new_links = [("x", 3, 0), ("x", 3, 2), ("x", 3, 3), ("x", 3, 4), ("y", 7, 2), ("y", 7, 3)]
    new = tmp_path / "new.edges"
    new.write_text("".join(f"{name} g{g}_{i}\n" for name, g, i in new_links))
    result = run("predict", tmp_path / "run", new, "-o", tmp_path / "new")
    assert result.exit_code == 0, result.output
    labels = {row[0]: row[1] for row in rows(tmp_path / "run/labels.csv")}
    _, x, y = rows(tmp_path / "new/labels.csv")
    assert (x[:2], y[:2]) == (["x", labels["g3_3"]], ["y", labels["g7_3"]])
    assert all(0.5 < float(row[2]) <= 1 for row in (x, y))
    H = sparse.load_npz(tmp_path / "new/membership.npz")
    assert H.shape == (2, 300)
    assert not (tmp_path / "new/membership.csv").exists()
