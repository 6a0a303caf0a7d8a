"""Equation (accuracy), and the matched label accuracy of the document table."""

from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf.paper.inputs import real_array


def accuracy(H: ArrayLike, H_star: ArrayLike) -> float:
    """Return 1 - min over column permutations P of sqrt(||H_P - H*||_F^2 / (r n)).

    All r! permutations are tried; `odsymnmf.metrics.membership_accuracy` is for large r.

    Examples
    --------
    >>> accuracy([[0, 1], [1, 0]], [[1, 0], [0, 1]])
    1.0
    """
    H, H_star = real_array(H, "H", 2), real_array(H_star, "H_star", 2)
    if H.shape != H_star.shape or H.size == 0:
        raise ValueError(
            f"H and H_star must share one shape (n, r); got {H.shape}, {H_star.shape}."
        )
    if H.shape[1] > 8:
        raise ValueError(
            f"r = {H.shape[1]} has too many permutations; use metrics.membership_accuracy."
        )
    nearest = min(np.sum((H[:, P] - H_star) ** 2) for P in permutations(range(H.shape[1])))
    return float(1 - np.sqrt(nearest / H.size))


def label_accuracy(labels: ArrayLike, truth: ArrayLike) -> float:
    """Return the largest share of items whose label equals the truth, over all relabellings.

    Labels and truth are whole numbers from 0; all one-to-one relabellings are tried.

    Examples
    --------
    >>> label_accuracy([1, 1, 0, 0], [0, 0, 1, 0])
    0.75
    """
    labels, truth = np.asarray(labels), np.asarray(truth)
    if labels.shape != truth.shape or labels.ndim != 1 or labels.size == 0:
        raise ValueError(
            "labels and truth must be vectors of one length >= 1; "
            f"got shapes {labels.shape} and {truth.shape}."
        )
    if labels.dtype.kind not in "iu" or truth.dtype.kind not in "iu":
        raise ValueError(
            f"labels and truth must be whole numbers; got {labels.dtype} and {truth.dtype}. "
            "np.unique(labels, return_inverse=True)[1] turns names into numbers."
        )
    if labels.min() < 0 or truth.min() < 0:
        raise ValueError("labels and truth must be >= 0; leave unknown items out first.")
    names = int(max(labels.max(), truth.max())) + 1
    if names > 8:
        raise ValueError(f"{names} labels have too many permutations; use metrics.label_accuracy.")
    return float(max(np.mean(np.array(P)[labels] == truth) for P in permutations(range(names))))
