"""Pairs that weigh: one background weight for all pairs, and a list of exceptions.

An ordinary problem has the background 1 and no exceptions. An unknown pair is an exception of
weight 0; with ``zero_weight``, the background is the weight of the pairs that a sparse A does not
store, and the stored ones are exceptions.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, as_csr


@dataclass(frozen=True)
class Weights:
    """w_ij = background, but for the exceptions: a symmetric CSR pattern with two values a pair.

    Attributes
    ----------
    background : float
        w0, what a pair weighs that is no exception.
    pattern : csr_array or None
        v_ij = w_ij - w0 of the exceptions, without the diagonal; None if there are none.
    values : ndarray or None
        A_ij of the exceptions, in the same order, as the similarity holds it.
    """

    background: float = 1.0
    pattern: Any = None
    values: Array | None = None

    @cached_property
    def exceptions(self) -> Any:
        """The exceptions as kernels take them, or None."""
        if self.pattern is None:
            return None
        from odsymnmf.kernels.weights import Exceptions

        P = self.pattern
        assert self.values is not None
        return Exceptions(P.indptr, P.indices, P.data, self.values.astype(np.float64))

    @property
    def even(self) -> float:
        """w0 where all pairs weigh the same, which kernels leave to who calls them; else 1."""
        return self.background if self.pattern is None else 1.0

    def uneven(self, items: Array, r: int) -> Any:
        """Return what pairs weigh, with room for rows of the items, or None if all the same."""
        if self.pattern is None:
            return None
        from odsymnmf.kernels.weights import with_room

        return with_room(self.background, self.exceptions, items, r)

    @cached_property
    def lighter(self) -> bool:
        """Whether some pairs weigh less than the background."""
        return self.pattern is not None and bool(self.pattern.data.min(initial=0.0) < 0)

    @cached_property
    def correction(self) -> Any:
        """v_ij A_ij as a CSR matrix: what a product w A differs from w0 A by."""
        P = self.pattern
        return sparse.csr_array((P.data * self.values, P.indices, P.indptr), shape=P.shape)

    def of(self, items: Array, n: int) -> Array:
        """Return the weights of all pairs of the items, as full rows."""
        W = np.full((len(items), n), self.background)
        if self.pattern is not None:
            some = self.pattern[items].tocoo()
            W[some.row, some.col] += some.data
        return W


ORDINARY = Weights()


def checked(weights: Any, n: int) -> Any:
    """Return the weights of pairs as CSR of sorted indices without the diagonal, or None."""
    if weights is None:
        return None
    if np.shape(weights) != (n, n):
        raise ValueError(
            f"weights has shape {np.shape(weights)}; it must be (n, n) = ({n}, {n}), like A."
        )
    full = not sparse.issparse(weights)
    dtype = weights.dtype if sparse.issparse(weights) else np.asarray(weights).dtype
    if dtype.kind not in "biuf":
        raise ValueError(f"weights must hold real numbers; got dtype {dtype}.")
    W = _every_pair(np.asarray(weights)) if full else as_csr(weights, "weights").copy()
    W.sum_duplicates()
    W = without_diagonal_entries(W.astype(np.float64))
    rows = np.repeat(np.arange(n), np.diff(W.indptr))
    bad = np.flatnonzero(~(np.isfinite(W.data) & (W.data >= 0)))
    if bad.size:
        i, j, value = rows[bad[0]], W.indices[bad[0]], W.data[bad[0]]
        raise ValueError(
            f"weights[{i}, {j}] is {value}; weights must be finite and >= 0 (0: unknown)."
        )
    T = W.T.tocsr()
    T.sort_indices()
    if not (np.array_equal(T.indices, W.indices) and np.array_equal(T.data, W.data)):
        difference = abs(_marked(W) - _marked(T)).tocoo()
        worst = int(np.argmax(difference.data))
        i, j = int(difference.row[worst]), int(difference.col[worst])
        raise ValueError(
            f"weights must be symmetric, but weights[{i}, {j}] = {W[i, j]} and weights[{j}, {i}] = "
            f"{W[j, i]}. A weight of 0 that is stored counts, too: both or neither must be stored."
        )
    return W


def _marked(W: Any) -> Any:
    """Return the weights plus one, so that a stored zero differs from none."""
    return sparse.csr_array((W.data + 1.0, W.indices, W.indptr), shape=W.shape)


def check_background(zero_weight: Any) -> float:
    """Return zero_weight as a float."""
    if not isinstance(zero_weight, Real) or not 0 <= float(zero_weight) < np.inf:
        raise ValueError(f"zero_weight must be a number >= 0; got {zero_weight!r}.")
    return float(zero_weight)


def without_diagonal_entries(A: Any) -> Any:
    """Return a CSR array without what is stored on its diagonal."""
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    return keep_entries(A, rows != A.indices)


def keep_entries(A: Any, keep: Array) -> Any:
    """Return a CSR array with only the entries marked."""
    if keep.all():
        return A
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    counts = np.bincount(rows[keep], minlength=A.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(A.indptr.dtype)
    return sparse.csr_array((A.data[keep], A.indices[keep], indptr), shape=A.shape)


def exceptions(n: int, background: float, *layers: Any) -> tuple[float, Any]:
    """Return the background and the pattern v = w - background, from layers of weights.

    Each layer is a CSR array of weights; a later one overrules an earlier one where both store a
    pair. Where the pairs that weigh something are no more than those exceptions, the background
    becomes 0 and they are listed instead: nothing cancels then.
    """
    given = [layer for layer in layers if layer is not None]
    if not given:
        return background, None
    keys = np.concatenate([_keys(layer, n) for layer in reversed(given)])
    values = np.concatenate([layer.data for layer in reversed(given)])
    pairs, first = np.unique(keys, return_index=True)
    weights = values[first].astype(np.float64)
    differ = weights != background
    heavy = n * (n - 1) - np.count_nonzero(weights == 0)
    if background > 0 and heavy <= np.count_nonzero(differ):
        known = np.full(n * n, background)
        known[pairs] = weights
        known[:: n + 1] = 0.0
        pairs, background = np.flatnonzero(known), 0.0
        weights = known[pairs]
        differ = weights != background
    if not differ.any():
        return background, None
    rows, columns = np.divmod(pairs[differ], n)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    index = np.int32 if max(n, len(rows)) < 2**31 else np.int64
    v = weights[differ] - background
    P = sparse.csr_array((v, columns.astype(index), indptr.astype(index)), shape=(n, n))
    P.has_canonical_format = True
    return background, P


def _keys(layer: Any, n: int) -> Array:
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(layer.indptr))
    return rows * n + layer.indices


def _every_pair(W: Array) -> Any:
    """Return a full matrix as CSR that stores its zeros, too."""
    n = len(W)
    indptr, indices = np.arange(n + 1) * n, np.tile(np.arange(n), n)
    return sparse.csr_array((W.ravel(), indices, indptr), shape=W.shape)


def looked_up(where: Any, A: Any, missing: float) -> Array:
    """Return what A stores at the entries of another CSR array, and ``missing`` elsewhere."""
    n = A.shape[0]
    asked, stored = (
        np.repeat(np.arange(n, dtype=np.int64), np.diff(M.indptr)) * n + M.indices
        for M in (where, A)
    )
    if not len(stored):
        return np.full(len(asked), missing)
    place = np.minimum(np.searchsorted(stored, asked), len(stored) - 1)
    return np.where(stored[place] == asked, A.data[place].astype(np.float64), missing)


def reordered_weights(weights: Weights, order: Array) -> Weights:
    """Return the weights of the items in another order: row p is that of item ``order[p]``."""
    P = weights.pattern
    if P is None:
        return weights
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    # Numbers in place of the values: they say where those of a pair were.
    Q = sparse.csr_array((np.arange(P.nnz), P.indices, P.indptr), shape=P.shape)[order]
    Q = sparse.csr_array((Q.data, inverse[Q.indices], Q.indptr), shape=P.shape).sorted_indices()
    assert weights.values is not None
    return Weights(
        weights.background,
        sparse.csr_array((P.data[Q.data], Q.indices, Q.indptr), shape=P.shape),
        weights.values[Q.data],
    )


def scaled_weights(weights: Weights, s: Array) -> Weights:
    """Return the weights of the similarities s_i A_ij s_j: the same, with other values."""
    P = weights.pattern
    if P is None:
        return weights
    values = weights.values * np.repeat(s, np.diff(P.indptr)) * s[P.indices]
    return Weights(weights.background, P, values)
