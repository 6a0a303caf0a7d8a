"""Seeds: what ``random_state`` may be."""

import numpy as np
from sklearn.utils import check_random_state

RandomSource = np.random.Generator | np.random.RandomState
RandomState = RandomSource | int | None


def as_random(random_state: RandomState) -> RandomSource:
    """Return something with the methods that Generator and RandomState share.

    An int seeds a RandomState, whose streams NumPy has frozen, rather than a Generator, whose
    streams may change between NumPy versions.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        source: RandomSource = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            f"random_state={random_state!r} cannot seed a generator; pass None, an int from 0 to "
            "2**32 - 1, a numpy.random.RandomState or a numpy.random.Generator"
        ) from error
    return source
