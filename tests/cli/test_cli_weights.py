"""odsymnmf cluster --weights: weights of pairs, and unknown pairs, from a file."""

import csv
import hashlib
import json
import os

import numpy as np
from cli_problems import refused, run
from scipy import sparse

import odsymnmf as od
from odsymnmf import io


def memberships(folder):
    with open(folder / "membership.csv", newline="", encoding="utf-8") as file:
        return np.array([row[1:] for row in list(csv.reader(file))[1:]], dtype=float)


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
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert record["input"]["weights"] == {"path": str(path), "sha256": sha256}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "weights.csv, 3 pairs" in page


def test_a_weight_of_zero_is_an_unknown_pair(tmp_path):
    rng = np.random.default_rng(0)
    A = rng.uniform(size=(6, 6)).round(2)
    A += A.T
    names = list("abcdef")

    def write(name, values):
        lines = [",".join(["", *names])]
        lines += [",".join([names[i], *map(str, row)]) for i, row in enumerate(values.tolist())]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return tmp_path / name

    (tmp_path / "weights.csv").write_text("b,e,0\n")
    full = write("full.csv", A)
    A[1, 4] = A[4, 1] = np.nan
    gap = write("gap.csv", A)
    options = ["--weights", tmp_path / "weights.csv"]
    assert run("cluster", full, "-r", 2, *options, "-o", tmp_path / "a").exit_code == 0
    assert run("cluster", gap, "-r", 2, "-o", tmp_path / "b").exit_code == 0
    assert np.array_equal(memberships(tmp_path / "a"), memberships(tmp_path / "b"))


def test_a_name_that_is_not_there_is_refused(edges, tmp_path):
    path = tmp_path / "weights.csv"
    path.write_text("item 0,item 1,0\nitem 1,somebody,1\n")
    result = run("cluster", edges, "-r", 3, "--weights", path, "-o", tmp_path / "run")
    refused(result, 1, "weights.csv", "'somebody'", "no such item")
    assert sorted(os.listdir(tmp_path)) == ["graph.csv", "weights.csv"]


def test_a_missing_file_is_refused(edges, tmp_path):
    result = run("cluster", edges, "-r", 3, "--weights", tmp_path / "no.csv", "-o", tmp_path / "r")
    refused(result, 1, "no.csv", "no such file")
