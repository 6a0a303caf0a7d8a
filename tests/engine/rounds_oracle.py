"""Sweeps in rounds in plain NumPy: whole objectives decide whether a round is put in place."""

import weights_oracle


def sweep(A, W, H, loss, diagonal, upper, scales, refused, together=1):
    """Bring the rows of H to their optimum, every sixteenth run of items that go together at a
    time; list what was refused."""
    n = len(A)
    runs = [range(k, min(n, k + together)) for k in range(0, n, together)]
    for first in range(min(16, len(runs))):
        _round(A, W, H, runs[first::16], (loss, diagonal, upper, scales), refused)


def _halves(runs):
    if len(runs) > 1:
        return runs[::2], runs[1::2]
    (run,) = runs
    half = 1
    while 2 * half < len(run):
        half *= 2
    return [run[:half]], [run[half:]]


def _round(A, W, H, runs, options, refused):
    loss, diagonal, _, scales = options
    new, items = H.copy(), [k for run in runs for k in run]
    for k in items:
        alone = H.copy()
        weights_oracle.sweep(A, W, alone, *options, items=[k])
        new[k] = alone[k]
    before, after = (weights_oracle.objective(A, W, X, loss, diagonal, scales) for X in (H, new))
    if len(items) > 1 and after > before * (1 + 1e-12):
        refused.append(items)
        for half in _halves(runs):
            _round(A, W, H, half, options, refused)
    else:
        H[:] = new
