"""Equation (accuracy), and the matched label accuracy of the document table."""

from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike


def accuracy(H: ArrayLike, H_star: ArrayLike) -> float:
    """Return 1 - min over column permutations P of sqrt(||H_P - H*||_F^2 / (r n)).

    All r! permutations are compared; `odsymnmf.metrics.membership_accuracy` is for large r.

    Examples
    --------
    >>> accuracy([[0, 1], [1, 0]], [[1, 0], [0, 1]])
    1.0
    """
    H, H_star = np.asarray(H, dtype=np.float64), np.asarray(H_star, dtype=np.float64)
    nearest = min(np.sum((H[:, P] - H_star) ** 2) for P in permutations(range(H.shape[1])))
    return float(1 - np.sqrt(nearest / H.size))


def label_accuracy(labels: ArrayLike, truth: ArrayLike) -> float:
    """Return the fraction of items whose label equals the truth, the largest over relabelings.

    Labels and truth are whole numbers from 0; all one-to-one relabelings are tried.

    Examples
    --------
    >>> label_accuracy([1, 1, 0, 0], [0, 0, 1, 0])
    0.75
    """
    labels, truth = np.asarray(labels), np.asarray(truth)
    n_labels = int(max(labels.max(), truth.max())) + 1
    matchings = permutations(range(n_labels))
    return float(max(np.mean(np.array(P)[labels] == truth) for P in matchings))
