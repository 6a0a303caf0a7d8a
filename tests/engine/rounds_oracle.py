"""Sweeps in rounds in plain NumPy: whole objectives decide whether a round is put in place."""

import weights_oracle


def sweep(A, W, H, loss, diagonal, upper, scales, refused):
    """Bring the rows of H to their optimum, every sixteenth at a time; list what was refused."""
    for first in range(min(16, len(A))):
        _round(A, W, H, range(first, len(A), 16), (loss, diagonal, upper, scales), refused)


def _round(A, W, H, items, options, refused):
    loss, diagonal, _, scales = options
    new = H.copy()
    for k in items:
        alone = H.copy()
        weights_oracle.sweep(A, W, alone, *options, items=[k])
        new[k] = alone[k]
    before, after = (weights_oracle.objective(A, W, X, loss, diagonal, scales) for X in (H, new))
    if len(items) > 1 and after > before * (1 + 1e-12):
        refused.append(items)
        _round(A, W, H, items[::2], options, refused)
        _round(A, W, H, items[1::2], options, refused)
    else:
        H[:] = new
