"""A frame for a curve, as SVG: round numbers along its sides."""

from dataclasses import dataclass

import numpy as np

from odsymnmf.drawing.names import number

WIDTH, HEIGHT = 440, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 38


@dataclass(frozen=True)
class Axes:
    """Places for points of a curve.

    Attributes
    ----------
    first, last : float
        What is at the left and at the right.
    y_ticks : list of float
        The values with a line; the outer ones are the bottom and the top.
    log : bool
        Whether values are placed by their logarithm.
    """

    first: float
    last: float
    y_ticks: list[float]
    log: bool

    def height(self, value: float) -> float:
        """Return how far down a value is."""
        a, b, v = self.y_ticks[0], self.y_ticks[-1], value
        if self.log:
            a, b, v = np.log(a), np.log(b), np.log(v)
        return float(TOP + (HEIGHT - TOP - BOTTOM) * (1 - (v - a) / (b - a)))

    def across(self, x: float) -> float:
        """Return how far to the right x is."""
        share = (x - self.first) / (self.last - self.first) if self.last > self.first else 0.5
        return LEFT + (WIDTH - LEFT - RIGHT) * share

    def drawing(self, name: str, label: str, content: str) -> str:
        """Return the frame around what is in it; the name goes below."""
        lines = "".join(
            f'<path class="grid" d="M{LEFT} {self.height(t):.1f}H{WIDTH - RIGHT}"/>'
            f'<text class="end" x="{LEFT - 7}" y="{self.height(t) + 4:.1f}">{_label(t)}</text>'
            for t in self.y_ticks
        )
        feet = "".join(
            f'<text class="mid" x="{self.across(t):.1f}" y="{HEIGHT - BOTTOM + 17}">{t:,.0f}</text>'
            for t in self._feet()
        )
        middle = (LEFT + WIDTH - RIGHT) / 2
        return (
            f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
            f'{lines}{feet}<text class="mid" x="{middle:.0f}" y="{HEIGHT - 4}">{name}</text>'
            f"{content}</svg>"
        )

    def _feet(self) -> list[float]:
        if not self.last > self.first:
            return [self.first]
        return [
            t for t in _ticks(self.first, self.last) if t == int(t) and self.first <= t <= self.last
        ]


def axes(first: float, last: float, low: float, high: float) -> Axes:
    """Return a frame for values from low to high; logarithmic where they differ much."""
    log = low > 0 and high > 10 * low
    return Axes(first, last, _log_ticks(low, high) if log else _ticks(low, high), log)


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
