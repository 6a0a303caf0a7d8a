"""What goes wrong: one line, the right exit code, nothing lost and nothing left behind."""

import errno
import os
from pathlib import Path

import pytest
from cli_problems import FILES, refused, run, write_edges

from odsymnmf import drawing, report
from odsymnmf import runs as room
from odsymnmf.cli import fit as fitting
from odsymnmf.cli.cluster import cluster
from odsymnmf.cli.wording import in_options


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-r", 0], "0 is not in the range"),
        (["-r", "two"], "'two' is neither a whole number, a range such as 2-30, nor auto"),
        (["-r", "5-2"], "the range 5-2 is empty"),
        (["-r", "2-99999"], "give 10,000 candidates at most"),
        (["-r", 2, "--normalize", "l2"], "'l2' is not 'degree'"),
        (["-r", 2, "--loss", "l3"], "'l3' is not one of 'l2', 'l1'"),
        (["-r", 2, "--upper", 0], "0.0 is not in the range x>0"),
        (["-r", 2, "--tol", -1], "-1.0 is not in the range"),
        (["-r", 2, "--format", "xls"], "'xls' is not one of"),
        (["-r", 2, "--upper", "nan"], "nan is not a finite number"),
        (["-r", 2, "--tol", "nan"], "nan is not a finite number"),
        (["-r", 2, "--tol", "inf"], "inf is not a finite number"),
        (["-r", 2, "--n-jobs", 0], "0 threads can do nothing"),
        (["-r", 2, "--init", "l2"], "--init l2 is a start for other losses"),
        (["-r", 2, "--loss", "mixed", "--init", "mixed"], "--init mixed is a start for other"),
        (["-r", 2, "--l1-ratio", 1.5], "1.5 is not in the range 0<=x<=1"),
        (["-r", 2, "--zero-weight", -1], "-1.0 is not in the range x>=0"),
        (["-r", 10**22], "is not in the range"),
        (["-r", 2, ""], "the path is empty"),
        (["-r", 2, "--colour"], "--colour"),
        (["-r", 2, "another.csv"], "give one INPUT"),
        (["-r", 2, "--text", "--affinity", "rbf"], "--text compares by cosine"),
        (["-r", 2, "--text", "--format", "npy"], "--text cannot be combined with"),
        (["-r", 2, "--text", "--symmetrize", "max"], "--text cannot be combined with"),
    ],
)
def test_usage(edges, tmp_path, arguments, words):
    result = run("cluster", edges, *arguments, "-o", tmp_path / "run")
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""
    assert os.listdir(tmp_path) == ["graph.csv"]


def test_an_empty_name_of_a_folder(edges):
    result = run("cluster", edges, "-r", 2, "-o", "")
    assert result.exit_code == 2
    assert "the path is empty" in result.stderr


