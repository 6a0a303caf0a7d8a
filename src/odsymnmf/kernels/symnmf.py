"""The entry of symNMF: the diagonal makes it a quartic."""

import math

from odsymnmf.kernels.compile import kernel


@kernel
def _cube_root(x):
    """Return the cube root; that of 8 x is twice that of x to the last bit, as no library says."""
    third = math.frexp(x)[1] // 3
    return math.copysign(math.ldexp(abs(math.ldexp(x, -3 * third)) ** (1.0 / 3.0), third), x)


@kernel
def _largest_root(a, b):
    """Return the largest real root of x^3 + a x + b, polished by Newton's method."""
    delta = b * b / 4.0 + a * a * a / 27.0
    if delta > 0.0:
        # The larger of the two cube roots first: their product is -a / 3, without cancellation.
        s = _cube_root(-b / 2.0 - math.copysign(math.sqrt(delta), b))
        x = s - a / (3.0 * s)
    else:
        m = math.sqrt(max(0.0, -a / 3.0))
        cube = m**3
        if cube == 0.0:
            return 0.0
        x = 2.0 * m * math.cos(math.acos(max(-1.0, min(1.0, -b / (2.0 * cube)))) / 3.0)
    for _ in range(2):
        slope = 3.0 * x * x + a
        if slope > 0.0:
            x -= (x * (x * x + a) + b) / slope
    return x


@kernel
def minimise_quartic(a, b, upper):
    """Minimise x^4 / 4 + a x^2 / 2 + b x over 0 <= x <= upper.

    Of the roots of x^3 + a x + b only the largest can be a positive local minimum to the right
    of every local maximum; a second one would be negative, because the roots sum to zero.
    """
    x = min(_largest_root(a, b), upper)
    if x > 0.0 and x * (x * (x * x / 4.0 + a / 2.0) + b) < 0.0:
        return x
    return 0.0
