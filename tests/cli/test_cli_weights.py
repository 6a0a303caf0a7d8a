"""odsymnmf cluster --weights: weights of pairs, and unknown pairs, from a file."""

import json
import os

import numpy as np
from cli_problems import refused, rows, run
from scipy import sparse

import odsymnmf as od
from odsymnmf import io


def memberships(folder):
    return np.array([row[1:] for row in rows(folder / "membership.csv")[1:]], dtype=float)


def test_the_fit_is_that_of_the_library(edges, tmp_path):
    path, folder = tmp_path / "weights.csv", tmp_path / "run"
    path.write_text("item 0,item 1,0\nitem 3,item 2,2.5\nitem 20,item 1,0\n")
    result = run("cluster", edges, "-r", 3, "--weights", path, "-o", folder)
    assert result.exit_code == 0, result.stderr

    items = io.read(edges)
    place = {name: i for i, name in enumerate(items.names)}
    pairs = [(0, 1, 0.0), (2, 3, 2.5), (1, 20, 0.0)]
    i = [place[f"item {a}"] for a, b, w in pairs for a, b in ((a, b), (b, a))]
    j = [place[f"item {b}"] for a, b, w in pairs for a, b in ((a, b), (b, a))]
    w = np.repeat([w for _, _, w in pairs], 2)
    W = sparse.coo_array((w, (i, j)), shape=(24, 24))
    model = od.ODSymNMF(3, random_state=0).fit(items.matrix, weights=W)
    assert np.array_equal(memberships(folder), model.membership_)
    plain = od.ODSymNMF(3, random_state=0).fit(items.matrix)
    assert not np.array_equal(memberships(folder), plain.membership_)

    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert record["input"]["weights"] == f"{path}, 3 pairs"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "weights.csv, 3 pairs" in page


def test_bad_weights_are_refused(edges, tmp_path):
    path = tmp_path / "weights.csv"
    path.write_text("item 0,item 1,0\nitem 1,somebody,1\n")
    result = run("cluster", edges, "-r", 3, "--weights", path, "-o", tmp_path / "run")
    refused(result, 1, "weights.csv", "'somebody'", "no such item")
    result = run("cluster", edges, "-r", 3, "--weights", tmp_path / "no.csv", "-o", tmp_path / "r")
    refused(result, 1, "no.csv", "no such file")
    assert sorted(os.listdir(tmp_path)) == ["graph.csv", "weights.csv"]
