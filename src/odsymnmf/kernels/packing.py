"""Numbers of which most are zero: a bit for each, and those that are not zero; and back."""

import numpy as np

from odsymnmf.kernels.compile import kernel


@kernel
def squeeze(numbers, mask, values):
    """Write the numbers that are not zero to ``values``, and return how many there are.

    Bit t & 7 of mask[t >> 3] says whether the t-th is one of them. ``values`` has one place more
    than there are numbers: each is written, and the next one over it if it was zero, which is
    quicker than to ask.
    """
    count, whole = 0, len(numbers) >> 3
    for b in range(whole):
        bits = np.uint8(0)
        for j in range(8):
            number = numbers[8 * b + j]
            there = number != 0
            bits |= np.uint8(there) << np.uint8(j)
            values[count] = number
            count += there
        mask[b] = bits
    if whole < len(mask):
        mask[whole] = 0
    for t in range(8 * whole, len(numbers)):
        there = numbers[t] != 0
        mask[whole] |= there << (t & 7)
        values[count] = numbers[t]
        count += there
    values[count] = 0
    return count


@kernel
def spread(mask, values, numbers):
    """Set the numbers, and return how many of them are not zero.

    ``values`` goes on after the last of these: it is looked at for the zeros that follow.
    """
    count = 0
    for t in range(len(numbers)):
        there = (mask[t >> 3] >> (t & 7)) & 1
        numbers[t] = values[count] * there
        count += there
    return count
