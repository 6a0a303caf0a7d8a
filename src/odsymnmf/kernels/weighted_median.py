"""The weighted median (Algorithm 7 of the paper) by selection: no sort."""

import numpy as np

from odsymnmf.kernels.compile import inline, kernel


@inline
def pivot_of(points, low, high):
    """Return the median of three points."""
    a, b, c = points[low], points[(low + high) // 2], points[high - 1]
    if a > b:
        a, b = b, a
    return a if c < a else c if c < b else b


@inline
def partition(points, weights, low, high, pivot):
    """Bring points[low:i] < pivot = points[i:p] < points[p:high], the weights with them.

    Return i, p, and the weights of the points below, at and above the pivot.
    """
    # points[low:i] < pivot = points[i:j], points[p:high] > pivot; points[j:p] are not yet compared
    i, j, p = low, low, high
    less, equal, more = 0.0, 0.0, 0.0
    while j < p:
        if points[j] > pivot:
            p -= 1
            points[j], points[p] = points[p], points[j]
            weights[j], weights[p] = weights[p], weights[j]
            more += weights[p]
        else:
            if points[j] < pivot:
                less += weights[j]
                points[i], points[j] = points[j], points[i]
                weights[i], weights[j] = weights[j], weights[i]
                i += 1
            else:
                equal += weights[j]
            j += 1
    return i, p, less, equal, more


@kernel
def select(points, weights, m, target):
    """Return the smallest of points[:m] at which the weight up to it reaches ``target`` > 0.

    Quickselect on the weights: both arrays are reordered. If the total weight is below the target
    by rounding, return the largest point. Costs O(m) on average.
    """
    # With a plain 0, Numba would compile the loop for two types.
    low, high, reached = np.int64(0), m, 0.0
    while True:
        pivot = pivot_of(points, low, high)
        i, p, less, equal, _ = partition(points, weights, low, high, pivot)
        if reached + less >= target and i > low:
            high = i
        elif reached + less + equal >= target or p == high:
            return pivot
        else:
            reached += less + equal
            low = p
