"""The convergence curve as SVG."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odsymnmf.report._text import count, number

Array = NDArray[Any]

WIDTH, HEIGHT = 440, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 38
# More points than the drawing is wide cannot be seen.
MOST_POINTS = 400
MOST_DOTS = 60


def curve(history: Array, restarts: Sequence[int]) -> str:
    """Return the objective by step, a sweep or a restart; logarithmic where it falls far."""
    steps = len(history) - 1
    marked = [k for k in map(int, restarts) if 0 < k <= steps]
    low, high = float(history.min()), float(history.max())
    log = low > 0 and high > 10 * low
    y_ticks = _log_ticks(low, high) if log else _ticks(low, high)

    def height(value: float) -> float:
        a, b, v = y_ticks[0], y_ticks[-1], value
        if log:
            a, b, v = np.log(a), np.log(b), np.log(v)
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (v - a) / (b - a))

    def across(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (step / steps if steps else 0.5)

    def after(k: int) -> str:
        return f"{_when(k, marked)}: {history[k]:.6g}"

    keep = np.unique(np.linspace(0, steps, MOST_POINTS).round().astype(int))
    points = [(int(k), across(int(k)), height(float(history[k]))) for k in keep]
    line = " ".join(f"{x:.1f},{y:.1f}" for _, x, y in points)
    dots = "".join(
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.6"><title>{after(k)}</title></circle>'
        for k, x, y in points
        if steps <= MOST_DOTS
    )
    rings = "".join(
        f'<circle class="restart" cx="{across(k):.1f}" cy="{height(float(history[k])):.1f}" r="5">'
        f"<title>column restart, {after(k)}</title></circle>"
        for k in marked
    )
    label = f"Objective: {history[0]:.4g} at the start" + (
        f", {history[-1]:.4g} {_when(steps, marked)}." if steps else "."
    )
    across_words = "sweeps and restarts" if marked else "sweeps"
    return (
        f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f"{_grid(y_ticks, height)}{_feet(steps, across_words, across)}"
        f'<polyline points="{line}"/>{dots}{rings}</svg>'
    )


def _grid(ticks: list[float], height: Any) -> str:
    parts = [
        f'<path class="grid" d="M{LEFT} {height(t):.1f}H{WIDTH - RIGHT}"/>'
        f'<text class="end" x="{LEFT - 7}" y="{height(t) + 4:.1f}">{_label(t)}</text>'
        for t in ticks
    ]
    return "".join(parts)


def _when(k: int, restarts: Sequence[int]) -> str:
    if not k:
        return "at the start"
    before = sum(m <= k for m in restarts)
    return f"after {count(k - before, 'sweep')}" + (
        f" and {count(before, 'restart')}" if before else ""
    )


def _feet(steps: int, name: str, across: Any) -> str:
    ticks = [t for t in _ticks(0, steps) if t == int(t) and t <= steps] if steps else [0]
    parts = [
        f'<text class="mid" x="{across(t):.1f}" y="{HEIGHT - BOTTOM + 17}">{t:,.0f}</text>'
        for t in ticks
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    return "".join(parts) + f'<text class="mid" x="{middle:.0f}" y="{HEIGHT - 4}">{name}</text>'


def _ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers from below ``low`` to above ``high``."""
    if not high > low:
        low, high = 0.5 * low, 1.5 * high or 1.0
    rough = (high - low) / 4
    unit = 10.0 ** np.floor(np.log10(rough))
    step = unit * next(s for s in (1, 2, 5, 10) if s * unit >= rough * 0.999)
    return [
        float(step * k) for k in range(int(np.floor(low / step)), int(np.ceil(high / step)) + 1)
    ]


def _log_ticks(low: float, high: float) -> list[float]:
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    every = max(1, (last - first + 4) // 5)
    return [10.0**k for k in range(first, last + every, every)]


def _label(t: float) -> str:
    return number(t) if abs(t) < 1e6 else f"{t:.3g}"
