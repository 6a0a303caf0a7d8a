"""Seeds: what ``random_state`` may be."""

from numbers import Integral

import numpy as np

RandomSource = np.random.Generator | np.random.RandomState
RandomState = RandomSource | int | None


def as_random(random_state: RandomState) -> RandomSource:
    """Return something with the methods that Generator and RandomState share.

    As scikit-learn's check_random_state, whose import would take longer than a fit, and
    Generators too. An int seeds a RandomState, whose streams NumPy has frozen.
    """
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return random_state
    if random_state is None:
        return np.random.mtrand._rand
    if isinstance(random_state, Integral) and 0 <= random_state < 2**32:
        return np.random.RandomState(int(random_state))
    raise ValueError(
        f"random_state={random_state!r} cannot seed a generator; pass None, an int from 0 to "
        "2**32 - 1, a numpy.random.RandomState or a numpy.random.Generator"
    )
