"""The figure of the starts: what each does to the objective over time."""

import time
from typing import Any

import numpy as np

from odsymnmf.datasets import cliques, flip
from odsymnmf.engine.run import Sweep
from odsymnmf.factorization import factorize, objective
from odsymnmf.metrics import membership_accuracy
from odsymnmf.reproduce.cells import Request, compute
from odsymnmf.reproduce.readings import ENGINE, METHODS, STARTS
from odsymnmf.reproduce.writing import canvas, save, table, write_csv, write_page

NAME = "figure-init"
# Cliques large enough that time can be told from noise.
SIZES = [50] * 10
NOISE = 0.1
SWEEPS = 100

ABOUT = """
{count} cliques of {size} items, 10 % of pairs flipped, means over {trials} random matrices; the
compiled engine without restarts. The objective is given as a multiple of that of the true
cliques; less than 1 is possible, because the truth does not fit its own noise best. "start" is
its value before the first sweep, "end" after the last (at most {sweeps}). Seconds are processor
seconds: "to 1 %" until the objective is within 1 % of its end, the making of the start
included. The zero start is that of the engine, which lifts one item of each column: from zeros
alone l2 cannot move (see table-noise).

The paper has no such figure. It says of the starts that sweeps after a random one "are wasting
the global computational effort", that after a zero one "the first factor is dense", and that
its greedy start costs "roughly r iterations".
"""


def main(request: Request) -> None:
    """Write figure-init.csv, .md and .png."""
    jobs = [(m, s, trial) for m in METHODS for s in STARTS for trial in range(request.trials)]
    cells = [
        {"sizes": SIZES, "noise": NOISE, "seed": request.seed, "trial": t, "method": m, "start": s}
        for m, s, t in jobs
    ]
    # One at a time: seconds are what is measured.
    results = compute(request, NAME, course, cells, n_jobs=1)
    rows = [
        {
            "method": method,
            "start": start,
            "trial": trial,
            "sweep": sweep,
            "seconds": round(seconds, 6),
            "objective": value,
            "accuracy": round(100 * result["accuracy"], 2),
        }
        for (method, start, trial), result in zip(jobs, results, strict=True)
        for sweep, (seconds, value) in enumerate(
            zip(result["seconds"], result["objective"], strict=True)
        )
    ]
    write_csv(request.out / f"{NAME}.csv", rows)
    about = ABOUT.format(count=len(SIZES), size=SIZES[0], trials=request.trials, sweeps=SWEEPS)
    write_page(
        request, NAME, "What the starts do to the objective", [about, summary(jobs, results)]
    )
    draw(request, jobs, results)


def course(
    sizes: list[int], noise: float, seed: int, trial: int, method: str, start: str
) -> dict[str, Any]:
    """Return the objective, by that of the truth, and the seconds after each sweep."""
    A, truth = cliques(sizes)
    noisy: Any = flip(A, noise, np.random.default_rng([seed, trial]))
    r, options = len(sizes), ENGINE[method]
    loss: Any = {"loss": options.get("loss", "l2"), "diagonal": options.get("diagonal", "ignore")}
    factorize(noisy, r, init=start, max_iter=1, random_state=trial, **options)  # compiles
    begun = time.process_time()
    H0 = factorize(noisy, r, init=start, max_iter=0, random_state=trial, **options).H
    seconds = [time.process_time() - begun]

    def look(state: Sweep) -> None:
        seconds.append(time.process_time() - begun)

    # The engine lifts a zero start that goes by its name only; to make it again costs nothing.
    again: Any = "zero" if start == "zero" else H0
    result = factorize(noisy, r, init=again, max_iter=SWEEPS, callback=look, **options)
    by = objective(noisy, truth, **loss)
    values = [objective(noisy, H0, **loss) / by, *(value / by for value in result.history[1:])]
    return {
        "seconds": seconds,
        "objective": [float(value) for value in values],
        "accuracy": membership_accuracy(result.H, truth),
    }


def summary(jobs: list[tuple[str, str, int]], results: list[dict[str, Any]]) -> str:
    """Return a line per method and start, the means over the trials."""
    lines = []
    for method, start in dict.fromkeys(job[:2] for job in jobs):
        found = [r for job, r in zip(jobs, results, strict=True) if job[:2] == (method, start)]
        curves = [np.array(r["objective"]) for r in found]
        near = [int(np.argmax(curve <= 1.01 * curve[-1])) for curve in curves]
        numbers = [
            np.mean([curve[0] for curve in curves]),
            np.mean([curve[-1] for curve in curves]),
            np.mean([len(curve) - 1 for curve in curves]),
            np.mean([r["seconds"][0] for r in found]),
            np.mean([r["seconds"][place] for r, place in zip(found, near, strict=True)]),
            np.mean([r["seconds"][-1] for r in found]),
            100 * np.mean([r["accuracy"] for r in found]),
        ]
        forms = ("{:.2f}", "{:.3f}", "{:.0f}", "{:.2g}", "{:.2g}", "{:.2g}", "{:.1f}")
        written = [form.format(x) for form, x in zip(forms, numbers, strict=True)]
        lines.append([method, start, *written])
    header = ["start", "end", "sweeps", "s for the start", "s to 1 %", "s in all", "accuracy, %"]
    return table(["method", "from", *header], lines)


def draw(request: Request, jobs: list[tuple[str, str, int]], results: list[dict[str, Any]]) -> None:
    """Draw a panel per method, a line per start and trial."""
    picture = canvas(11, 3.6)
    panels = picture.subplots(1, len(METHODS))
    for panel, method in zip(panels, METHODS, strict=True):
        for (m, start, trial), result in zip(jobs, results, strict=True):
            if m == method:
                panel.plot(
                    result["seconds"],
                    result["objective"],
                    color=f"C{STARTS.index(start)}",
                    alpha=0.6,
                    label=None if trial else start,
                )
        panel.set_title(method, fontsize=10)
        panel.set_xlabel("processor seconds")
    panels[0].set_ylabel("objective, by that of the truth")
    panels[0].legend(fontsize=8)
    save(picture, request, NAME)
