"""The weighted median by selection: no sort."""

import numpy as np

from odsymnmf.kernels.compile import kernel, part

# Points looked at to choose a pivot from many.
SAMPLE = 16


@part
def _pivot(points, low, high, share):
    """Return a point that about ``share`` of points[low:high] lie below, or a little more do.

    Near convergence the answer is among the first of many points: a pivot close above it leaves
    few, and its comparisons are easy to predict.
    """
    m = high - low
    if m < 2 * SAMPLE:
        a, b, c = points[low], points[(low + high) // 2], points[high - 1]
        return max(min(a, b), min(max(a, b), c))
    sample = np.empty(SAMPLE)
    for i in range(SAMPLE):
        x = points[low + (i * m) // SAMPLE]
        j = i
        while j > 0 and sample[j - 1] > x:
            sample[j] = sample[j - 1]
            j -= 1
        sample[j] = x
    return sample[min(SAMPLE - 1, int(share * SAMPLE) + 1)]


@kernel
def select(points, weights, m, total, target):
    """Return the smallest of points[:m] at which the weight up to it reaches ``target`` > 0.

    ``total`` is the weight of all. Quickselect on the weights: both arrays are reordered. If
    rounding leaves the whole weight short of the target, the answer is the largest point.
    """
    # A plain 0 would be compiled once as a constant and once more as a number.
    low, high, reached = np.int64(0), m, 0.0
    while True:
        pivot = _pivot(points, low, high, (target - reached) / total)
        # points[low:i] < pivot = points[i:j], points[p:high] > pivot, the rest is unseen
        i, j, p = low, low, high
        less, equal = 0.0, 0.0
        while j < p:
            if points[j] > pivot:
                p -= 1
                points[j], points[p] = points[p], points[j]
                weights[j], weights[p] = weights[p], weights[j]
            else:
                if points[j] < pivot:
                    less += weights[j]
                    points[i], points[j] = points[j], points[i]
                    weights[i], weights[j] = weights[j], weights[i]
                    i += 1
                else:
                    equal += weights[j]
                j += 1
        if reached + less >= target and i > low:
            high = i
            total = less
        elif reached + less + equal >= target or p == high:
            return pivot
        else:
            reached += less + equal
            total -= less + equal
            low = p
