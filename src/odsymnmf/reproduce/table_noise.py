"""The accuracies at 10 % random noise, beside the paper's, and what each reading matters."""

from dataclasses import asdict
from typing import Any

import numpy as np

from odsymnmf.reproduce import printed
from odsymnmf.reproduce.cells import Request, compute
from odsymnmf.reproduce.readings import METHODS, OURS, STARTS, Reading, accuracies
from odsymnmf.reproduce.writing import COLOURS, canvas, save, table, write_csv, write_page

NAME = "table-noise"
NOISE = 0.1
SIZES = {
    "2 balanced": [10] * 2,
    "2 unbalanced": [15, 5],
    "5 balanced": [10] * 5,
    "5 unbalanced": [12, 11, 10, 9, 8],
    "10 balanced": [10] * 10,
    "10 unbalanced": list(range(14, 4, -1)),
}
PAPER_FITS = [[method, start] for start in STARTS for method in METHODS]
OUR_FITS = [[method, "greedy"] for method in OURS]

# Where the readings are varied, and the trials that this takes at most.
VARIED, VARIED_TRIALS = "10 balanced", 5
GREEDY = [[method, "greedy"] for method in METHODS]
OD = [[method, start] for method, start in PAPER_FITS if method != "symNMF"]
VARIATIONS: dict[str, tuple[Reading, list[list[str]]]] = {
    "as read": (Reading(), PAPER_FITS),
    "no bound on H": (Reading(upper=None), OD),
    "random start not scaled": (Reading(scaled=False), [[m, "random"] for m in METHODS]),
    "neither bound nor scaling": (
        Reading(upper=None, scaled=False),
        [["OD-l1", "random"], ["OD-l2", "random"]],
    ),
    "median of nothing is 0": (Reading(empty=0.0), [["OD-l1", s] for s in STARTS]),
    "row by row": (Reading(by="rows"), PAPER_FITS),
    "self-similarity 2": (Reading(self_similarity=2.0), GREEDY),
    "by the compiled engine": (Reading(by="engine"), GREEDY),
}

READING = """
Mean ± standard deviation over {trials} random matrices, per cent, and the paper's number in
brackets. Accuracy is the paper's formula with the minimum over permutations, raw H against H*.
The paper does not give all settings; this is the reading taken, by the transcription in
`odsymnmf.paper`:

- clusters of 10 items; unbalanced: [15, 5], [12, 11, 10, 9, 8], [14, 13, ..., 5];
- pairs are flipped, so that A stays symmetric; the diagonal is 1;
- entries of H are at most 1 (OD-l1, OD-l2);
- a random start is uniform, times sqrt(<A, H0 H0ᵀ> / |H0ᵀ H0|²);
- a weighted median of nothing is 1; OD-l2 does not leave a zero start, where every entry would be
  0/0: 1 - 1/√r (the paper's 88 for 5 balanced clusters fits no reading);
- column by column; 30 sweeps, fewer where no entry moves by more than 0.0001.

The last two columns are what the library itself does with `upper=1` and otherwise its defaults:
for l1 with column restarts.
"""

CHOICES = """
## How much each choice matters

One choice changed at a time, on {varied}, {trials} random matrices. A dot: the choice cannot
matter there. "Columns scaled" compares H with its columns brought to the length of those of H*.
"By the compiled engine" is what the figures of random and adversarial noise use: row by row,
from the same start.
"""


def main(request: Request) -> None:
    """Write table-noise.csv, .md and .png."""
    rows = measure(request)
    varied = variations(request)
    write_csv(request.out / f"{NAME}.csv", rows)
    write_csv(request.out / f"{NAME}-readings.csv", varied)
    trials = min(request.trials, VARIED_TRIALS)
    write_page(
        request,
        NAME,
        "Accuracy at 10 % random noise",
        [
            READING.format(trials=request.trials),
            summary(rows),
            verdict(rows, request.trials),
            CHOICES.format(trials=trials, varied=f"{VARIED} clusters"),
            varied_summary(varied),
        ],
    )
    draw(request, rows)


def measure(request: Request) -> list[dict[str, Any]]:
    """Return a row per sizes, start and method: mean and deviation, and the paper's number."""
    # The slowest first, so that no worker is left with one at the end.
    names = sorted(SIZES, key=lambda name: -sum(SIZES[name]))
    reading = asdict(Reading())
    jobs = [(name, trial) for name in names for trial in range(request.trials)]
    cells = [settings(SIZES[n], request.seed, t, PAPER_FITS + OUR_FITS, reading) for n, t in jobs]
    results = compute(request, NAME, accuracies, cells)
    rows = []
    for name in SIZES:
        found = [result["raw"] for job, result in zip(jobs, results, strict=True) if job[0] == name]
        for method, start in PAPER_FITS + OUR_FITS:
            values = 100 * np.array([result[f"{method} {start}"] for result in found])
            paper = printed.NOISE[name][start][METHODS.index(method)] if method in METHODS else ""
            rows.append(
                {
                    "clusters": name,
                    "start": start,
                    "method": method,
                    "mean": round(float(values.mean()), 4),
                    "std": round(float(values.std()), 4),
                    "paper": paper,
                }
            )
    return rows