@pytest.mark.parametrize("command", [["cluster", "-r", 2, "-o", "run"], ["score", "truth.csv"]])
def test_a_file_without_permission_is_bad_input(edges, tmp_path, monkeypatch, command):
    """Not wrong use, whose exit code is 2. Root may read anything, so that it is played."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda *arguments, **options: False)

    def read_bytes(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    (tmp_path / "truth.csv").write_text("a,0\n")
    refused(run(*command, edges), 1, "chmod +r")


def test_usage_without_input():
    result = run("cluster", "-r", 2)
    assert result.exit_code == 2
    assert "INPUT" in result.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["no such file"]),
        ("", ["empty"]),
        ("a,b,1\nb,c,many\n", ["line 2"]),
        ("a,b,1\nb,c,inf\n", ["line 2"]),
    ],
)
def test_bad_input(tmp_path, content, words):
    path = tmp_path / "graph.csv"
    if content is not None:
        path.write_text(content)
    before = os.listdir(tmp_path)
    refused(run("cluster", path, "-r", 2, "-o", tmp_path / "run"), 1, "graph.csv", *words)
    assert os.listdir(tmp_path) == before


def test_a_table_that_is_not_symmetric_names_the_remedy(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("0,1,2,3\n1,0,1,1\n0,1,0,1\n3,1,1,0\n")
    refused(run("cluster", path, "-r", 2, "-o", tmp_path / "run"), 1, "--symmetrize")
    arguments = ["-r", 2, "--symmetrize", "mean", "-o", tmp_path / "run"]
    assert run("cluster", path, *arguments).exit_code == 0


def test_what_the_engine_refuses(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("0,-1,-2,-3\n-1,0,1,1\n-2,1,0,1\n-3,1,1,0\n")
    result = run("cluster", path, "-r", 2, "--normalize", "degree", "-q", "-o", tmp_path / "run")
    refused(result, 1, "degrees must be >= 0 for --normalize degree")
    assert os.listdir(tmp_path) == ["table.csv"]


def test_what_the_library_refuses_is_said_with_options(tmp_path):
    """Errors of the library name arguments (`zero_weight=`), which the command does not have."""
    path = tmp_path / "table.csv"
    path.write_text("0,1,1,1\n1,0,1,1\n1,1,0,1\n1,1,1,0\n")
    result = run("cluster", path, "-r", 2, "--zero-weight", 0.5, "-q", "-o", tmp_path / "run")
    refused(result, 1, "--zero-weight 0.5 is what pairs weigh", "give --weights")
    assert "zero_weight" not in result.stderr


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("n_neighbors=3 of 2 items", "--n-neighbors 3 of 2 items"),
        ("upper must be a number > 0; got -1", "--upper must be a number > 0; got -1"),
        ('use memberships="full".', "leave --many out."),
        (
            'init="ego" is a start for memberships="sparse" only.',
            "--init ego is a start for --many only.",
        ),
        ("init has 3 sets, but r=2; raise r.", "--init has 3 sets, but -r 2; raise r."),
        ("normalize=None, or loss='l1'", "--normalize none, or --loss l1"),
        ("weights[1, 2] is nan, A.upper=3, the loss of a pair", None),
    ],
)
def test_arguments_become_options(message, words):
    assert in_options(message, cluster) == (words or message)


def test_too_little_memory_is_said(edges, tmp_path, monkeypatch):
    def fit(*arguments, **options):
        raise MemoryError("Unable to allocate 7 PiB")

    monkeypatch.setattr(fitting, "fit", fit)
    result = run("cluster", edges, "-r", 2, "-q", "-o", tmp_path / "run")
    refused(result, 1, "not enough memory", "7 PiB")


def test_an_error_of_memory_without_words_is_said_too(edges, tmp_path, monkeypatch):
    def fit(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("odsymnmf.ODSymNMF.fit", fit)
    result = run("cluster", edges, "-r", 2, "-q", "-o", tmp_path / "run")
    refused(result, 1, "not enough memory: the fit does not fit into it; choose a smaller -r")
    monkeypatch.setattr(fitting, "fit", fit)
    result = run("cluster", edges, "-r", 2, "-q", "-o", tmp_path / "run")
    refused(result, 1, "not enough memory: the input is too large")


@pytest.mark.parametrize("part", ["page", "write_page", "as_members"])
def test_without_memory_for_the_page_the_tables_are_written(edges, tmp_path, monkeypatch, part):
    def exhausted(*arguments):
        raise MemoryError

    def half(folder, *arguments):
        (folder / "report.html").write_text("<html")
        raise MemoryError

    if part == "page":
        monkeypatch.setattr(report, "page", lambda *a, **b: exhausted())
    elif part == "write_page":
        monkeypatch.setattr(room, "write_page", half)
    else:
        monkeypatch.setattr(drawing, "as_members", exhausted)
    result = run("cluster", edges, "-r", 2, "-o", tmp_path / "run")
    assert result.exit_code == 0
    assert "not enough memory for report.html: the tables were written without it" in result.stderr
    assert "report.html in a browser" not in result.stdout
    tables = ["labels.csv", "membership.csv", "model.odsym", "run.json"]
    assert sorted(os.listdir(tmp_path / "run")) == tables
    assert room.read_membership(tmp_path / "run")[1].shape == (24, 2)


def test_a_name_with_half_a_character_does_not_undo_the_fit(tmp_path):
    path = tmp_path / "graph.gml"
    nodes = "".join(f'node [ id {i} label "a&#55296;{i}" ]\n' for i in range(4))
    links = "".join(f"edge [ source {i} target {j} ]\n" for i in range(4) for j in range(i))
    path.write_text(f"graph [\n{nodes}{links}]\n")
    result = run("cluster", path, "-r", 1, "-o", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    names, _ = room.read_membership(tmp_path / "run")
    assert names == [f"a\\ud800{i}" for i in range(4)]
    assert (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_too_many_clusters_for_the_memory(edges, tmp_path):
    result = run("cluster", edges, "-r", 10**9, "--init", "random", "-q", "-o", tmp_path / "run")
    refused(result, 1, "not enough memory", "choose a smaller -r")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def never(*arguments, **options):
    raise AssertionError("the fit began before the folder was checked")


def test_an_existing_run_is_kept_without_force(edges, finished, monkeypatch):
    before = contents(finished)
    monkeypatch.setattr(fitting, "fit", never)
    result = run("cluster", edges, "-r", 2, "-o", finished)
    refused(result, 1, "already holds a run; use --force to replace it")
    assert contents(finished) == before


def test_force_replaces_a_run(edges, finished, tmp_path):
    (finished / "membership.csv").rename(finished / "membership.npz")  # of a larger run
    assert run("cluster", edges, "-r", 2, "--force", "-o", finished).exit_code == 0
    assert sorted(os.listdir(finished)) == FILES
    header = (finished / "membership.csv").read_text().splitlines()[0]
    assert header == "name,cluster_0,cluster_1"
    assert sorted(os.listdir(tmp_path)) == ["finished", "graph.csv"]


def test_force_keeps_the_old_run_until_the_new_one_is_complete(edges, finished, monkeypatch):
    before = contents(finished)

    def write_result(folder, *arguments):
        (folder / "labels.csv").write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(room, "write_result", write_result)
    result = run("cluster", edges, "-r", 2, "--force", "-q", "-o", finished)
    refused(result, 1, "No space left on device", str(finished))
    assert contents(finished) == before
    assert sorted(os.listdir(finished.parent)) == ["finished", "graph.csv"]


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("file", ["thesis.txt", "run.json"])
def test_what_is_not_a_run_is_never_replaced(edges, tmp_path, monkeypatch, file, force):
    monkeypatch.setattr(fitting, "fit", never)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / file).write_text('{"versions": []}')
    result = run("cluster", edges, "-r", 2, "-o", tmp_path / "mine", *force)
    refused(result, 1, "is not a run of odsymnmf")
    assert contents(tmp_path / "mine") == {file: b'{"versions": []}'}


def test_force_keeps_what_others_put_into_a_run(edges, finished):
    (finished / "notes.txt").write_text("mine")
    before = contents(finished)
    refused(run("cluster", edges, "-r", 2, "--force", "-o", finished), 1, "'notes.txt'", "move it")
    assert contents(finished) == before


def test_a_file_in_the_way(edges):
    refused(run("cluster", edges, "-r", 2, "--force", "-o", edges), 1, "is not a folder")
    refused(run("cluster", edges, "-r", 2, "-o", edges / "run"), 1, "Not a directory")


def test_an_empty_folder_is_filled(edges, tmp_path):
    (tmp_path / "run").mkdir()
    assert run("cluster", edges, "-r", 2, "-o", tmp_path / "run").exit_code == 0
    assert sorted(os.listdir(tmp_path / "run")) == FILES


def test_no_permission(edges, tmp_path, monkeypatch):
    """Root may write anywhere, so that the refusal is played; it comes before the fit."""
    monkeypatch.setattr(fitting, "fit", never)
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o500)
    if os.access(closed, os.W_OK):
        original = os.mkdir

        def mkdir(path, *arguments, **options):
            if str(path).startswith(str(closed)):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return original(path, *arguments, **options)

        monkeypatch.setattr(os, "mkdir", mkdir)
    result = run("cluster", edges, "-r", 2, "-o", closed / "deep" / "run")
    refused(result, 1, "Permission denied; choose another place", str(closed / "deep" / "run"))
    assert os.listdir(closed) == []


@pytest.mark.parametrize("file", FILES)
def test_a_full_disk_leaves_nothing(edges, tmp_path, monkeypatch, file):
    """The disk fills up while any of the files is put there."""
    original = os.fsync
    left = [FILES.index(file)]

    def fsync(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    result = run("cluster", edges, "-r", 2, "-q", "-o", tmp_path / "deep" / "er" / "run")
    refused(result, 1, "No space left on device; make room")
    assert os.listdir(tmp_path) == ["graph.csv"]


def test_somebody_took_the_name_meanwhile(edges, tmp_path, monkeypatch):
    original = room.write_result

    def write_result(*arguments):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "thesis.txt").write_text("mine")
        original(*arguments)

    monkeypatch.setattr(room, "write_result", write_result)
    refused(run("cluster", edges, "-r", 2, "-q", "-o", tmp_path / "run"), 1, "is not a run")
    assert contents(tmp_path / "run") == {"thesis.txt": b"mine"}
    assert sorted(os.listdir(tmp_path)) == ["graph.csv", "run"]


def test_ctrl_c_while_writing_leaves_nothing(edges, tmp_path, monkeypatch):
    def write_result(folder, *arguments):
        (folder / "labels.csv").write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(room, "write_result", write_result)
    result = run("cluster", edges, "-r", 2, "-q", "-o", tmp_path / "run")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "interrupted; nothing was written"
    assert os.listdir(tmp_path) == ["graph.csv"]


def test_ctrl_c_while_reading(edges, tmp_path, monkeypatch):
    def read_items(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "read_items", read_items)
    result = run("cluster", edges, "-r", 2, "-o", tmp_path / "run")
    assert (result.exit_code, result.stderr) == (130, "interrupted; nothing was written\n")
    assert os.listdir(tmp_path) == ["graph.csv"]


def test_a_link_is_followed(edges, tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert run("cluster", edges, "-r", 2, "-o", tmp_path / "link").exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path / "target")) == FILES


def test_one_item_is_too_few(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("1\n")
    result = run("cluster", path, "-r", 1, "-q", "-o", tmp_path / "run")
    refused(result, 1, "table.csv: one item only; give at least two")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("some words")
    result = run("cluster", tmp_path / "texts", "--text", "-r", 1, "-q", "-o", tmp_path / "run")
    refused(result, 1, "a.txt: one text only; if every line is a text, use --lines")


def test_more_clusters_than_items(tmp_path):
    path = write_edges(tmp_path / "graph.csv", groups=1, size=4)
    result = run("cluster", path, "-r", 9, "-o", tmp_path / "run")
    assert result.exit_code == 0
    assert "note: -r 9 is more than the 4 items" in result.stderr
