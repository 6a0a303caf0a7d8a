"""Whether clusters stay the same: with a part of the items left out, and from another start."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from odsymnmf.arrays import Array
from odsymnmf.choose.fits import Fits
from odsymnmf.memberships import labels
from odsymnmf.problem import subset
from odsymnmf.random_state import as_random

# So many parts, each of so large a share of the items.
PARTS, SHARE = 4, 0.7


def agreement(H: ArrayLike, K: ArrayLike) -> Array:
    """Return the cosine of every column of H with its partner in K: how alike the clusters are.

    Columns are matched one to one, so that the sum of h_l . k_m / (|h_l| |k_m|) over the matched
    pairs is as large as can be.

    Parameters
    ----------
    H, K : array-like of shapes (n, r) and (n, s)
        Memberships of the same items, from two starts, say, or from two parts of the data.

    Returns
    -------
    ndarray of shape (r,)
        From 0 to 1, in the order of the columns of H; 0 for a column that is zero or, if s < r, has
        no partner.

    Examples
    --------
    >>> from odsymnmf.choose import agreement
    >>> agreement([[1, 0], [1, 0], [0, 1], [0, 1]], [[0, 2], [0, 2], [0, 2], [3, 0]])
    array([0.81649658, 0.70710678])
    """
    first, second = (np.asarray(M, dtype=np.float64) for M in (H, K))
    if first.ndim != 2 or second.ndim != 2 or len(first) != len(second):
        raise ValueError(
            "agreement compares memberships of the same items, arrays of shapes (n, r) and (n, s); "
            f"got shapes {first.shape} and {second.shape}."
        )
    cosines = _of_length_one(first).T @ _of_length_one(second)
    found = np.zeros(first.shape[1])
    columns, partners = linear_sum_assignment(cosines, maximize=True)
    found[columns] = cosines[columns, partners]
    return found


def _of_length_one(H: Array) -> Array:
    lengths = np.linalg.norm(H, axis=0)
    return np.divide(H, lengths, out=np.zeros_like(H), where=lengths > 0)


@dataclass(frozen=True)
class Part:
    """Some of the items, to be fitted alone."""

    items: Array
    fits: Fits

    def compared(self, r: int, whole: Array) -> tuple[float, Array]:
        """Return how alike the clusters found alone and among all are, and the labels found alone.

        Clusters by the mean of `agreement`.
        """
        alone = self.fits.fit(r)[0].H
        return float(agreement(whole[self.items], alone).mean()), labels(alone)


def parts(whole: Fits, most: int, random_state: Any) -> list[Part]:
    """Draw the parts."""
    rng, n = as_random(random_state), whole.raw.n
    size = max(int(SHARE * n), min(n, 2))
    drawn = [np.sort(np.argsort(rng.uniform(size=n))[:size]) for _ in range(PARTS)]
    return [
        Part(items, Fits(subset(whole.raw, items), whole.options, min(most, size)))
        for items in drawn
    ]


def from_another_start(fits: Fits, r: int, found: Array) -> float:
    """Return how alike the clusters found from a random start are, in the mean."""
    return float(agreement(found, fits.short(fits.A, "random", r).H).mean())
