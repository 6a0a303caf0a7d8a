"""Why there are so many clusters: the error of every candidate, and which was chosen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from odsymnmf.drawing.names import clean, number
from odsymnmf.report._axes import axes
from odsymnmf.report._html import escape


@dataclass(frozen=True)
class Choice:
    """How the number of clusters was chosen.

    Attributes
    ----------
    candidates : sequence of int
        The numbers of clusters that were tried.
    errors : sequence of float
        What decided, for each candidate; NaN where it was not measured.
    n_clusters : int
        The recommended number.
    reason : str
        Why, in a sentence or two.
    measure : str
        What ``errors`` are, and which way is better.
    """

    candidates: Sequence[int]
    errors: Sequence[float]
    n_clusters: int
    reason: str
    measure: str = "error on held-out pairs: smaller is better"

    def __post_init__(self) -> None:
        if len(self.candidates) != len(self.errors):
            raise ValueError(
                f"there are {len(self.errors)} errors for {len(self.candidates)} candidates; "
                "give one error per candidate."
            )


def choice_card(choice: Choice | None) -> str:
    """Return the section on how many clusters there are, if the number was chosen."""
    if choice is None:
        return ""
    return (
        '<section aria-labelledby="h-choice" class="card"><h2 id="h-choice">'
        f"Why {choice.n_clusters:,} clusters</h2>"
        f'<div class="pair choice"><p>{escape(clean(choice.reason, 2000))}</p>'
        f"<div>{_curve(choice)}</div></div></section>"
    )


def _curve(choice: Choice) -> str:
    pairs = sorted(zip(map(int, choice.candidates), map(float, choice.errors), strict=True))
    known = [(r, error) for r, error in pairs if np.isfinite(error)]
    if not known:
        return '<p class="muted">No error was measured.</p>'
    errors = [error for _, error in known]
    frame = axes(known[0][0], known[-1][0], min(errors), max(errors))
    points = [(r, error, frame.across(r), frame.height(error)) for r, error in known]
    line = " ".join(f"{x:.1f},{y:.1f}" for _, _, x, y in points)
    dots = "".join(
        f'<circle class="{"restart" if r == choice.n_clusters else "dot"}" cx="{x:.1f}" '
        f'cy="{y:.1f}" r="{6 if r == choice.n_clusters else 2.6}">'
        f"<title>{r:,} clusters: {number(error)}</title></circle>"
        for r, error, x, y in points
    )
    measure = escape(clean(choice.measure[:1].upper() + choice.measure[1:], 200))
    label = f"{measure}, by number of clusters; {choice.n_clusters:,} is chosen."
    drawing = frame.drawing("number of clusters", label, f'<polyline points="{line}"/>{dots}')
    return f'<p class="note">{measure}. <span class="ring"></span> chosen</p>{drawing}'
