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
    """Return the objective by sweep, accepted restarts marked; logarithmic where it falls far."""
    sweeps = len(history) - 1
    low, high = float(history.min()), float(history.max())
    log = low > 0 and high > 10 * low
    y_ticks = _log_ticks(low, high) if log else _ticks(low, high)

    def height(value: float) -> float:
        a, b, v = y_ticks[0], y_ticks[-1], value
        if log:
            a, b, v = np.log(a), np.log(b), np.log(v)
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (v - a) / (b - a))

    def across(sweep: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (sweep / sweeps if sweeps else 0.5)

    def after(k: int) -> str:
        when = f"after {count(k, 'sweep')}" if k else "at the start"
        return f"{when}: {history[k]:.6g}"

    keep = np.unique(np.linspace(0, sweeps, MOST_POINTS).round().astype(int))
    points = [(int(k), across(int(k)), height(float(history[k]))) for k in keep]
    line = " ".join(f"{x:.1f},{y:.1f}" for _, x, y in points)
    dots = "".join(
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.6"><title>{after(k)}</title></circle>'
        for k, x, y in points
        if sweeps <= MOST_DOTS
    )
    marked = [k for k in map(int, restarts) if 0 <= k <= sweeps]
    rings = "".join(
        f'<circle class="restart" cx="{across(k):.1f}" cy="{height(float(history[k])):.1f}" r="5">'
        f"<title>column restart accepted {after(k)}</title></circle>"
        for k in marked
    )
    label = (
        f"Objective by sweep: {history[0]:.4g} at the start, {history[-1]:.4g} after "
        f"{count(sweeps, 'sweep')}."
    )
    return (
        f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
        f"{_grid(y_ticks, height)}{_feet(sweeps, across)}"
        f'<polyline points="{line}"/>{dots}{rings}</svg>'
    )


def _grid(ticks: list[float], height: Any) -> str:
    parts = [
        f'<path class="grid" d="M{LEFT} {height(t):.1f}H{WIDTH - RIGHT}"/>'
        f'<text class="end" x="{LEFT - 7}" y="{height(t) + 4:.1f}">{_label(t)}</text>'
        for t in ticks
    ]
    return "".join(parts)


def _feet(sweeps: int, across: Any) -> str:
    ticks = [t for t in _ticks(0, sweeps) if t == int(t) and t <= sweeps] if sweeps else [0]
    parts = [
        f'<text class="mid" x="{across(t):.1f}" y="{HEIGHT - BOTTOM + 17}">{t:,.0f}</text>'
        for t in ticks
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    return "".join(parts) + f'<text class="mid" x="{middle:.0f}" y="{HEIGHT - 4}">sweeps</text>'


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
