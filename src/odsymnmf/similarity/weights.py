"""Weights of pairs: a default for all pairs, and a list of exceptions.

Ordinary input has the default 1 and no exceptions. An unknown pair is an exception of weight 0;
with ``zero_weight``, the default is the weight of the pairs that a sparse A does not store, and
the stored ones are exceptions.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.utils import Array, as_csr


@dataclass(frozen=True)
class PairWeights:
    """w_ij = default, except for listed pairs: a symmetric CSR pattern with two values per pair.

    Attributes
    ----------
    default : float
        w0, the weight of pairs that are not listed.
    excess : csr_array or None
        v_ij = w_ij - w0 of the listed pairs, without the diagonal; None if there are none.
    values : ndarray or None
        A_ij of the listed pairs, in the same order, as the similarity stores it.
    """

    default: float = 1.0
    excess: Any = None
    values: Array | None = None

    @cached_property
    def exceptions(self) -> Any:
        """The listed pairs in the form that kernels take, or None."""
        if self.excess is None:
            return None
        from odsymnmf.kernels.weights import Exceptions

        v = self.excess
        assert self.values is not None
        return Exceptions(v.indptr, v.indices, v.data, self.values.astype(np.float64))

    @property
    def uniform(self) -> float:
        """w0 if all pairs have this weight, which callers of kernels apply; else 1."""
        return self.default if self.excess is None else 1.0

    def for_kernel(self, items: Array, r: int) -> Any:
        """Return the weights with workspace for the rows of the items, or None if all are equal."""
        if self.excess is None:
            return None
        from odsymnmf.kernels.weights import with_room

        return with_room(self.default, self.exceptions, items, r)

    @cached_property
    def has_lighter(self) -> bool:
        """Whether some pairs have less than the default weight."""
        return self.excess is not None and bool(self.excess.data.min(initial=0.0) < 0)

    @cached_property
    def excess_values(self) -> Any:
        """v_ij A_ij as a CSR array, the difference of w A and w0 A."""
        v = self.excess
        return sparse.csr_array((v.data * self.values, v.indices, v.indptr), shape=v.shape)

    def dense_rows(self, items: Array, n: int) -> Array:
        """Return the weights of all pairs of the items as full rows."""
        W = np.full((len(items), n), self.default)
        if self.excess is not None:
            some = self.excess[items].tocoo()
            W[some.row, some.col] += some.data
        return W

    def scale(self, s: Array) -> "PairWeights":
        """Return the weights of the similarities s_i A_ij s_j: only ``values`` differ."""
        v = self.excess
        if v is None:
            return self
        values = self.values * np.repeat(s, np.diff(v.indptr)) * s[v.indices]
        return PairWeights(self.default, v, values)

    def subset(self, items: Array) -> "PairWeights":
        """Return the weights of some of the items, in this order."""
        v = self.excess
        if v is None:
            return self
        assert self.values is not None
        # Positions of the entries instead of values, so that stored zeros stay; 1 is the first.
        positions = np.arange(1, v.nnz + 1)
        found = sparse.csr_array((positions, v.indices, v.indptr), shape=v.shape)[items][:, items]
        found.sort_indices()
        entries = found.data - 1
        v = sparse.csr_array((v.data[entries], found.indices, found.indptr), shape=found.shape)
        return PairWeights(self.default, v, self.values[entries])

    def to_arrays(self) -> dict[str, Any]:
        """Return the attributes that are not None, by name."""
        arrays = {"default": self.default, "excess": self.excess, "values": self.values}
        return {name: value for name, value in arrays.items() if value is not None}


EQUAL = PairWeights()


def check_weights(weights: Any, n: int) -> Any:
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
    W = _csr_with_zeros(np.asarray(weights)) if full else as_csr(weights, "weights").copy()
    W.sum_duplicates()
    W = without_diagonal(W.astype(np.float64))
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
        difference = abs(_plus_one(W) - _plus_one(T)).tocoo()
        worst = int(np.argmax(difference.data))
        i, j = int(difference.row[worst]), int(difference.col[worst])
        raise ValueError(
            f"weights must be symmetric, but weights[{i}, {j}] = {W[i, j]} and weights[{j}, {i}] = "
            f"{W[j, i]}. A weight of 0 that is stored counts, too: both or neither must be stored."
        )
    return W


def _plus_one(W: Any) -> Any:
    """Return the weights plus one, so that a stored zero differs from none."""
    return sparse.csr_array((W.data + 1.0, W.indices, W.indptr), shape=W.shape)


def check_zero_weight(zero_weight: Any) -> float:
    """Return zero_weight as a float."""
    if not isinstance(zero_weight, Real) or not 0 <= float(zero_weight) < np.inf:
        raise ValueError(f"zero_weight must be a number >= 0; got {zero_weight!r}.")
    return float(zero_weight)


def without_diagonal(A: Any) -> Any:
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


def combine_layers(n: int, default: float, *layers: Any) -> tuple[float, Any]:
    """Return the default and the excess v = w - default of layers of weights.

    Each layer is a CSR array of weights; a later one overrules an earlier one where both store a
    pair. If no more pairs have a positive weight than are listed, the default becomes 0 and they
    are listed instead: nothing cancels then.
    """
    given = [layer for layer in layers if layer is not None]
    if not given:
        return default, None
    keys = np.concatenate([_keys(layer, n) for layer in reversed(given)])
    values = np.concatenate([layer.data for layer in reversed(given)])
    pairs, first = np.unique(keys, return_index=True)
    weights = values[first].astype(np.float64)
    differ = weights != default
    heavy = n * (n - 1) - np.count_nonzero(weights == 0)
    if default > 0 and heavy <= np.count_nonzero(differ):
        known = np.full(n * n, default)
        known[pairs] = weights
        known[:: n + 1] = 0.0
        pairs, default = np.flatnonzero(known), 0.0
        weights = known[pairs]
        differ = weights != default
    if not differ.any():
        return default, None
    rows, columns = np.divmod(pairs[differ], n)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    index = np.int32 if max(n, len(rows)) < 2**31 else np.int64
    v = weights[differ] - default
    P = sparse.csr_array((v, columns.astype(index), indptr.astype(index)), shape=(n, n))
    P.has_canonical_format = True
    return default, P


def _keys(layer: Any, n: int) -> Array:
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(layer.indptr))
    return rows * n + layer.indices


def _csr_with_zeros(W: Array) -> Any:
    """Return a full matrix as CSR that stores its zeros, too."""
    n = len(W)
    indptr, indices = np.arange(n + 1) * n, np.tile(np.arange(n), n)
    return sparse.csr_array((W.ravel(), indices, indptr), shape=W.shape)


def lookup_csr(where: Any, A: Any, missing: float) -> Array:
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
