"""score, plot, info, completion, and what is installed."""

import errno
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from cli_problems import FILES, refused, run

import odsymnmf
from odsymnmf.cli import info
from odsymnmf.cli.app import app
from odsymnmf.cli.cluster import FORMATS

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
        assert f"{name:10}{value:.4f}\n" in result.stdout
    assert "items     5\n" in result.stdout
    assert "1 unassigned" in result.stdout
    labels, truth = tables
    assert result.stderr.splitlines() == [
        f"1 name of {labels} is not in {truth}: left out",
        f"2 names of {truth} are not in {labels}: left out",
    ]


def test_score_leaves_unknown_groups_out(tables):
    labels, truth = tables
    truth.write_text(truth.read_text().replace("d,x", "d,-1"))
    result = run("score", labels, truth)
    assert "accuracy  1.0000" in result.stdout
    assert "items     4\n" in result.stdout
    assert "1 of unknown group" in result.stdout
    assert "unassigned" not in result.stdout


def test_score_of_strangers(tables):
    labels, truth = tables
    truth.write_text("name,group\nz,x\n")
    refused(run("score", labels, truth), 1, "no name in common")
    refused(run("score", labels, truth.parent / "missing.csv"), 1, "missing.csv")
    refused(run("score", truth.parent, truth), 1, "is a folder; give a table", "labels.csv")
    assert run("score", labels).exit_code == 2


@pytest.mark.parametrize("kind", ["matrix", "convergence", "memberships"])
@pytest.mark.parametrize("suffix", ["svg", "png", "PDF"])
def test_plot(finished, tmp_path, kind, suffix):
    pictures = []
    for name in ["a", "b"]:
        picture = tmp_path / f"{name}.{suffix}"
        assert run("plot", finished, "--kind", kind, "-o", picture).exit_code == 0
        pictures.append(picture.read_bytes())
    start = {"svg": b"<?xml", "png": b"\x89PNG", "PDF": b"%PDF"}[suffix]
    assert pictures[0].startswith(start)
    assert len(pictures[0]) > 2000
    assert pictures[0] == pictures[1]
    assert sorted(os.listdir(finished)) == FILES


def test_plots_differ(finished, tmp_path):
    kinds = ["matrix", "convergence", "memberships"]
    for kind in kinds:
        run("plot", finished, "--kind", kind, "-o", tmp_path / f"{kind}.svg")
    assert len({(tmp_path / f"{kind}.svg").read_bytes() for kind in kinds}) == 3


def test_plot_replaces_only_by_force(finished, tmp_path):
    picture = tmp_path / "picture.svg"
    picture.write_text("mine")
    arguments = ["plot", finished, "--kind", "convergence", "-o", picture]
    refused(run(*arguments), 1, "already exists; use --force to replace it")
    assert picture.read_text() == "mine"
    assert run(*arguments, "--force").exit_code == 0
    assert picture.read_text().startswith("<?xml")
    assert sorted(os.listdir(tmp_path)) == ["finished", "graph.csv", "picture.svg"]
    (tmp_path / "folder.svg").mkdir()
    refused(run(*arguments[:-1], tmp_path / "folder.svg", "--force"), 1, "is not a file")


def test_plot_draws_the_matrix_by_default(finished, tmp_path):
    assert run("plot", finished, "-o", tmp_path / "a.svg").exit_code == 0
    assert run("plot", finished, "--kind", "matrix", "-o", tmp_path / "b.svg").exit_code == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_plot_usage(finished, tmp_path):
    result = run("plot", finished, "--kind", "matrix", "-o", tmp_path / "picture.gif")
    assert result.exit_code == 2
    assert ".png, .svg or .pdf" in result.stderr
    assert run("plot", finished, "--kind", "pie", "-o", "picture.png").exit_code == 2


def test_plot_into_a_missing_folder(finished, tmp_path, monkeypatch):
    """It is made, as cluster does; and if the picture fails, it is gone again."""
    picture = tmp_path / "missing" / "deep" / "picture.png"
    arguments = ["plot", finished, "--kind", "matrix", "-o"]
    assert run(*arguments, picture).exit_code == 0
    assert os.listdir(picture.parent) == ["picture.png"]
    refused(run(*arguments, picture / "b.png"), 1, "Not a directory; choose another place")

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    refused(run(*arguments, tmp_path / "other" / "b.png"), 1, "make room")
    assert sorted(os.listdir(tmp_path)) == ["finished", "graph.csv", "missing"]


def test_plot_of_letters_that_the_font_lacks(tmp_path):
    (tmp_path / "graph.csv").write_text("東京,b\nb,🦊\n東京,🦊\n", encoding="utf-8")
    run("cluster", tmp_path / "graph.csv", "-r", 1, "-q", "-o", tmp_path / "run")
    picture = tmp_path / "picture.png"
    result = run("plot", tmp_path / "run", "--kind", "memberships", "-o", picture)
    assert result.exit_code == 0
    assert result.stderr.startswith("note: the font lacks letters of some names")
    assert result.stderr.count("\n") == 1


def test_plot_marks_restarts(finished, tmp_path):
    record = json.loads((finished / "run.json").read_text())
    picture = tmp_path / "picture.svg"
    for restarts, words in [([1], "<!-- iterations and restarts -->"), ([10**6], "is damaged")]:
        record["fit"]["restarts"] = restarts
        (finished / "run.json").write_text(json.dumps(record))
        result = run("plot", finished, "--kind", "convergence", "-o", picture, "--force")
        assert words in picture.read_text() + result.stderr


