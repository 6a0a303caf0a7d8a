"""The command line of the reproduction: what it accepts, says and leaves behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from odsymnmf import reproduce
from odsymnmf.reproduce import all as everything
from odsymnmf.reproduce import figure_adversarial_noise, main

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ODSYMNMF_DATA", raising=False)


def message(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 1) -> str:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == code
    return capsys.readouterr().err


def test_an_unknown_name_is_refused_with_the_known_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = message(["table-nois", "--out", str(tmp_path)], capsys, code=2)
    assert "invalid choice: 'table-nois'" in said
    assert "table-complexity" in said


@pytest.mark.parametrize("option", ["--trials", "--jobs"])
def test_numbers_below_one_are_refused(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = message(["table-noise", "--out", str(tmp_path / "out"), option, "0"], capsys)
    assert "must be at least 1; got 0" in said
    assert not (tmp_path / "out").exists()


def test_missing_matplotlib_is_said_before_anything_is_computed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = message(["table-noise", "--out", str(tmp_path / "out")], capsys)
    assert 'pip install "odsymnmf[plots]"' in said
    assert not (tmp_path / "out").exists()


def test_missing_data_is_said_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = message(["table-documents", "--out", str(tmp_path)], capsys)
    assert "--data DIR or ODSYMNMF_DATA" in said
    said = message(["table-documents", "--out", str(tmp_path), "--data", str(tmp_path)], capsys)
    assert "there is none of the document sets classic, ohscal" in said


def test_a_file_in_the_place_of_the_directory_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("precious")
    assert "out" in message(["table-noise", "--out", str(tmp_path / "out")], capsys)
    assert (tmp_path / "out").read_text() == "precious"


def test_all_goes_on_without_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("figure-adversarial-noise", "table-documents")
    monkeypatch.setattr(everything, "PAPER", names)
    monkeypatch.setattr(everything, "stderr", sys.stderr)
    monkeypatch.setattr(figure_adversarial_noise, "CONNECTIONS", [0, 10])
    main(["all", "--out", str(tmp_path), "--trials", "1", "--jobs", "1"])
    assert "left out: table-documents needs the document sets" in capsys.readouterr().err
    page = (tmp_path / "RESULTS.md").read_text()
    assert "python -m odsymnmf.reproduce all --out DIR --trials 1 --seed 0" in page
    assert page.index("## Accuracy by adversarial noise") < page.index("## table-documents")
    assert "Left out: the document sets were not at hand" in page
    assert "(figure-adversarial-noise.png)" in page
    assert str(tmp_path) not in page


def test_all_is_every_result_of_the_paper() -> None:
    assert everything.PAPER == reproduce.PAPER
    assert set(reproduce.NAMES) == {*reproduce.PAPER, "all", "starts"}


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "odsymnmf.reproduce", "table-documents", "--out", "."]
    place = str(Path(reproduce.__file__).parents[2])
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": place},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("python -m odsymnmf.reproduce: table-documents needs")
