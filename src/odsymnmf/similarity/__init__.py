"""Similarities, validated and ready to be factorized.

`cosine` and `gram` compare documents without forming the n x n matrix, `degree_normalized` divides
similarities by the degrees of the items, and `as_similarity` validates once for many fits and sets
the weights of pairs.
"""

from typing import Any

import numpy as np

from odsymnmf.similarity.base import Similarity, row_squares, scale_rows
from odsymnmf.similarity.dense import Dense
from odsymnmf.similarity.features import Gram
from odsymnmf.similarity.sparse import Sparse
from odsymnmf.similarity.validation import as_similarity, check_features
from odsymnmf.similarity.weights import PairWeights

__all__ = [
    "Dense",
    "Gram",
    "Similarity",
    "Sparse",
    "as_similarity",
    "cosine",
    "degree_normalized",
    "gram",
]


def cosine(X: Any) -> Gram:
    """Return the similarities x_i . x_j / (|x_i| |x_j|) of the rows of X as an implicit matrix.

    The similarities of a row of zeros are 0.

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
    >>> A.matmul(np.eye(3)).round(6).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    X = check_features(X)
    lengths = np.sqrt(row_squares(X))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return Gram(scale_rows(X, inverse.astype(X.dtype)))


def gram(X: Any) -> Gram:
    """Return the similarities x_i . x_j of the rows of X as an implicit matrix.

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
    return Gram(check_features(X))


def degree_normalized(A: Any) -> Similarity:
    """Return the similarities A_ij / sqrt(d_i d_j), with d_i = sum_{j != i} A_ij.

    An item whose degree is 0 keeps similarities of 0.

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
    >>> A.matmul(np.ones(3)).tolist()
    [1.0, 1.0, 0.0]
    """
    A = as_similarity(A)
    return A.scale(A.inverse_sqrt_degrees())


def from_arrays(kind: str, arrays: dict[str, Any]) -> Similarity:
    """Return the similarities of a class, from the arrays that `Similarity.to_arrays` returned."""
    parts = dict(arrays)
    weights = PairWeights(
        float(parts.pop("default")), parts.pop("excess", None), parts.pop("values", None)
    )
    kinds: dict[str, Any] = {"Dense": Dense, "Sparse": Sparse, "Gram": Gram}
    return kinds[kind](**parts, weights=weights)
