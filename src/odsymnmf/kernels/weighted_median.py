"""The weighted median by selection: no sort."""

from odsymnmf.kernels.compile import kernel


@kernel
def select(points, weights, m, target):
    """Return the smallest of points[:m] at which the weight up to it reaches ``target`` > 0.

    Quickselect on the weights: both arrays are reordered. If rounding leaves the whole weight
    short of the target, the answer is the largest point.
    """
    low, high, reached = 0, m, 0.0
    while True:
        a, b, c = points[low], points[(low + high) // 2], points[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        # points[low:i] < pivot = points[i:j] <= unseen; points[p:high] > pivot
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
        elif reached + less + equal >= target or p == high:
            return pivot
        else:
            reached += less + equal
            low = p