def test_plot_of_what_is_no_run(tmp_path):
    arguments = ["--kind", "matrix", "-o", tmp_path / "picture.svg"]
    refused(run("plot", tmp_path / "missing", *arguments), 1, "is not a folder")
    refused(run("plot", tmp_path, *arguments), 1, "is not a run of odsymnmf")
    (tmp_path / "run.json").write_text("{" * 10_000)
    refused(run("plot", tmp_path, *arguments), 1, "is not a run of odsymnmf")


DAMAGES = {
    "matrix": ["matrix.npz"],
    "memberships": ["membership.csv", "labels.csv"],
}


@pytest.mark.parametrize("damage", ["gone", "cut", "empty", "other"])
@pytest.mark.parametrize(("kind", "file"), [(k, f) for k, fs in DAMAGES.items() for f in fs])
def test_plot_of_a_damaged_run(finished, tmp_path, kind, file, damage):
    path = finished / file
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        cut = {
            "cut": content[: len(content) // 2],
            "empty": b"",
            "other": b"PK\x03\x04" + b"x" * 99,
        }
        path.write_bytes(cut[damage])
    result = run("plot", finished, "--kind", kind, "-o", tmp_path / "picture.svg")
    refused(result, 1, "is damaged", "run odsymnmf cluster again")
    assert not (tmp_path / "picture.svg").exists()


def test_plot_of_a_run_without_history(finished, tmp_path):
    record = json.loads((finished / "run.json").read_text())
    record["fit"] = {}
    (finished / "run.json").write_text(json.dumps(record))
    result = run("plot", finished, "--kind", "convergence", "-o", tmp_path / "picture.svg")
    refused(result, 1, "run.json is missing or was changed")


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("key", ["values", "edges", "n"])
def test_plot_never_unpickles(finished, tmp_path, key):
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    arrays = {"values": np.eye(2), "edges": np.arange(4), "n": 2, key: trap}
    np.savez(finished / "matrix.npz", **arrays)
    result = run("plot", finished, "--kind", "matrix", "-o", tmp_path / "picture.svg")
    refused(result, 1, "matrix.npz")
    assert not (tmp_path / "sprung").exists()


def test_info():
    result = run("info")
    assert result.exit_code == 0
    lines = {line[:14].strip(): line[14:] for line in result.stdout.splitlines()}
    for name in ["odsymnmf", "numpy", "scipy", "scikit-learn", "numba"]:
        assert lines[name][0].isdigit()
    assert lines["numpy"] == np.__version__
    assert lines["python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert "blas" in result.stdout
    assert lines["numba cache"].endswith("(writable)")
    assert os.path.isdir(lines["numba cache"].partition(" (")[0])


def test_info_says_where_the_cache_cannot_be_written(monkeypatch):
    monkeypatch.setattr(info.os, "access", lambda path, mode: False)
    assert "NOT writable: set NUMBA_CACHE_DIR" in run("info").stdout


def test_info_of_a_cache_that_is_not_there_yet(tmp_path, monkeypatch):
    from odsymnmf.kernels import l2

    stats = l2.sweep.stats._replace(cache_path=str(tmp_path / "deep" / "cache"))
    monkeypatch.setattr(type(l2.sweep), "stats", stats)
    assert f"{stats.cache_path} (not there yet; can be made)" in run("info").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"_ODSYMNMF_COMPLETE={shell}_complete" in result.stdout
    assert run("completion", "csh").exit_code == 2


def test_completion_completes():
    words = {"COMP_WORDS": "odsymnmf cluster --no", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-c", "import odsymnmf.cli as c; c.main()"],
        env={**os.environ, **words, "_ODSYMNMF_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "plain,--normalize\n"


def test_the_wheel_holds_the_command_and_the_page(tmp_path):
    """Files that are not Python are easily left out of a wheel."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        names = {*content.namelist()}
        (entry,) = [name for name in names if name.endswith("entry_points.txt")]
        assert b"odsymnmf = odsymnmf.cli:main" in content.read(entry)
    source = ROOT / "src"
    ours = {
        path.relative_to(source).as_posix()
        for path in (source / "odsymnmf").rglob("*")
        if path.is_file() and path.suffix in {".py", ".html", ".css", ".js", ".typed"}
    }
    assert {"odsymnmf/report/page.html", "odsymnmf/cli/cluster.py"} <= ours
    assert ours <= names


def test_the_page_on_the_command_line_names_what_there_is():
    text = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    known = {
        name for command in app.commands.values() for p in command.params for name in p.opts
    } | {"--help"}
    assert {*re.findall(r"--[a-z][a-z-]+", text)} <= known
    assert {*re.findall(r"^(?:eval ..)?odsymnmf (\w+)", text, re.MULTILINE)} <= {*app.commands}
    for name in FORMATS:
        assert f"`{name}`" in text


def test_reproduce_is_handed_its_own_options(monkeypatch):
    from odsymnmf import reproduce as room

    result = run("reproduce", "--help")
    assert result.exit_code == 0
    assert "usage: odsymnmf reproduce" in result.stdout
    assert "starts" in result.stdout
    assert run("reproduce", "table-3", "--out", "there").exit_code == 2
    assert run("reproduce", "--nothing").exit_code == 2
    given = []
    monkeypatch.setattr(room, "main", lambda arguments, prog: given.append(arguments))
    assert run("reproduce", "starts", "--out", "there", "--trials", 3).exit_code == 0
    assert given == [("starts", "--out", "there", "--trials", "3")]

    def interrupted(arguments, prog):
        raise KeyboardInterrupt

    monkeypatch.setattr(room, "main", interrupted)
    result = run("reproduce", "starts")
    assert result.exit_code == 130
    assert result.stderr.startswith("interrupted; run the same command again to continue")
