"""Whether clusters stay the same when a part of the items is left out."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.choose.fits import Fits
from odsymnmf.memberships import labels
from odsymnmf.problem import subset
from odsymnmf.random_state import as_random

# So many parts, each of so large a share of the items.
PARTS, SHARE = 4, 0.7


@dataclass(frozen=True)
class Part:
    """Some of the items, to be fitted alone."""

    items: Array
    fits: Fits

    def agreement(self, r: int, whole: Array) -> float:
        """Return the adjusted Rand index of labels found alone and among all."""
        from sklearn.metrics import adjusted_rand_score

        alone = labels(self.fits.fit(r)[0].H)
        return float(adjusted_rand_score(whole[self.items], alone))


def parts(whole: Fits, most: int, random_state: Any) -> list[Part]:
    """Draw the parts."""
    rng, n = as_random(random_state), whole.raw.n
    size = max(int(SHARE * n), min(n, 2))
    drawn = [np.sort(np.argsort(rng.uniform(size=n))[:size]) for _ in range(PARTS)]
    return [
        Part(items, Fits(subset(whole.raw, items), whole.options, min(most, size)))
        for items in drawn
    ]