def settings(
    sizes: list[int], seed: int, trial: int, fits: list[list[str]], reading: dict[str, Any]
) -> dict[str, Any]:
    """Return the settings of one cell."""
    return {
        "family": "cliques",
        "settings": [sizes, NOISE],
        "seed": seed,
        "trial": trial,
        "fits": fits,
        "reading": reading,
    }


def summary(rows: list[dict[str, Any]]) -> str:
    """Return the table as Markdown, a line per sizes."""
    columns = list(dict.fromkeys((row["method"], row["start"]) for row in rows))
    found = {(row["clusters"], row["method"], row["start"]): row for row in rows}
    lines = []
    for name in SIZES:
        cells = (found[name, *column] for column in columns)
        lines.append([name, *(written(cell) for cell in cells)])
    header = [m if m in OURS else f"{m}, {s}" for m, s in columns]
    return table(["clusters", *header], lines)


def written(row: dict[str, Any]) -> str:
    paper = f" ({row['paper']})" if row["paper"] != "" else ""
    return f"{row['mean']:.1f} ± {row['std']:.1f}{paper}"


def verdict(rows: list[dict[str, Any]], trials: int) -> str:
    """Say how many cells are near the paper's, and which are not."""
    known = [row for row in rows if row["paper"] != ""]
    greedy = [
        r for r in known if r["start"] == "greedy" and not r["clusters"].endswith("unbalanced")
    ]
    others = [r for r in known if r["start"] != "greedy"]
    return "\n".join(
        [
            within(greedy, 2, trials, "Greedy start, balanced"),
            within([r for r in known if r["start"] == "greedy"], 2, trials, "Greedy start, all"),
            within(others, 5, trials, "Random and zero start"),
        ]
    )


def within(rows: list[dict[str, Any]], points: int, trials: int, what: str) -> str:
    far = [row for row in rows if abs(row["mean"] - row["paper"]) > points]
    names = "; ".join(
        f"{row['clusters']}, {row['start']}, {row['method']}: {written(row)}, {chance(row, trials)}"
        for row in far
    )
    outside = f" Outside: {names}." if far else ""
    return f"- {what}: {len(rows) - len(far)} of {len(rows)} within {points} points.{outside}"


def chance(row: dict[str, Any], trials: int) -> str:
    """Say how far apart the two means are, by what two means of so many matrices differ."""
    if row["std"] < 0.01:
        return "the same for every matrix"
    error = row["std"] * np.sqrt(2 / trials)
    return f"{abs(row['mean'] - row['paper']) / error:.1f} standard errors of the difference apart"


def variations(request: Request) -> list[dict[str, Any]]:
    """Return a row per variation of the reading, with the mean accuracy of each fit it touches."""
    trials = range(min(request.trials, VARIED_TRIALS))
    jobs = [(name, trial) for name in VARIATIONS for trial in trials]
    cells = []
    for name, trial in jobs:
        reading, fits = VARIATIONS[name]
        # The settings of the table itself, so that its cells are found again.
        fits = PAPER_FITS + OUR_FITS if name == "as read" else fits
        cells.append(settings(SIZES[VARIED], request.seed, trial, fits, asdict(reading)))
    results = compute(request, f"{NAME}, readings", accuracies, cells)
    names = [f"{method} {start}" for method, start in PAPER_FITS]

    def means(name: str, kind: str) -> dict[str, Any]:
        found = [result[kind] for job, result in zip(jobs, results, strict=True) if job[0] == name]
        values = (
            round(100 * float(np.mean([one[n] for one in found])), 4) if n in found[0] else ""
            for n in names
        )
        return dict(zip(names, values, strict=True))

    rows = [{"reading": name, **means(name, "raw")} for name in VARIATIONS]
    rows.append({"reading": "columns scaled", **means("as read", "scaled")})
    return rows


def varied_summary(rows: list[dict[str, Any]]) -> str:
    """Return the variations as Markdown."""
    lines = [
        [str(value) if n == 0 else "·" if value == "" else f"{value:.1f}" for n, value in cells]
        for cells in (enumerate(row.values()) for row in rows)
    ]
    header = ["reading", *(f"{method}, {start}" for method, start in PAPER_FITS)]
    return table(header, lines)


def draw(request: Request, rows: list[dict[str, Any]]) -> None:
    """Draw a panel per start: ours with deviations, and the paper's numbers."""
    picture = canvas(11, 3.6)
    panels = picture.subplots(1, len(STARTS), sharey=True)
    for panel, start in zip(panels, STARTS, strict=True):
        for number, method in enumerate(METHODS):
            chosen = [r for r in rows if (r["start"], r["method"]) == (start, method)]
            places = np.arange(len(chosen)) + 0.22 * (number - 1)
            panel.errorbar(
                places,
                [r["mean"] for r in chosen],
                yerr=[r["std"] for r in chosen],
                fmt="o",
                color=COLOURS[method],
                label=method,
            )
            panel.plot(places, [r["paper"] for r in chosen], "_k", markersize=12)
        panel.set_title(f"{start} start", fontsize=10)
        panel.set_xticks(range(len(SIZES)), list(SIZES), rotation=40, ha="right", fontsize=8)
    panels[0].set_ylabel("accuracy, %")
    panels[-1].legend(loc="lower right", fontsize=8, title="black: the paper", title_fontsize=8)
    save(picture, request, NAME)
