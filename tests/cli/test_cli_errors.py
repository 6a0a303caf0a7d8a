"""Errors are one line with the right exit code; nothing is lost and nothing is left behind."""

import errno
import os

import pytest
from cli_problems import FILES, refused, run

from odsymnmf import runs
from odsymnmf.cli import cluster


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-r", "two"], "'two' is not of the form N|N-N|auto"),
        (["-r", "5-2"], "'5-2' is not of the form"),
        (["-r", "2-99999"], "'2-99999' is not of the form"),
        (["--normalize", "l2"], "'l2' is not one of 'auto', 'degree', 'none'"),
        (["--loss", "l3"], "'l3' is not one of 'l2', 'l1'"),
        (["--upper", "much"], "'much' is not of the form FLOAT|auto|none"),
        (["--colour"], "--colour"),
        (["another.csv"], "give one INPUT"),
        (["--min-df", 2], "--min-df applies to texts"),
        (["--stop-words", "english"], "--stop-words applies to texts"),
        (["--lines", "--text-column", "a"], "exclude each other"),
        (["--lines", "--min-df", "two"], "'two' is not of the form INTEGER|FLOAT"),
        (["--text", "--affinity", "rbf"], "--text compares by cosine"),
        (["--text", "--format", "npy"], "--text cannot be combined with"),
        (["--text", "--header"], "--text cannot be combined with --header"),
    ],
)
def test_usage(edges, tmp_path, arguments, words):
    result = run("cluster", edges, *arguments, "-o", tmp_path / "run")
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""
    assert os.listdir(tmp_path) == ["graph.csv"]


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (None, [], ["no such file"]),
        ("", [], ["empty"]),
        ("a,b,1\nb,c,many\n", [], ["line 2"]),
        ("0,1,2,3\n1,0,1,1\n0,1,0,1\n3,1,1,0\n", [], ["symmetrize"]),
        ("0,-1,-2\n-1,0,1\n-2,1,0\n", ["--normalize", "degree"], ['normalize="degree"']),
        ("0,1,2\n1,0,1\n2,1,0\n", ["--zero-weight", 0.5], ["zero_weight=0.5"]),
        ("a,b\nb,c\n", ["--tol", "nan"], ["tol must be a number >= 0"]),
        ("a,b\nb,c\n", ["--n-jobs", 0], ["n_jobs must be"]),
        ("a,b\nb,c\n", ["-r", 0], ["n_clusters", "0"]),
        ("a,b\nb,c\n", ["--upper", 0], ["upper", "0"]),
        ("a,b\nb,c\n", ["--loss", "mixed", "--l1-ratio", 1.5], ["l1_ratio", "1.5"]),
        ("a,b\nb,c\n", ["-r", 10**9, "--init", "random"], ["not enough memory", "smaller r"]),
        ("some words\n", ["--lines"], ["one item only: '1'; give at least two (--lines"]),
    ],
)
def test_bad_input(tmp_path, content, options, words):
    path = tmp_path / "graph.csv"
    if content is not None:
        path.write_text(content)
    before = os.listdir(tmp_path)
    refused(run("cluster", path, "-r", 2, *options, "-q", "-o", tmp_path / "run"), 1, *words)
    assert os.listdir(tmp_path) == before


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_run_is_replaced_by_force_only(edges, finished, tmp_path, monkeypatch):
    before = contents(finished)
    arguments = ["cluster", edges, "-r", 2, "-q", "-o"]
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "_fit", None)  # the directory is checked before the fit
        refused(run(*arguments, finished), 1, "already contains a run", "use --force to replace it")
        refused(run(*arguments, edges, "--force"), 1, "is not a directory")
        (finished / "notes.txt").write_text("mine")
        refused(run(*arguments, finished, "--force"), 1, "'notes.txt'", "move it")
    (finished / "notes.txt").unlink()
    assert contents(finished) == before
    (finished / "membership.csv").rename(finished / "membership.npz")  # of a larger run
    assert run(*arguments, finished, "--force").exit_code == 0
    assert sorted(os.listdir(finished)) == FILES
    header = (finished / "membership.csv").read_text().splitlines()[0]
    assert header == "name,cluster_0,cluster_1"
    assert sorted(os.listdir(tmp_path)) == ["finished", "graph.csv"]


def test_force_keeps_the_old_run_until_the_new_one_is_complete(edges, finished, monkeypatch):
    before = contents(finished)

    def write_result(folder, *arguments):
        (folder / "labels.csv").write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(runs, "write_result", write_result)
    result = run("cluster", edges, "-r", 2, "--force", "-q", "-o", finished)
    refused(result, 1, "No space left on device", str(finished))
    assert contents(finished) == before
    assert sorted(os.listdir(finished.parent)) == ["finished", "graph.csv"]


def test_warnings_of_the_fit_are_one_line_each(tmp_path):
    graph = tmp_path / "graph.csv"
    graph.write_text("a,b\nb,c\na,c\n")
    result = run("cluster", graph, "-r", 5, "-o", tmp_path / "run", "--quiet")
    lines = result.stderr.splitlines()
    assert "warning: 5 clusters for 3 items: at least 2 clusters are empty" in lines
    assert not [line for line in lines if ".py" in line]
