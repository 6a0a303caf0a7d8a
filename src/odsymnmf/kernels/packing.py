"""Rows of H as a bit mask and the nonzero values."""

from odsymnmf.kernels.compile import kernel


@kernel
def pack(numbers, mask, values):
    """Write the nonzero numbers to ``values`` and set their bits in ``mask``, which is zero.

    ``numbers`` are integers, so that -0.0 and NaN are kept. A zero is appended. Return the number
    of values.
    """
    count = 0
    for t in range(len(numbers)):
        nonzero = numbers[t] != 0
        mask[t >> 3] |= nonzero << (t & 7)
        values[count] = numbers[t]
        count += nonzero
    values[count] = 0
    return count + 1


@kernel
def unpack(mask, values, numbers):
    """Set the numbers from the mask and values written by `pack`."""
    count = 0
    for t in range(len(numbers)):
        nonzero = (mask[t >> 3] >> (t & 7)) & 1
        numbers[t] = values[count] * nonzero
        count += nonzero
