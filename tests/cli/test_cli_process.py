"""The command in a process of its own: start-up, terminal and pipe, signals, a full disk."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import click
import numba
import numpy as np
import pytest
from cli_problems import COMMAND, FILES, environment, process, run, write_long_fit

from odsymnmf import kernels
from odsymnmf.cli import cluster
from odsymnmf.engine.run import Sweep
from odsymnmf.estimators import best_of as base
from odsymnmf.fitting import Fit
from odsymnmf.observers import progress

HEAVY = {"numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib", "networkx", "tqdm"}
posix = pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")


def python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment()
    )


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


def read_until(stream, word: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    for line in stream:
        if word in line:
            return
        assert time.monotonic() < end
    raise AssertionError(f"{word!r} was not said")


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_the_last_sweep(tmp_path, number):
    graph = write_long_fit(tmp_path / "graph.csv")
    folder = tmp_path / "run"
    arguments = ["-r", 20, "--init", "random", "--tol", 0, "--max-iter", 10**6, "-o", folder]
    fit = process("cluster", graph, *arguments)
    read_until(fit.stderr, "iteration 1")
    time.sleep(0.5)
    fit.send_signal(number)
    out, err = fit.communicate(timeout=120)
    assert fit.returncode == 128 + number
    assert "Traceback" not in err
    assert sorted(os.listdir(folder)) == FILES
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    sweeps = record["fit"]["sweeps"]
    assert record["fit"]["interrupted"]
    assert not record["fit"]["converged"]
    assert len(record["fit"]["history"]) == sweeps + 1 > 1
    assert f"interrupted: the last complete iteration ({sweeps}) is in {folder}" in err
    assert f"interrupted after {sweeps} iteration" in out
    assert sorted(os.listdir(tmp_path)) == ["graph.csv", "run"]


@posix
def test_kill_while_writing_leaves_nothing(edges, tmp_path):
    """The process is told to end when the first file is there."""
    code = (
        "import os, signal, sys\n"
        "from odsymnmf import runs\n"
        "from odsymnmf.cli import main\n"
        "def write_result(folder, *arguments):\n"
        "    (folder / 'labels.csv').write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "runs.write_result = write_result\n"
        f"sys.argv[1:] = ['cluster', {str(edges)!r}, '-r', '2', '-o', {str(tmp_path / 'run')!r}]\n"
        "main()\n"
    )
    done = python(code)
    assert done.returncode == 143
    assert done.stderr.endswith("ended by SIGTERM; an incomplete run is not kept\n")
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == ["graph.csv"]


@posix
def test_sigterm_before_the_first_sweep(edges, tmp_path):
    """The start is cut short: there is nothing to save."""
    code = (
        "import os, signal, sys\n"
        "from odsymnmf import fitting\n"
        "from odsymnmf.cli import main\n"
        "fitting.start = lambda *arguments: os.kill(os.getpid(), signal.SIGTERM)\n"
        f"sys.argv[1:] = ['cluster', {str(edges)!r}, '-r', '2', '-o', {str(tmp_path / 'run')!r}]\n"
        "main()\n"
    )
    done = python(code)
    assert done.returncode == 143
    assert done.stderr.endswith("ended by SIGTERM; an incomplete run is not kept\n")
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == ["graph.csv"]


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("place", ["fitting.start", "runs.write_result"])
def test_a_signal_in_a_destructor(edges, tmp_path, number, place):
    """Python drops what is raised there."""
    code = (
        "import signal, sys, time\n"
        "from odsymnmf import fitting, runs\n"
        "from odsymnmf.cli import main\n"
        "class Dying:\n"
        "    def __del__(self):\n"
        f"        signal.raise_signal({int(number)})\n"
        "def wait(*arguments, **options):\n"
        "    Dying()\n"
        f"    if {number == signal.SIGINT and place.startswith('runs')}:\n"
        "        Dying()\n"  # the first lets a finished fit be saved
        "    time.sleep(100)\n"
        f"{place} = wait\n"
        f"sys.argv[1:] = ['cluster', {str(edges)!r}, '-r', '2', '-o', {str(tmp_path / 'run')!r}]\n"
        "main()\n"
    )
    done = python(code)
    assert done.returncode == 128 + number
    assert "Traceback" not in done.stderr
    assert "ignored" not in done.stderr
    assert os.listdir(tmp_path) == ["graph.csv"]


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_when_the_fit_has_just_ended(edges, tmp_path, number):
    """It comes while the handlers of the fit give way to those of the command."""
    code = (
        "import signal, sys\n"
        "from odsymnmf.cli import fit, main\n"
        "class Busy:\n"
        "    def __getattr__(self, name):\n"
        "        return getattr(signal, name)\n"
        "    def signal(self, number, handler):\n"
        "        if signal.getsignal(number).__name__ == 'notice':\n"
        f"            signal.raise_signal({int(number)})\n"
        "        return signal.signal(number, handler)\n"
        "fit.signal = Busy()\n"
        f"sys.argv[1:] = ['cluster', {str(edges)!r}, '-r', '2', '-o', {str(tmp_path / 'run')!r}]\n"
        "main()\n"
    )
    done = python(code)
    assert done.returncode == 128 + number
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == ["graph.csv"]


# Signals at a chosen moment, in this process


def press_after(monkeypatch, start: int, sweep: int):
    """Press Ctrl-C after a sweep of a start."""
    begun = []

    def pressing(callback, **options):
        begun.append(options["init"])

        def after(state):
            if (len(begun), state.n_iter) == (start, sweep):
                signal.raise_signal(signal.SIGINT)
            return callback(state)

        return Fit(callback=after, **options)

    monkeypatch.setattr(base, "Fit", pressing)
    return begun


def test_ctrl_c_after_three_sweeps(edges, tmp_path, monkeypatch):
    press_after(monkeypatch, 1, 3)
    arguments = ["-r", 3, "--init", "random", "--tol", 0]
    result = run("cluster", edges, *arguments, "-o", tmp_path / "a")
    assert result.exit_code == 130
    monkeypatch.undo()
    assert run("cluster", edges, *arguments, "--max-iter", 3, "-o", tmp_path / "b").exit_code == 0
    files = [(tmp_path / folder / "membership.csv").read_bytes() for folder in "ab"]
    assert files[0] == files[1]


def test_ctrl_c_in_the_second_of_many_starts(edges, tmp_path, monkeypatch):
    begun = press_after(monkeypatch, 2, 1)
    result = run("cluster", edges, "-r", 3, "--n-init", 50, "-o", tmp_path / "run")
    assert result.exit_code == 130
    assert begun == ["spectral", "random"]
    assert "interrupted: the best of the starts so far is in" in result.stderr
    end = "interrupted; the best start so far converged after"
    assert end in result.stdout
    record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    # Both are true, and said so in one sentence.
    assert record["fit"]["converged"]
    assert record["fit"]["interrupted"]
    assert record["fit"]["end"].startswith(end)
    with open(tmp_path / "run" / "labels.csv", newline="") as file:
        assert len({row[1] for row in list(csv.reader(file))[1:]}) == 3


def test_ctrl_c_between_two_starts(edges, tmp_path, monkeypatch):
    """Where no sweep is under way, the starts that are done still count."""
    begun = []

    def pressing(**options):
        begun.append(options["init"])
        if len(begun) == 3:
            signal.raise_signal(signal.SIGINT)
        return Fit(**options)

    monkeypatch.setattr(base, "Fit", pressing)
    result = run("cluster", edges, "-r", 3, "--n-init", 50, "-o", tmp_path / "run")
    assert result.exit_code == 130
    assert len(begun) == 3
    assert sorted(os.listdir(tmp_path / "run")) == FILES


def test_ctrl_c_before_the_first_sweep_saves_nothing(edges, tmp_path, monkeypatch):
    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(kernels.l2, "sweep", interrupted)
    result = run("cluster", edges, "-r", 3, "-o", tmp_path / "run")
    assert result.exit_code == 130
    assert result.stderr.endswith("interrupted; nothing was written\n")
    assert os.listdir(tmp_path) == ["graph.csv"]


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_while_a_finished_fit_is_written(edges, tmp_path, monkeypatch, presses):
    """The first lets the writing come to its end, the second does not."""
    original, left = os.fsync, [presses]

    def fsync(descriptor):
        if left[0]:
            left[0] -= 1
            signal.raise_signal(signal.SIGINT)
        original(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    result = run("cluster", edges, "-r", 3, "-o", tmp_path / "run")
    assert result.exit_code == 130
    assert "interrupted; the fit was done and is being saved" in result.stderr
    if presses == 1:
        assert sorted(os.listdir(tmp_path / "run")) == FILES
        assert f"wrote {tmp_path / 'run'}" in result.stdout
        record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
        assert record["fit"]["converged"]
    else:
        assert result.stderr.endswith("interrupted; nothing was written\n")
        assert os.listdir(tmp_path) == ["graph.csv"]


def test_a_second_ctrl_c_does_not_save(edges, tmp_path, monkeypatch):
    press_after(monkeypatch, 1, 2)
    original = os.fsync

    def fsync(descriptor):
        signal.raise_signal(signal.SIGINT)
        original(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    arguments = ["-r", 3, "--init", "random", "--tol", 0]
    result = run("cluster", edges, *arguments, "-o", tmp_path / "run")
    assert result.exit_code == 130
    assert "Ctrl-C again: do not save" in result.stderr
    assert result.stderr.endswith("interrupted; nothing was written\n")
    assert os.listdir(tmp_path) == ["graph.csv"]


def test_a_second_ctrl_c_while_printing_says_what_was_written(edges, tmp_path, monkeypatch):
    original = click.echo

    def echo(message=None, err=False, **options):
        if not err:
            signal.raise_signal(signal.SIGINT)
        original(message, err=err, **options)

    monkeypatch.setattr(click, "echo", echo)
    press_after(monkeypatch, 1, 2)
    arguments = ["-r", 3, "--init", "random", "--tol", 0]
    result = run("cluster", edges, *arguments, "-o", tmp_path / "run")
    assert result.exit_code == 130
    assert result.stderr.endswith(f"interrupted while printing; {tmp_path / 'run'} was written\n")
    assert sorted(os.listdir(tmp_path / "run")) == FILES


def test_a_run_that_has_its_name_is_written(edges, tmp_path, monkeypatch):
    original, folder = os.fsync, tmp_path / "run"

    def fsync(descriptor):
        if folder.exists():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        original(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    result = run("cluster", edges, "-r", 3, "-o", folder)
    assert sorted(os.listdir(folder)) == FILES
    assert "nothing was written" not in result.stderr
    assert f"wrote {folder}" in result.stdout


def test_the_script_is_the_module():
    assert COMMAND[-1] == "odsymnmf.cli"
    done = subprocess.run(
        [*COMMAND, "--version"], capture_output=True, text=True, env=environment()
    )
    assert done.stdout.startswith("odsymnmf ")
