"""Interrupts and exit codes, and the command in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli_problems import FILES, rows, run

import odsymnmf
from odsymnmf import fit, kernels, runs
from odsymnmf.cli import cluster

MAIN = [sys.executable, "-c", "from odsymnmf.cli import main; main()"]
HEAVY = {"numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib", "networkx", "tqdm"}


def environment(**variables):
    return {**os.environ, "PYTHONPATH": str(Path(odsymnmf.__file__).parents[1]), **variables}


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from odsymnmf.cli import app\n"
        "app(['cluster', '--help'], standalone_mode=False)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.splitlines()[-1].split()
    assert {"click", "odsymnmf"} <= {*loaded}
    assert HEAVY.isdisjoint(loaded)


def test_missing_click_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "click", None)
    for name in [name for name in sys.modules if name.startswith("odsymnmf.cli")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit, match=r'needs click: pip install "odsymnmf\[cli\]"'):
        import odsymnmf.cli  # noqa: F401


def test_pipe_gets_plain_lines(tmp_path):
    path = tmp_path / "graph.csv"
    path.write_text("Émile,東京\n東京,c\nÉmile,c\n", encoding="utf-8")
    done = subprocess.run(
        [*MAIN, "cluster", path, "-r", "1", "-o", tmp_path / "run"],
        env=environment(PYTHONIOENCODING="latin-1"),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Émile, ??, c".encode("latin-1") in done.stdout
    assert b"\r" not in done.stderr
    assert b"iteration 1 of at most 200, objective" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_saves_the_last_complete_sweep(tmp_path):
    ends = np.random.default_rng(0).integers(0, 3000, size=(30_000, 2))
    graph, folder = tmp_path / "graph.csv", tmp_path / "run"
    graph.write_text("".join(f"a{i},a{j}\n" for i, j in ends.tolist() if i < j))
    options = ["-r", "20", "--init", "random", "--tol", "0", "--max-iter", "1000000", "-o"]
    command = [*MAIN, "cluster", graph, *options, folder]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment(), stdout=pipe, stderr=pipe, text=True) as fit:
        for line in fit.stderr:
            if "iteration 1" in line:
                break
        time.sleep(0.5)
        fit.send_signal(signal.SIGINT)
        out, err = fit.communicate(timeout=120)
    assert fit.returncode == 130
    assert "Traceback" not in err
    assert sorted(os.listdir(folder)) == FILES
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))["fit"]
    assert (record["converged"], record["interrupted"]) == (False, True)
    assert len(record["history"]) == record["sweeps"] + 1 > 1
    end = f"interrupted, not converged after {record['sweeps']} iteration"
    assert f"interrupted: the result so far ({end}" in err
    assert end in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_after_three_sweeps_equals_max_iter_3(edges, tmp_path, monkeypatch, number):
    fit_once = fit.fit

    def after(state):
        if state.n_iter == 3:
            signal.raise_signal(number)

    def interrupted(A, r, options):
        return fit_once(A, r, replace(options, callback=after))

    options = ["-r", 3, "--init", "random", "--tol", 0]
    with monkeypatch.context() as patch:
        patch.setattr(fit, "fit", interrupted)
        assert run("cluster", edges, *options, "-o", tmp_path / "a").exit_code == 128 + number
    assert run("cluster", edges, *options, "--max-iter", 3, "-o", tmp_path / "b").exit_code == 0
    assert rows(tmp_path / "a/membership.csv") == rows(tmp_path / "b/membership.csv")


@pytest.mark.parametrize(
    ("module", "name"),
    [(odsymnmf.io, "read"), (kernels.l2, "l2_rows"), (runs, "write_result")],
    ids=["reading", "first sweep", "writing"],
)
def test_interrupt_without_a_result_writes_nothing(edges, tmp_path, monkeypatch, module, name):
    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(module, name, interrupted)
    result = run("cluster", edges, "-r", 3, "-q", "-o", tmp_path / "run")
    assert (result.exit_code, result.stderr) == (128 + signal.SIGTERM, "interrupted\n")
    assert os.listdir(tmp_path) == ["graph.csv"]


def test_verbosity_depends_on_the_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", sys.stdout)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert [cluster._verbose(quiet) for quiet in (True, False)] == [0, 1]
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert cluster._verbose(False) == 2
