"""The folder of a run: at every moment all of the old one or all of the new one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import odsymnmf
from odsymnmf import runs
from odsymnmf.io import _spare

posix = pytest.mark.skipif(os.name != "posix", reason="locks and kill of POSIX")


def make_run(folder: Path, mark: str) -> None:
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"versions": {"odsymnmf": "1"}, "mark": mark}))


def mark_of(folder: Path) -> str:
    return runs.read_record(folder)["mark"]


def child(code: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "PYTHONPATH": str(Path(odsymnmf.__file__).parents[1])}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, timeout=120)


def replace(target: Path, before: str) -> int:
    """Replace a run in a process of its own, which ends itself somewhere."""
    done = child(
        "import json, os, shutil, signal\n"
        "from pathlib import Path\n"
        "from odsymnmf import runs\n"
        "from odsymnmf.io import _spare\n"
        "def die(): os.kill(os.getpid(), signal.SIGKILL)\n"
        f"{before}\n"
        f"with runs.new_run(Path({str(target)!r}), force=True) as new:\n"
        "    record = {'versions': {'odsymnmf': '1'}, 'mark': 'new'}\n"
        "    (new / 'run.json').write_text(json.dumps(record))\n"
        "    inside()\n"
    )
    return done.returncode


KILLS = {
    "while writing": ("inside = die", "old"),
    "between the two renames": (
        "def inside():\n"
        "    _spare.exchange = lambda a, b: False\n"
        "    rename = os.rename\n"
        "    def then_die(a, b):\n"
        "        rename(a, b)\n"
        "        die()\n"
        "    os.rename = then_die",
        "old",
    ),
    "behind both renames": (
        "def inside():\n"
        "    _spare.exchange = lambda a, b: False\n"
        "    shutil.rmtree = lambda *a, **b: die()",
        "new",
    ),
    "behind the exchange": ("def inside():\n    shutil.rmtree = lambda *a, **b: die()", "new"),
}


@posix
@pytest.mark.parametrize("moment", KILLS)
@pytest.mark.parametrize("then", ["read", "write"])
def test_a_kill_at_any_moment_leaves_a_whole_run(tmp_path, moment, then):
    before, mark = KILLS[moment]
    target = tmp_path / "run"
    make_run(target, "old")
    assert replace(target, before) == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) in (1, 2, 3)
    if then == "read":
        assert mark_of(target) == mark
    else:
        with pytest.raises(FileExistsError, match="already holds a run"):
            runs.check_folder(target)
        assert mark_of(target) == mark
    # Whoever writes next tidies up.
    with runs.new_run(tmp_path / "other"):
        pass
    assert sorted(os.listdir(tmp_path)) == ["other", "run"]


@posix
def test_the_exchange_needs_no_second_rename(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "x").touch()
    if not _spare.exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this system cannot exchange two names")
    assert os.listdir(tmp_path / "b") == ["x"]
    assert os.listdir(tmp_path / "a") == []
    assert not _spare.exchange(tmp_path / "a", tmp_path / "missing")


def test_without_an_exchange_a_run_is_replaced_too(tmp_path, monkeypatch):
    monkeypatch.setattr(_spare, "exchange", lambda a, b: False)
    target = tmp_path / "run"
    make_run(target, "old")
    with runs.new_run(target, force=True) as new:
        (new / "run.json").write_text('{"versions": {"odsymnmf": "1"}, "mark": "new"}')
    assert mark_of(target) == "new"
    assert os.listdir(tmp_path) == ["run"]


@posix
def test_what_others_are_writing_is_not_tidied_away(tmp_path):
    stale = tmp_path / ".odsymnmf-0123456789ab"
    stale.mkdir()
    (stale / "labels.csv").write_text("half")
    (tmp_path / ".odsymnmf-0123456789ac.svg").write_text("half")
    mine = tmp_path / ".odsymnmf-notes"
    mine.mkdir()
    with runs.new_run(tmp_path / "a") as first, runs.new_run(tmp_path / "b"):
        assert first.is_dir()
        assert not stale.exists()
        runs.check_folder(tmp_path / "d")
        assert first.is_dir()
    assert sorted(os.listdir(tmp_path)) == [".odsymnmf-notes", "a", "b"]


@posix
@pytest.mark.parametrize("name", ["run.json", "labels.csv", "membership.csv", "matrix.npz"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path, name):
    make_run(tmp_path / "run", "x")
    record = {"versions": {"odsymnmf": "1"}, "fit": {"clusters": 1}}
    (tmp_path / "run" / "run.json").write_text(json.dumps(record))
    (tmp_path / "run" / "labels.csv").write_text("name,cluster,strength\na,0,1\n")
    (tmp_path / "run" / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / "run" / name)
    reader = "read_picture" if name == "matrix.npz" else "read_membership"
    done = child(
        "from pathlib import Path\n"
        "from odsymnmf import runs\n"
        f"try: runs.{reader}(Path({str(tmp_path / 'run')!r}))\n"
        "except ValueError as error: print(error)\n"
    )
    assert done.returncode == 0, done.stderr
    words = b"is not a run of odsymnmf" if name == "run.json" else name.encode() + b" is missing"
    assert words in done.stdout
