"""The similarities, sorted by cluster, as a small picture of block means."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odsymnmf.members import as_members
from odsymnmf.problem import as_similarity

# With more clusters than this, none of them can be seen in a picture of all.
MOST_CLUSTERS = 200


@dataclass(frozen=True)
class MatrixPicture:
    """The similarities of n items, sorted by cluster and averaged to at most p x p pixels.

    Attributes
    ----------
    values : ndarray of shape (p, p), float32
        Means over the pairs i != j of a pixel; NaN where a pixel holds no such pair.
    edges : ndarray of shape (r + 1,)
        In the sorted order, cluster l holds the items ``edges[l]`` up to ``edges[l + 1]``; those
        from ``edges[r]`` on are unassigned.
    n : int
        Number of items.
    """

    values: NDArray[np.float32]
    edges: NDArray[np.intp]
    n: int


def matrix_picture(A: Any, H: Any, pixels: int = 400) -> MatrixPicture:
    """Return the mean of A_ij over the pairs i != j of every pixel, items sorted by cluster.

    Within its cluster the strongest member comes first; unassigned items come last. Sparse A costs
    its stored entries, documents (``similarity.cosine``) the products of p summed rows.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Symmetric similarities. The diagonal is ignored.
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    pixels : int
        Maximum number of pixels along one side.

    Returns
    -------
    MatrixPicture

    Examples
    --------
    >>> from odsymnmf.report import matrix_picture
    >>> A = [[0, 0, 4, 0], [0, 0, 0, 2], [4, 0, 0, 0], [0, 2, 0, 0]]
    >>> picture = matrix_picture(A, [[1, 0], [0, 1], [1, 0], [0, 1]], pixels=2)
    >>> picture.values.tolist(), picture.edges.tolist()
    ([[4.0, 0.0], [0.0, 2.0]], [0, 2, 4])
    """
    if pixels < 1:
        raise ValueError(f"pixels must be at least 1; got {pixels}.")
    S = as_similarity(A)
    members = as_members(H, S.n)
    p = min(S.n, pixels)
    pixel = np.empty(S.n, dtype=np.intp)
    pixel[members.order] = np.arange(S.n) * p // S.n
    sums = S.group_sums(pixel, p)
    sizes = np.bincount(pixel, minlength=p).astype(np.float64)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    means = np.divide(sums, pairs, out=np.full((p, p), np.nan), where=pairs > 0)
    return MatrixPicture(means.astype(np.float32), members.edges, S.n)
