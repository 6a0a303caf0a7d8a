"""The command in a process of its own: start-up, terminal and pipe, a full disk."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from cli_problems import COMMAND, FILES, environment, posix, process, python, run

from odsymnmf.cli import cluster
from odsymnmf.engine.run import Sweep
from odsymnmf.observers import progress

HEAVY = {"numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib", "networkx", "tqdm"}


@pytest.mark.parametrize("arguments", [["--help"], ["cluster", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments):
    done = python(
        "import sys\n"
        "from odsymnmf.cli.app import app\n"
        f"app({arguments!r}, standalone_mode=False)\n"
        "print('loaded', *{m.partition('.')[0] for m in sys.modules})"
    )
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.splitlines()[-1].split()
    assert {"loaded", "click", "odsymnmf"} <= {*loaded}
    assert HEAVY.isdisjoint(loaded)


def test_without_click_the_remedy_is_named():
    done = python("import sys; sys.modules['click'] = None; import odsymnmf.cli as c; c.main()")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == 'The command odsymnmf needs click: pip install "odsymnmf[cli]"\n'


@pytest.mark.skipif(
    not hasattr(numba.config, "CACHE_LOCATOR_CLASSES"), reason="needs a numba that can be told so"
)
def test_nowhere_to_keep_compiled_code(edges, tmp_path):
    """As in a container without a home and with a library that may not be written to."""
    nowhere = {**environment(), "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    nowhere.pop("NUMBA_CACHE_DIR", None)
    commands = [["cluster", edges, "-r", "2", "-q", "-o", tmp_path / "run"], ["info"]]
    cluster, info = (
        subprocess.run([*COMMAND, *command], env=nowhere, capture_output=True, text=True)
        for command in commands
    )
    assert cluster.returncode == 0
    assert cluster.stderr.count("NUMBA_CACHE_DIR") == 1
    assert (tmp_path / "run" / "labels.csv").exists()
    assert (info.returncode, info.stderr) == (0, "")
    assert "numba cache   nowhere: set NUMBA_CACHE_DIR" in info.stdout


def test_info_without_compiling():
    done = subprocess.run(
        [*COMMAND, "info"],
        env={**environment(), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert "numba cache   not used: NUMBA_DISABLE_JIT is set" in done.stdout


def test_a_pipe_gets_plain_lines(edges, tmp_path):
    done = process("cluster", edges, "-r", 3, "-o", tmp_path / "run")
    out, err = done.communicate(timeout=120)
    assert done.returncode == 0
    assert "\r" not in err
    assert "iteration 1 of at most 200, objective" in err
    assert "iteration" in out
    assert "at most" not in out


def test_restarts_of_columns_do_not_flood_a_pipe(capsys):
    with progress("fit", 200, 2) as show:
        for column in [None, *range(50), None, *range(50)]:
            show(Sweep(1, 1.0, np.zeros((2, 2)), column))
    assert capsys.readouterr().err == "fit: iteration 1 of at most 200, objective 1\n"


def test_quiet_in_a_pipe(edges, tmp_path):
    done = process("cluster", edges, "-r", 3, "-q", "-o", tmp_path / "run")
    assert done.communicate(timeout=120) == ("", "")
    assert done.returncode == 0


@posix
def test_a_terminal_gets_a_bar(edges, tmp_path):
    import fcntl
    import pty
    import struct
    import termios

    terminal, other_end = pty.openpty()
    fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    done = process("cluster", edges, "-r", 3, "-o", tmp_path / "run", stderr=other_end)
    os.close(other_end)
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(terminal)
    out, _ = done.communicate(timeout=120)
    assert done.returncode == 0
    assert b"ODSymNMF:" in shown
    assert b"objective" in shown
    assert b"100%" in shown  # it converged
    assert b"\r" in shown
    assert "ODSymNMF:" not in out


def test_what_is_shown(monkeypatch):
    monkeypatch.setattr(sys, "stderr", sys.stdout)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert [cluster._verbose(quiet) for quiet in (True, False)] == [0, 1]
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert cluster._verbose(False) == 2


def test_nobody_reads_the_output(edges, tmp_path):
    done = process("cluster", edges, "-r", 3, "-o", tmp_path / "run")
    done.stdout.close()
    err = done.stderr.read()
    done.stderr.close()
    done.wait(timeout=120)
    assert "Traceback" not in err
    assert sorted(os.listdir(tmp_path / "run")) == FILES


def test_a_terminal_that_knows_few_letters(tmp_path):
    path = tmp_path / "graph.csv"
    path.write_text("Émile,東京\n東京,c\nÉmile,c\n", encoding="utf-8")
    done = subprocess.run(
        [*COMMAND, "cluster", path, "-r", "1", "-o", tmp_path / "run"],
        env={**environment(), "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Émile, ??, c".encode("latin-1") in done.stdout


@posix
def test_a_file_name_of_any_bytes(tmp_path):
    for name in [b"caf\xe9", b"na\xefve", b"tea"]:
        with open(os.path.join(os.fsencode(tmp_path), name), "w") as file:
            file.write("some words of a text")
    done = process("cluster", tmp_path, "--text", "-r", 1, "-o", tmp_path / "run")
    out, err = done.communicate(timeout=120)
    assert done.returncode == 0, err
    table = (tmp_path / "run" / "labels.csv").read_text(encoding="utf-8")
    assert [line.split(",")[0] for line in table.splitlines()[1:]] == ["caf�", "na�ve", "tea"]
    assert "3 items" in out


@posix
def test_output_to_a_full_disk(finished):
    with open("/dev/full", "w") as full:
        done = process("score", finished / "labels.csv", finished / "labels.csv", stdout=full)
        _, err = done.communicate(timeout=120)
    assert done.returncode == 1
    assert err == "Error: No space left on device\n"


@posix
def test_the_run_is_there_though_it_could_not_be_printed(edges, tmp_path):
    with open("/dev/full", "w") as full:
        done = process("cluster", edges, "-r", 2, "-o", tmp_path / "run", stdout=full)
        _, err = done.communicate(timeout=120)
    assert done.returncode == 1
    last = err.splitlines()[-1]
    assert last.endswith("run was written; only printing failed: No space left on device")
    assert sorted(os.listdir(tmp_path / "run")) == FILES


@posix
@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-", "2>&1 | head -c 1 >/dev/null"])
def test_notes_that_cannot_be_said_do_not_end_the_fit(edges, tmp_path, stderr):
    folder = tmp_path / "run"
    line = f"{' '.join(COMMAND)} cluster {edges} -r 2 --max-iter 3 -o {folder} {stderr}"
    done = subprocess.run(["bash", "-c", line], env=environment(), capture_output=True, text=True)
    assert sorted(os.listdir(folder)) == FILES
    if "head" not in stderr:
        assert done.returncode == 0
        assert f"wrote {folder}" in done.stdout


@posix
@pytest.mark.parametrize("command", ["score", "cluster"])
def test_who_reads_the_first_line_only_makes_no_error(edges, finished, tmp_path, command):
    arguments = {
        "score": f"{finished / 'labels.csv'} {finished / 'labels.csv'}",
        "cluster": f"{edges} -r 2 -q -o {tmp_path / 'run'}",
    }[command]
    line = f"set -o pipefail; {' '.join(COMMAND)} {command} {arguments} | head -1"
    done = subprocess.run(["bash", "-c", line], env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@posix
def test_a_full_disk(edges, tmp_path):
    """No file may grow beyond 2000 bytes: the report does not fit."""
    code = (
        "import resource, signal, sys\n"
        "from odsymnmf import kernels, report\n"
        "from odsymnmf.cli.app import app\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        f"app(['cluster', {str(edges)!r}, '-r', '3', '-q', '-o', {str(tmp_path / 'run')!r}])\n"
    )
    run(
        "cluster", edges, "-r", 3, "-q", "-o", tmp_path / "warm"
    )  # compiled, so no cache is written
    done = python(code)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: cannot write {tmp_path / 'run'}: File too large")
    assert done.stderr.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["graph.csv", "warm"]


def test_the_script_is_the_module():
    assert COMMAND[-1] == "odsymnmf.cli"
    done = subprocess.run(
        [*COMMAND, "--version"], capture_output=True, text=True, env=environment()
    )
    assert done.stdout.startswith("odsymnmf ")
