"""Similarities made of others, or of features: never n x n where the input is not."""

from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.problem.blocking import row_squares, scaled_rows
from odsymnmf.problem.checks import as_similarity, features
from odsymnmf.problem.closed_forms import weighted_product
from odsymnmf.problem.kinds import Gram, Similarity


def cosine(X: Any) -> Gram:
    """Return the similarities x_i . x_j / (|x_i| |x_j|) of the rows of X, never formed.

    A row without entries is similar to nothing.

    Parameters
    ----------
    X : array-like or sparse of shape (n items, m features)
        For example word counts or tf-idf weights of documents.

    Returns
    -------
    Gram

    Examples
    --------
    >>> import numpy as np
    >>> A = cosine([[3, 4], [6, 8], [0, 0]])
    >>> A.product(np.eye(3)).round(6).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    X = features(X)
    lengths = np.sqrt(row_squares(X))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return Gram(scaled_rows(X, inverse.astype(X.dtype)))


def gram(X: Any) -> Gram:
    """Return the similarities x_i . x_j of the rows of X, never formed.

    Parameters
    ----------
    X : array-like or sparse of shape (n items, m features)

    Returns
    -------
    Gram

    Examples
    --------
    >>> gram([[3, 4], [6, 8]]).rows(np.array([0]))[3].tolist()
    [0.0, 50.0]
    """
    return Gram(features(X))


def degree_normalized(A: Any) -> Similarity:
    """Return the similarities A_ij / sqrt(d_i d_j), with d_i = sum_{j != i} A_ij.

    An item without similarities stays without.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Symmetric similarities with nonnegative sums.

    Returns
    -------
    Dense, Sparse or Gram

    Examples
    --------
    >>> A = degree_normalized([[5, 4, 0], [4, 5, 0], [0, 0, 5]])
    >>> A.product(np.ones(3)).tolist()
    [1.0, 1.0, 0.0]
    """
    A = as_similarity(A)
    return A.scaled_by(inverse_root_degrees(A))


def degrees(A: Similarity) -> Array:
    """Return d_i = sum_{j != i} w_ij A_ij: pairs that are not known add nothing."""
    return weighted_product(A, np.ones(A.n, dtype=A.dtype)).astype(np.float64)


def inverse_root_degrees(A: Similarity) -> Array:
    """Return d_i^(-1/2), d_i = sum_{j != i} w_ij A_ij; 0 where d_i = 0."""
    d = degrees(A)
    # What is left of |x_i|^2 - |x_i|^2 is rounding; its root would blow up the item.
    d[np.abs(d) <= np.sqrt(np.finfo(A.dtype).eps) * A.rounding] = 0.0
    return inverse_roots(d)


def inverse_roots(degrees: Array) -> Array:
    """Return d^(-1/2) for each degree d, 0 where d = 0."""
    if degrees.min(initial=0.0) < 0:
        i = int(np.argmin(degrees))
        raise ValueError(
            f"the similarities of item {i} sum to {degrees[i]:.6g}; degrees must be >= 0 for "
            'normalize="degree". Leave it out, or cut off negative similarities.'
        )
    roots = np.sqrt(degrees)
    return np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
