"""Similarities made of others, or of features: never n x n where the input is not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from odsymnmf.similarity.checks import as_similarity, features
from odsymnmf.similarity.kinds import Dense, Gram, Similarity, Sparse, row_squares

Array = NDArray[Any]


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
    return Gram(_scaled_rows(X, inverse.astype(X.dtype)))


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
    return scaled(A, inverse_root_degrees(A))


def inverse_root_degrees(A: Similarity) -> Array:
    """Return d_i^(-1/2), d_i = sum_{j != i} A_ij; 0 where d_i = 0."""
    degrees = A.product(np.ones(A.n, dtype=A.dtype)).astype(np.float64)
    if isinstance(A, Gram):
        # What is left of |x_i|^2 - |x_i|^2 is rounding; its root would blow up the item.
        degrees[np.abs(degrees) <= np.sqrt(np.finfo(A.dtype).eps) * A.diagonal] = 0.0
    return inverse_roots(degrees)


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


def scaled(A: Similarity, s: Array) -> Similarity:
    """Return the similarities s_i A_ij s_j."""
    s = s.astype(A.dtype)
    if isinstance(A, Dense):
        with np.errstate(invalid="ignore", over="ignore"):  # the diagonal may hold anything
            return Dense(A.A * s[:, None] * s)
    if isinstance(A, Gram):
        return Gram(_scaled_rows(A.X, s))
    rows = _scaled_rows(A.A, s)
    rows.data *= s[rows.indices]
    return Sparse(rows, A.diagonal * s**2)


def _scaled_rows(X: Any, s: Array) -> Any:
    if not sparse.issparse(X):
        return X * s[:, None]
    data = X.data * np.repeat(s, np.diff(X.indptr))
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
