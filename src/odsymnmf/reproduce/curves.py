"""Accuracy curves over the noise, beside what the paper says of them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from odsymnmf.reproduce.cells import Request, compute
from odsymnmf.reproduce.readings import METHODS, Reading, accuracies
from odsymnmf.reproduce.writing import COLOURS, canvas, save, table, write_csv

LINES = (*METHODS, "ours l1")
FITS = [[method, "greedy"] for method in LINES]
# From the greedy start the engine ends where the transcription does (see table-noise), sooner.
READING = asdict(Reading(by="engine"))


def curve(
    request: Request, name: str, family: str, levels: Sequence[float], settings: list[list[Any]]
) -> list[dict[str, Any]]:
    """Measure, write NAME.csv, and return a row per noise level and method."""
    jobs = [(n, trial) for n in range(len(levels)) for trial in range(request.trials)]
    cells = [
        {
            "family": family,
            "settings": settings[n],
            "seed": request.seed,
            "trial": trial,
            "fits": FITS,
            "reading": READING,
        }
        for n, trial in jobs
    ]
    results = compute(request, name, accuracies, cells)
    rows = []
    for n, level in enumerate(levels):
        found = [result["raw"] for job, result in zip(jobs, results, strict=True) if job[0] == n]
        for method in LINES:
            values = 100 * np.array([result[f"{method} greedy"] for result in found])
            mean, std = round(float(values.mean()), 4), round(float(values.std()), 4)
            rows.append({"noise": level, "method": method, "mean": mean, "std": std})
    write_csv(request.out / f"{name}.csv", rows)
    return rows


def means(rows: list[dict[str, Any]], method: str) -> dict[float, float]:
    """Return the mean accuracy of a method by noise level."""
    return {row["noise"]: row["mean"] for row in rows if row["method"] == method}


def summary(rows: list[dict[str, Any]], noise: str) -> str:
    """Return the curves as Markdown, a line per method."""
    levels = list(dict.fromkeys(row["noise"] for row in rows))
    lines = [
        [
            method,
            *(f"{r['mean']:.1f} ± {r['std']:.1f}" for r in rows if r["method"] == method),
        ]
        for method in LINES
    ]
    return table([noise, *(f"{level:g}" for level in levels)], lines)


def difference(rows: list[dict[str, Any]]) -> str:
    """Say how far apart OD-l2 and symNMF are."""
    l2, sym = means(rows, "OD-l2"), means(rows, "symNMF")
    apart = {level: abs(l2[level] - sym[level]) for level in l2}
    worst = max(apart, key=lambda level: apart[level])
    return (
        f'- OD-l2 and symNMF "perform similarly": at most {apart[worst]:.1f} points apart '
        f"(at {worst:g}), {np.mean(list(apart.values())):.1f} on average."
    )


def draw(request: Request, name: str, rows: list[dict[str, Any]], noise: str) -> None:
    """Draw a line with error bars per method."""
    picture = canvas(6, 4)
    panel = picture.subplots()
    for method in LINES:
        chosen = [row for row in rows if row["method"] == method]
        panel.errorbar(
            [row["noise"] for row in chosen],
            [row["mean"] for row in chosen],
            yerr=[row["std"] for row in chosen],
            color=COLOURS[method],
            capsize=2,
            linestyle=":" if method.startswith("ours") else "-",
            label=method,
        )
    panel.set_xlabel(noise)
    panel.set_ylabel("accuracy, %")
    panel.legend()
    save(picture, request, name)
