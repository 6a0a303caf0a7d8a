"""Ctrl-C and SIGTERM: the last sweep is kept, and nothing is half-written."""

import csv
import json
import os
import signal
import time

import click
import pytest
from cli_problems import FILES, posix, process, python, run, write_long_fit

from odsymnmf import kernels
from odsymnmf.estimators import best_of as base
from odsymnmf.fitting import Fit


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


def end_with(number, changes: str, edges, tmp_path) -> str:
    """Cluster in a process with something changed, which ends by a signal and leaves nothing."""
    arguments = ["cluster", str(edges), "-r", "2", "-o", str(tmp_path / "run")]
    code = (
        "import os, signal, sys, time\n"
        "from odsymnmf import fitting, runs\n"
        "from odsymnmf.cli import fit, main\n"
        f"number = {int(number)}\n{changes}\nsys.argv[1:] = {arguments}\nmain()\n"
    )
    done = python(code)
    assert done.returncode == 128 + number
    assert "Traceback" not in done.stderr
    assert "ignored" not in done.stderr
    assert os.listdir(tmp_path) == ["graph.csv"]
    return done.stderr


@posix
def test_kill_while_writing_leaves_nothing(edges, tmp_path):
    """The process is told to end when the first file is there."""
    changes = (
        "def write_result(folder, *arguments):\n"
        "    (folder / 'labels.csv').write_text('half')\n"
        "    os.kill(os.getpid(), number)\n"
        "runs.write_result = write_result"
    )
    said = end_with(signal.SIGTERM, changes, edges, tmp_path)
    assert said.endswith("ended by SIGTERM; an incomplete run is not kept\n")


@posix
def test_sigterm_before_the_first_sweep(edges, tmp_path):
    """The start is cut short: there is nothing to save."""
    changes = "fitting.start = lambda *arguments: os.kill(os.getpid(), number)"
    said = end_with(signal.SIGTERM, changes, edges, tmp_path)
    assert said.endswith("ended by SIGTERM; an incomplete run is not kept\n")


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("place", ["fitting.start", "runs.write_result"])
def test_a_signal_in_a_destructor(edges, tmp_path, number, place):
    """Python drops what is raised there. The first Ctrl-C lets a finished fit be saved."""
    presses = 1 + (number == signal.SIGINT and place == "runs.write_result")
    changes = (
        "class Dying:\n"
        "    def __del__(self):\n"
        "        signal.raise_signal(number)\n"
        "def wait(*arguments, **options):\n"
        f"    for _ in range({presses}):\n"
        "        Dying()\n"
        "    time.sleep(100)\n"
        f"{place} = wait"
    )
    end_with(number, changes, edges, tmp_path)


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_when_the_fit_has_just_ended(edges, tmp_path, number):
    """It comes while the handlers of the fit give way to those of the command."""
    changes = (
        "class Busy:\n"
        "    def __getattr__(self, name):\n"
        "        return getattr(signal, name)\n"
        "    def signal(self, number, handler):\n"
        "        if signal.getsignal(number).__name__ == 'notice':\n"
        f"            signal.raise_signal({int(number)})\n"
        "        return signal.signal(number, handler)\n"
        "fit.signal = Busy()"
    )
    end_with(number, changes, edges, tmp_path)


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
