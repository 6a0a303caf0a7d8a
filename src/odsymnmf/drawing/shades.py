"""Numbers as shades: from -1, the full colour of what is negative, to 1."""

import numpy as np

from odsymnmf.arrays import Array

# Half of the faintest step of 127 that a picture has, under the root that shades take.
INVISIBLE = (0.5 / 127) ** 2


def scale_top(values: Array) -> float:
    """Return the value that gets the full colour: large, but not a lone outlier."""
    size = np.abs(values[np.isfinite(values) & (values != 0)])
    return float(np.quantile(size, 0.99)) if size.size else 1.0


def shades(values: Array) -> Array:
    """Return sign(v) sqrt(|v| / top) from -1 to 1: the root keeps faint similarities visible."""
    clipped = np.clip(np.nan_to_num(values.astype(np.float64)) / scale_top(values), -1, 1)
    return np.sign(clipped) * np.sqrt(np.abs(clipped))


def has_negative(values: Array) -> bool:
    """Tell whether a negative value can be seen: -8.9e-17 relative to 1 is a rounded zero."""
    return bool(np.nanmin(values, initial=0.0) < -INVISIBLE * scale_top(values))
