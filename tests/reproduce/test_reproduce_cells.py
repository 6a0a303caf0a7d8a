"""Cells are computed once, stored whole, found again, and the same whatever n_jobs is."""

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from odsymnmf.reproduce import cells
from odsymnmf.reproduce.cells import Request, compute
from odsymnmf.reproduce.readings import METHODS, STARTS, Reading, accuracies

CALLS: list[tuple[int, int]] = []


def product(a: int, b: int, factor: int = 1) -> dict[str, float]:
    if a < 0:
        raise RuntimeError("no product")
    CALLS.append((a, b))
    return {"value": factor * a * b / 3}


SETTINGS = [{"a": a, "b": 7} for a in range(4)]


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def files(out: Path) -> list[Path]:
    return sorted((out / "cells").iterdir())


def test_a_second_run_computes_nothing_and_returns_the_same_bits(tmp_path: Path) -> None:
    first = compute(Request(tmp_path), "t", product, SETTINGS)
    assert [result["value"] for result in first] == [a * 7 / 3 for a in range(4)]
    assert len(CALLS) == 4
    assert compute(Request(tmp_path), "t", product, SETTINGS) == first
    assert len(CALLS) == 4


def test_only_what_is_new_is_computed(tmp_path: Path) -> None:
    compute(Request(tmp_path), "t", product, SETTINGS[:2])
    compute(Request(tmp_path), "t", product, [*SETTINGS, {"a": 0, "b": 8}])
    assert CALLS[2:] == [(2, 7), (3, 7), (0, 8)]


def test_a_change_of_the_method_computes_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute(Request(tmp_path), "t", product, SETTINGS)
    monkeypatch.setattr(cells, "method_version", lambda: "another")
    compute(Request(tmp_path), "t", product, SETTINGS)
    assert len(CALLS) == 8


def test_what_cannot_change_a_result_is_not_part_of_its_name(tmp_path: Path) -> None:
    for factor in (2, 5):
        found = compute(Request(tmp_path), "t", product, SETTINGS, context={"factor": factor})
        assert found[3]["value"] == 14
    assert len(CALLS) == 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[1, 2]",
        lambda text: text.replace('"a": 2', '"a": 9'),
        lambda text: text.replace("result", "other"),
    ],
    ids=["cut off", "empty", "not a cell", "other settings", "no result"],
)
def test_a_damaged_cell_is_mended(tmp_path: Path, damage) -> None:
    first = compute(Request(tmp_path), "t", product, SETTINGS)
    victim = next(f for f in files(tmp_path) if json.loads(f.read_text())["settings"]["a"] == 2)
    victim.write_text(damage(victim.read_text()))
    assert compute(Request(tmp_path), "t", product, SETTINGS) == first
    assert CALLS[4:] == [(2, 7)]
    assert json.loads(victim.read_text())["result"] == first[2]


def test_a_run_that_fails_keeps_the_finished_cells(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no product"):
        compute(Request(tmp_path), "t", product, [*SETTINGS[:2], {"a": -1, "b": 0}])
    assert [path.suffix for path in files(tmp_path)] == [".json", ".json"]
    compute(Request(tmp_path), "t", product, SETTINGS)
    assert CALLS[2:] == [(2, 7), (3, 7)]


def test_progress_is_told_in_lines_without_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "stderr", sys.stderr)
    compute(Request(tmp_path), "table", product, SETTINGS)
    assert re.fullmatch(r"table: 4 of 4 cells, \d+ s\n", capsys.readouterr().err)


def test_the_numbers_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    fits = [[method, start] for method in METHODS for start in STARTS]
    fits += [["ours l1", "greedy"]]
    settings = [
        {
            "family": "cliques",
            "settings": [[5, 4], 0.1],
            "seed": 3,
            "trial": trial,
            "fits": fits,
            "reading": asdict(Reading()),
        }
        for trial in range(3)
    ]
    alone = compute(Request(tmp_path / "1"), "t", accuracies, settings)
    together = compute(Request(tmp_path / "2", n_jobs=2), "t", accuracies, settings)
    assert alone == together
    assert len({tuple(found["raw"].values()) for found in alone}) == 3


def test_all_code_that_a_fit_goes_through_is_part_of_a_name() -> None:
    code = (
        "import sys; from odsymnmf.reproduce import document_sets, figure_init, growth, readings; "
        "print(*{name.split('.')[1] for name in sys.modules if name.startswith('odsymnmf.')})"
    )
    place = str(Path(cells.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": place},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    rooms = {name.removesuffix(".py") for name in cells.ABOVE_FITS}
    assert rooms & set(done.stdout.split()) == {"reproduce"}
    assert "engine" in done.stdout
