"""The problem of some of the items."""

from typing import Any

from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.problem.kinds import Dense, Gram, Similarity, Sparse
from odsymnmf.problem.weights import Weights


def subset(A: Similarity, items: Array) -> Similarity:
    """Return the similarities among some of the items, and what their pairs weigh."""
    weights = _weights_of(A.weights, items)
    if isinstance(A, Gram):
        return Gram(A.X[items], weights)
    if isinstance(A, Sparse):
        return Sparse(_among(A.A, items), A.diagonal[items], weights)
    return Dense(A.A[items][:, items], weights)


def _among(M: Any, items: Array) -> Any:
    found = sparse.csr_array(M[items][:, items])
    found.sort_indices()
    return found


def _weights_of(weights: Weights, items: Array) -> Weights:
    P = weights.pattern
    if P is None or weights.values is None:
        return weights
    # Ones on top, so that a value of zero stays where its pair is.
    held = sparse.csr_array((weights.values + 1.0, P.indices, P.indptr), shape=P.shape)
    return Weights(weights.background, _among(P, items), _among(held, items).data - 1.0)
