"""Colours: one per cluster, the same everywhere, readable on white and on near-black."""

from functools import cache

import numpy as np

from odsymnmf.arrays import Array

POSITIVE, NEGATIVE, NOBODY = "#2f62d9", "#d9622b", "#8a8f98"

# Good neighbours, by hand; further colours are added as far from all before as possible.
FIRST = ["#3b6fd4", "#d2691e", "#2e9e6b", "#b0409c", "#a9851c", "#d6455d", "#2793ab", "#7a5fd0"]


DISTINCT = 200


@cache
def palette(r: int) -> tuple[str, ...]:
    """Return r colours as "#rrggbb"; those of a smaller r are the first of them.

    Beyond `DISTINCT` they begin again: more cannot be told apart.
    """
    if r > DISTINCT:
        return tuple(palette(DISTINCT)[l % DISTINCT] for l in range(r))
    colours = FIRST[:r]
    candidates = _candidates()
    distance = np.full(len(candidates), np.inf)
    for colour in FIRST:
        distance = np.minimum(distance, _distances(candidates, _oklab(colour)))
    for _ in range(r - len(FIRST)):
        best = int(np.argmax(distance))
        colours.append(_hex(candidates[best]))
        distance = np.minimum(distance, _distances(candidates, candidates[best]))
    return tuple(colours)


def _candidates() -> Array:
    """Colours of middling lightness, whose contrast with white and near-black is at least 3."""
    L, C, hue = np.meshgrid(
        np.linspace(0.46, 0.7, 9), np.linspace(0.03, 0.2, 7), np.radians(np.arange(0, 360, 5))
    )
    lab = np.stack([L, C * np.cos(hue), C * np.sin(hue)], axis=-1).reshape(-1, 3)
    rgb = _rgb(lab)
    Y = rgb @ [0.2126, 0.7152, 0.0722]
    return lab[(rgb.min(axis=1) >= 0) & (rgb.max(axis=1) <= 1) & (Y > 0.13) & (Y < 0.29)]


def _distances(lab: Array, other: Array) -> Array:
    # Hue and chroma tell clusters apart better than lightness does.
    return np.asarray(np.linalg.norm((lab - other) * [0.7, 1, 1], axis=1))


# Oklab (Ottosson, 2020): distances in it are close to differences that people see.
_TO_LMS = np.array(
    [
        [1, 0.3963377774, 0.2158037573],
        [1, -0.1055613458, -0.0638541728],
        [1, -0.0894841775, -1.2914855480],
    ]
)
_TO_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def _rgb(lab: Array) -> Array:
    return (lab @ _TO_LMS.T) ** 3 @ _TO_RGB.T


def _oklab(colour: str) -> Array:
    lms = np.cbrt(np.linalg.solve(_TO_RGB, _linear(colour)))
    return np.linalg.solve(_TO_LMS, lms)


def _linear(colour: str) -> Array:
    v = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def _hex(lab: Array) -> str:
    v = np.clip(_rgb(lab), 0, 1)
    v = np.where(v <= 0.0031308, 12.92 * v, 1.055 * v ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * x):02x}" for x in v)
