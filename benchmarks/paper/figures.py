"""Accuracy by random and by adversarial noise, and the objective by initialization."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.paper.assumptions import INITS, METHODS, OPTIONS, Assumptions, measure
from benchmarks.paper.experiment import COLORS, Request, compute, mean_and_std, panels, table, write
from odsymnmf import factorize, objective
from odsymnmf.datasets import cliques, flip
from odsymnmf.metrics import membership_accuracy

LINES = (*METHODS, "ours l1")
# From the greedy initialization, the library's result equals that of `odsymnmf.paper`.
ASSUMPTIONS = Assumptions(by="library")

SIZES = [10] * 10
NOISE = [round(0.05 * step, 2) for step in range(11)]
# The paper: "for low levels of noise, accuracy above 90 %".
LOW_NOISE, HIGH_ACCURACY = 0.15, 90.0
CLIQUE, OUTSIDE = 10, 10
LINKS = list(range(CLIQUE + 1))

INIT_SIZES = [50] * 10  # large enough to measure time
INIT_NOISE, INIT_SWEEPS = 0.1, 100


def figure_random_noise(request: Request) -> None:
    """Accuracy by random noise.

    10 cliques of 10 items; every pair is flipped with the given probability. Accuracy in percent,
    mean ± standard deviation over the random matrices of each level, greedy initialization.
    "ours l1" is the library's default for l1, with its own greedy initialization and column
    restarts, `upper=1`.
    """
    rows = curves(request, {noise: ("cliques", SIZES, noise) for noise in NOISE})
    lines = []
    for method in ("OD-l1", "ours l1"):
        low = rows[(rows["method"] == method) & (rows["noise"] <= LOW_NOISE)]["mean"]
        lines.append(
            f"- {method} is above {HIGH_ACCURACY:g} % at {np.sum(low > HIGH_ACCURACY)} of the "
            f"{len(low)} levels up to {LOW_NOISE} (minimum: {low.min():.1f} %)."
        )
    labels = ("pairs flipped", "probability that a pair is flipped")
    write_curves(request, figure_random_noise, rows, lines, labels)


def figure_adversarial_noise(request: Request) -> None:
    """Accuracy by adversarial noise.

    Two cliques of 10 items, and 10 items outside, each of which is linked to the given number of
    random items of each clique. The true clusters are the two cliques. Accuracy in percent, mean ±
    standard deviation over the random matrices, greedy initialization. "ours l1" is the library's
    default for l1, with its own greedy initialization and column restarts, `upper=1`.
    """
    rows = curves(request, {links: ("adversarial", CLIQUE, OUTSIDE, links) for links in LINKS})
    lines = []
    for method in ("OD-l1", "ours l1"):
        means = rows[rows["method"] == method].set_index("noise")["mean"]
        inexact = means[means < 100].index
        exact = f"up to {min(inexact) - 1} links" if len(inexact) else "throughout"
        lines.append(
            f"- {method} is exact {exact} (half of a clique: {CLIQUE // 2}), and decreases to "
            f"{means[CLIQUE]:.1f} % at {CLIQUE}."
        )
    labels = ("links", "links of each outside item to each clique")
    write_curves(request, figure_adversarial_noise, rows, lines, labels)


def curves(request: Request, problems: dict[float, tuple[Any, ...]]) -> pd.DataFrame:
    """Return mean and deviation of the accuracy, a row per noise level and method."""
    fits = [(method, "greedy") for method in LINES]
    cases = {level: (problem, fits, ASSUMPTIONS) for level, problem in problems.items()}
    rows = mean_and_std(measure(request, cases, request.trials), ["case", "method"])
    return rows.rename(columns={"case": "noise"})


def write_curves(
    request: Request, result: Any, rows: pd.DataFrame, lines: list[str], labels: tuple[str, str]
) -> None:
    """Write the table and the plot of the curves, a line per method."""
    image, ax = panels(6, 4, 1)
    cells = []
    for method in LINES:
        part = rows[rows["method"] == method]
        style = ":" if method.startswith("ours") else "-"
        line = {"color": COLORS[method], "linestyle": style, "label": method}
        ax.errorbar(part["noise"], part["mean"], part["std"], capsize=2, **line)
        pairs = zip(part["mean"], part["std"], strict=True)
        cells.append([method, *(f"{mean:.1f} ± {std:.1f}" for mean, std in pairs)])
    ax.set_xlabel(labels[1])
    ax.set_ylabel("accuracy, %")
    ax.legend()
    means = rows.pivot_table(index="noise", columns="method", values="mean")
    apart = (means["OD-l2"] - means["symNMF"]).abs()
    lines = [
        *lines,
        f'- OD-l2 and symNMF "perform similarly": at most {apart.max():.1f} points apart '
        f"(at {apart.idxmax():g}), {apart.mean():.1f} on average.",
    ]
    parts = [
        table([labels[0], *(f"{level:g}" for level in means.index)], cells),
        "The paper's figure has no numbers. According to its text:",
        "\n".join(lines),
    ]
    write(request, result, rows, parts, image)


def figure_init(request: Request) -> None:
    """Objective by initialization.

    10 cliques of 50 items, 10 % of pairs flipped, means over the random matrices; the compiled
    library without restarts. The objective is relative to that of the true cliques; it can be less
    than 1, because the truth does not fit the noise best. "first" is its value before the first
    sweep, "last" after the last (at most 100). CPU seconds: "to 1 %" until the objective is within
    1 % of its last value, initialization included. The zero initialization is the library's, which
    sets one entry of each column: l2 does not change an H of zeros (see table-noise).

    The paper has no such figure. According to its text, sweeps after a random initialization "are
    wasting the global computational effort", after a zero one "the first factor is dense", and the
    greedy initialization costs "roughly r iterations".
    """
    problem = {"sizes": INIT_SIZES, "noise": INIT_NOISE, "seed": request.seed}
    jobs = [
        (labels := {"method": method, "init": init, "trial": trial}, {**problem, **labels})
        for method in METHODS
        for init in INITS
        for trial in range(request.trials)
    ]
    rows = compute(request, objectives, jobs, n_jobs=1)  # time is measured
    image, axes = panels(11, 3.6, len(METHODS))
    for ax, method in zip(axes, METHODS, strict=True):
        runs = rows[rows["method"] == method].groupby(["init", "trial"], sort=False)
        for (init, trial), part in runs:
            label = None if trial else init
            style = {"color": f"C{INITS.index(init)}", "alpha": 0.6, "label": label}
            ax.plot(part["seconds"], part["objective"], **style)
        ax.set_title(method, fontsize=10)
        ax.set_xlabel("CPU seconds")
    axes[0].set_ylabel("objective relative to that of the truth")
    axes[0].legend(fontsize=8)
    write(request, figure_init, rows.round({"seconds": 6}), [summary(rows)], image)


def objectives(
    sizes: Sequence[int], noise: float, seed: int, trial: int, method: str, init: str
) -> list[dict[str, Any]]:
    """Return the seconds and the objective, relative to that of the truth, after each sweep."""
    A, truth = cliques(sizes)
    noisy: Any = flip(A, noise, np.random.default_rng([seed, trial]))
    r, options = len(sizes), OPTIONS[method]
    loss: Any = {name: options[name] for name in ("loss", "diagonal") if name in options}
    factorize(noisy, r, init=init, max_iter=1, random_state=trial, **options)  # compiles
    start = time.process_time()
    H0 = factorize(noisy, r, init=init, max_iter=0, random_state=trial, **options).H
    seconds = [time.process_time() - start]

    def callback(state: Any) -> None:
        seconds.append(time.process_time() - start)

    # Only init="zero" sets one entry of each column; an array of zeros stays as it is.
    first: Any = "zero" if init == "zero" else H0
    result = factorize(noisy, r, init=first, max_iter=INIT_SWEEPS, callback=callback, **options)
    values = [objective(noisy, H0, **loss), *result.history[1:]]
    best = objective(noisy, truth, **loss)
    accuracy = round(100 * membership_accuracy(result.H, truth), 2)
    return [
        {"sweep": sweep, "seconds": spent, "objective": value / best, "accuracy": accuracy}
        for sweep, (spent, value) in enumerate(zip(seconds, values, strict=True))
    ]


def summary(rows: pd.DataFrame) -> str:
    """Return the means over the trials, a line per method and initialization."""
    runs = []
    for (method, init, _), run in rows.groupby(["method", "init", "trial"], sort=False):
        values, seconds = run["objective"].to_numpy(), run["seconds"].to_numpy()
        near = np.argmax(values <= 1.01 * values[-1])
        numbers = [values[0], values[-1], len(values) - 1, seconds[0], seconds[near], seconds[-1]]
        runs.append([method, init, *numbers, run["accuracy"].iloc[0]])
    means = pd.DataFrame(runs).groupby([0, 1], sort=False).mean()
    forms = ("{:.2f}", "{:.3f}", "{:.0f}", "{:.2g}", "{:.2g}", "{:.2g}", "{:.1f}")
    header = ["first", "last", "sweeps", "s for init", "s to 1 %", "s total", "accuracy, %"]
    return table(
        ["method", "init", *header],
        [
            [*index, *(form.format(x) for form, x in zip(forms, row, strict=True))]
            for index, *row in means.itertuples()
        ],
    )
