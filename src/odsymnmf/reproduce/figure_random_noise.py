"""The figure of random noise: 10 cliques of 10 items, pairs flipped with growing probability."""

from typing import Any

from odsymnmf.reproduce.cells import Request
from odsymnmf.reproduce.curves import curve, difference, draw, means, summary
from odsymnmf.reproduce.writing import write_page

NAME = "figure-random-noise"
SIZES = [10] * 10
NOISE = [round(0.05 * step, 2) for step in range(11)]
# The paper: "for low levels of noise, accuracy above 90 %".
LOW, HIGH_ACCURACY = 0.15, 90.0

ABOUT = """
10 cliques of 10 items; every pair is flipped with the probability given. Accuracy in per cent,
mean ± standard deviation over {trials} random matrices for each level, greedy start. "ours l1"
is the library's default: l1 with its own greedy start and column restarts, `upper=1`.
"""


def main(request: Request) -> None:
    """Write figure-random-noise.csv, .md and .png."""
    rows = curve(request, NAME, "cliques", NOISE, [[SIZES, noise] for noise in NOISE])
    pieces = [
        ABOUT.format(trials=request.trials),
        summary(rows, "pairs flipped"),
        "The paper's figure is a picture without numbers. What its text says of it:",
        verdict(rows) + "\n" + difference(rows),
    ]
    write_page(request, NAME, "Accuracy by random noise", pieces)
    draw(request, NAME, rows, "probability that a pair is flipped")


def verdict(rows: list[dict[str, Any]]) -> str:
    """Say up to which noise OD-l1 stays above 90 %."""
    lines = []
    for method in ("OD-l1", "ours l1"):
        low = {noise: mean for noise, mean in means(rows, method).items() if noise <= LOW}
        above = sum(mean > HIGH_ACCURACY for mean in low.values())
        lines.append(
            f"- {method} is above {HIGH_ACCURACY:g} % at {above} of the {len(low)} levels up to "
            f"{LOW} (least: {min(low.values()):.1f} %)."
        )
    return "\n".join(lines)
