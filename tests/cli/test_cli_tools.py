"""score, plot, info, and what is installed."""

import os
import re
from pathlib import Path

import pytest
from cli_problems import FILES, refused, run

import odsymnmf
from odsymnmf.cli import app
from odsymnmf.cli.options import FORMATS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "labels.csv").write_text(
        "name,cluster,strength\na,0,1\nb,0,1\nc,1,1\nd,-1,0\ne,1,1\nspare,0,1\n"
    )
    (tmp_path / "truth.csv").write_text("name,group\ne,x\nd,x\nc,x\nb,y\na,y\nother,y\nmore,x\n")
    return tmp_path / "labels.csv", tmp_path / "truth.csv"


def test_score(tables):
    result = run("score", *tables)
    assert result.exit_code == 0
    expected = odsymnmf.metrics.scores([0, 0, 1, -1, 1], ["y", "y", "x", "x", "x"])
    for name, value in expected.items():
        assert f"{name:17}{value:.4f}\n" in result.stdout
    assert f"{'items':17}5\n{'unassigned':17}1 (-1)" in result.stdout
    labels, truth = tables
    assert result.stderr.splitlines() == [
        f"left out, because they are not in {truth}: 1 of {labels}",
        f"left out, because they are not in {labels}: 2 of {truth}",
    ]


def test_score_leaves_unknown_groups_out(tables):
    labels, truth = tables
    truth.write_text(truth.read_text().replace("d,x", "d,-1"))
    result = run("score", labels, truth)
    assert f"{'accuracy':17}1.0000" in result.stdout
    assert f"{'items':17}4\n{'unassigned':17}0 (-1)" in result.stdout
    assert f"{'unknown':17}1 (-1 in " in result.stdout


def test_score_of_labels_without_common_names_is_an_error(tables):
    labels, truth = tables
    assert run("score", labels.parent, truth).stdout == run("score", labels, truth).stdout
    truth.write_text("name,group\nz,x\n")
    refused(run("score", labels, truth), 1, "no name in common")
    refused(run("score", labels, truth.parent / "missing.csv"), 1, "missing.csv")
    assert run("score", labels).exit_code == 2


def test_covers_are_scored(finished, tmp_path):
    truth, other = tmp_path / "truth.txt", tmp_path / "other.txt"
    lines = ["\t".join(names) for names in odsymnmf.load(finished / "model.npz").overlapping_sets()]
    truth.write_text("# one per line\n" + "\n".join(lines) + "\n")
    for cover in (finished, truth):
        result = run("score", cover, truth, "--covers")
        assert result.exit_code == 0, result.stderr
        assert "overlapping NMI  1.0000" in result.stdout
        assert "omega index      1.0000" in result.stdout
    other.write_text(lines[0] + "\n")
    result = run("score", other, truth, "--covers")
    assert "1, compared with 3" in result.stdout
    assert "in no cluster" in result.stdout
    for text, problem in [("x\ty\n", "no name in common"), ("# x\n", "no clusters in it")]:
        other.write_text(text)
        refused(run("score", other, truth, "--covers"), 1, problem)


def test_plot_draws_every_kind_in_every_format(finished, tmp_path):
    start = {"svg": b"<?xml", "png": b"\x89PNG", "PDF": b"%PDF"}
    for kind, suffix in zip(("matrix", "convergence", "memberships"), start, strict=True):
        picture = tmp_path / "new" / "folder" / f"{kind}.{suffix}"
        assert run("plot", finished, "--kind", kind, "-o", picture).exit_code == 0
        assert picture.read_bytes().startswith(start[suffix])
        assert picture.stat().st_size > 2000
    assert sorted(os.listdir(finished)) == FILES


def test_plot_replaces_only_by_force(finished, tmp_path):
    picture = tmp_path / "picture.svg"
    picture.write_text("mine")
    arguments = ["plot", finished, "--kind", "convergence", "-o", picture]
    refused(run(*arguments), 1, "already exists; use --force to replace it")
    assert picture.read_text() == "mine"
    assert run(*arguments, "--force").exit_code == 0
    assert picture.read_text().startswith("<?xml")
    assert sorted(os.listdir(tmp_path)) == ["finished", "graph.csv", "picture.svg"]
    refused(run(*arguments[:-1], picture / "b.png"), 1, "picture.svg")
    refused(run("plot", tmp_path, "-o", tmp_path / "b.svg"), 1, "is not a run of odsymnmf")
    result = run("plot", finished, "-o", tmp_path / "picture.gif")
    assert (result.exit_code, ".png, .svg or .pdf" in result.stderr) == (2, True)


def test_plot_of_letters_that_the_font_lacks(tmp_path):
    (tmp_path / "graph.csv").write_text("東京,b\nb,🦊\n東京,🦊\n", encoding="utf-8")
    run("cluster", tmp_path / "graph.csv", "-r", 1, "-q", "-o", tmp_path / "run")
    picture = tmp_path / "picture.png"
    result = run("plot", tmp_path / "run", "--kind", "memberships", "-o", picture)
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("warning: Glyph ") for line in lines)


def test_info():
    result = run("info")
    assert result.exit_code == 0
    lines = {line[:17].strip(): line[17:] for line in result.stdout.splitlines()}
    assert lines["odsymnmf"] == odsymnmf.__version__
    assert os.path.isdir(lines["numba cache"])


def test_command_line_page_has_all_commands():
    text = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    known = {
        name
        for command in app.commands.values()
        for p in command.params
        for name in (*p.opts, *p.secondary_opts)
    } | {"--help"}
    assert {*re.findall(r"--[a-z][a-z-]+", text)} <= known
    assert {*re.findall(r"^(?:eval ..)?odsymnmf (\w+)", text, re.MULTILINE)} <= {*app.commands}
    for name in FORMATS:
        assert f"`{name}`" in text


def test_plot_draws_the_graph_of_a_run(edges, finished, tmp_path, monkeypatch):
    header, *lines = edges.read_text().splitlines()
    edges.write_text("\n".join([header, *reversed(lines)]))
    views, original = [], odsymnmf.plots.plot_graph

    def plot_graph(G, view):
        views.append((G, view))
        return original(G, view)

    monkeypatch.setattr(odsymnmf.plots, "plot_graph", plot_graph)
    picture = tmp_path / "graph.svg"
    result = run("plot", finished, "--graph", edges, "-o", picture)
    assert result.exit_code == 0, result.stderr
    assert "<svg" in picture.read_text()
    G, view = views[0]
    model = odsymnmf.load(finished / "model.npz")
    labels = dict(zip(model.item_names_, model.labels_, strict=True))
    assert G.names != model.item_names_
    assert view.labels.tolist() == [labels[name] for name in G.names]
    edges.write_text("a,b\nb,c\n")
    result = run("plot", finished, "--graph", edges, "-o", tmp_path / "x.svg")
    refused(result, 1, "different items")
    edges.write_text("id,u,v\n1,a,b\n2,b,c\n")
    columns = tmp_path / "columns"
    assert run("cluster", edges, "-r", 1, "--columns", "u,v", "-o", columns).exit_code == 0
    assert run("plot", columns, "--graph", edges, "-o", tmp_path / "x.svg").exit_code == 0
