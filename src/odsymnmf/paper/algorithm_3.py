"""Algorithm 3: rank-one ODsymNMF-l1."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf.paper.inputs import Array, rank_one_problem
from odsymnmf.paper.weighted_median import constrained_weighted_median


def rank_one_l1(
    P: ArrayLike,
    h0: ArrayLike,
    K: Sequence[int] | None = None,
    *,
    empty: float = 1.0,
    upper: float = 1.0,
) -> Array:
    """Minimize 1/2 sum_{i != j} |P_ij - h_i h_j| over the entries h_k, k in K, one by one.

    Each entry is a weighted median: a = h without h_k, b = row k of P without P_kk. K = None
    visits all items. The paper's calligraphic K, all items but k, is `items` here.

    Examples
    --------
    >>> rank_one_l1([[9, 1, 0], [1, 9, 1], [0, 1, 9]], [1, 0, 1], [1]).tolist()
    [1.0, 1.0, 1.0]
    """
    P, h, K = rank_one_problem(P, h0, K)
    for k in K:
        items = np.delete(np.arange(len(h)), k)
        a = h[items]
        b = P[k, items]
        h[k] = constrained_weighted_median(a, b, empty=empty, upper=upper)
    return h
