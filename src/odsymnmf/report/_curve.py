"""The convergence curve as SVG."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf.arrays import Array
from odsymnmf.drawing.names import count
from odsymnmf.report._axes import axes

# More points than the drawing is wide cannot be seen.
MOST_POINTS = 400
MOST_DOTS = 60


def convergence(history: ArrayLike, restarts: Sequence[int]) -> str:
    """Return the objective by step, a sweep or a restart; logarithmic where it decreases much."""
    values = np.asarray(history, dtype=np.float64).ravel()
    if not (values.size and np.isfinite(values).all()):
        return '<p class="muted">No history was kept.</p>'
    note = '<p class="note"><span class="ring"></span> accepted column restart</p>'
    return _curve(values, restarts) + (note if len(restarts) else "")


def _curve(history: Array, restarts: Sequence[int]) -> str:
    steps = len(history) - 1
    marked = [k for k in map(int, restarts) if 0 < k <= steps]
    frame = axes(0, steps, float(history.min()), float(history.max()))

    def after(k: int) -> str:
        return f"{_when(k, marked)}: {history[k]:.6g}"

    keep = np.unique(np.linspace(0, steps, MOST_POINTS).round().astype(int))
    points = [(int(k), frame.across(int(k)), frame.height(float(history[k]))) for k in keep]
    line = " ".join(f"{x:.1f},{y:.1f}" for _, x, y in points)
    dots = "".join(
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.6"><title>{after(k)}</title></circle>'
        for k, x, y in points
        if steps <= MOST_DOTS
    )
    rings = "".join(
        f'<circle class="restart" cx="{frame.across(k):.1f}" '
        f'cy="{frame.height(float(history[k])):.1f}" r="5">'
        f"<title>column restart, {after(k)}</title></circle>"
        for k in marked
    )
    label = f"Objective: {history[0]:.4g} at the start" + (
        f", {history[-1]:.4g} {_when(steps, marked)}." if steps else "."
    )
    name = "iterations and restarts" if marked else "iterations"
    return frame.drawing(name, label, f'<polyline points="{line}"/>{dots}{rings}')


def _when(k: int, restarts: Sequence[int]) -> str:
    if not k:
        return "at the start"
    before = sum(m <= k for m in restarts)
    return f"after {count(k - before, 'iteration')}" + (
        f" and {count(before, 'restart')}" if before else ""
    )
