"""Weights of pairs: a default for all pairs, and a list of exceptions.

Ordinary input has the default 1 and no exceptions. An unknown pair is an exception of weight 0;
with ``zero_weight``, the default is the weight of the pairs that a sparse A does not store, and
the stored ones are exceptions.
"""

from dataclasses import dataclass
from functools import cached_property
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
        v_ij = w_ij - w0 of the listed pairs, without the diagonal; None without exceptions.
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
        dtype = np.int32 if v.nnz < 2**31 else np.int64  # as in A: kernels are compiled once
        indptr, indices = v.indptr.astype(dtype, copy=False), v.indices.astype(dtype, copy=False)
        return Exceptions(indptr, indices, v.data, np.asarray(self.values, dtype=np.float64))

    @cached_property
    def uniform(self) -> float:
        """The factor that callers of kernels apply: w0 if all pairs have this weight, else 1."""
        return self.default if self.excess is None else 1.0

    def for_kernel(self, items: Array, r: int) -> Any:
        """Return the weights with workspace for the rows of the items, or None if all are equal."""
        if self.excess is None:
            return None
        from odsymnmf.kernels.weights import with_workspace

        return with_workspace(self.default, self.exceptions, items, r)

    @cached_property
    def has_lighter(self) -> bool:
        """Whether some pairs have less than the default weight."""
        return self.excess is not None and bool(self.excess.data.min(initial=0.0) < 0)

    @cached_property
    def excess_values(self) -> Any:
        """v_ij A_ij as a CSR array, the difference of w A and w0 A."""
        return with_data(self.excess, self.excess.data * self.values)

    def listed(self) -> Any:
        """Return the weights of the listed pairs as a CSR array, or None."""
        v = self.excess
        return None if v is None else with_data(v, v.data + self.default)

    def dense_rows(self, items: Array, n: int) -> Array:
        """Return the weights of all pairs of the items as full rows."""
        W = np.full((len(items), n), self.default)
        if self.excess is not None:
            listed = self.excess[items].tocoo()
            W[listed.row, listed.col] += listed.data
        return W

    def scale(self, s: Array) -> "PairWeights":
        """Return the weights of the similarities s_i A_ij s_j: only ``values`` differ."""
        v = self.excess
        if v is None:
            return self
        return PairWeights(self.default, v, self.values * s[entry_rows(v)] * s[v.indices])

    def subset(self, items: Array) -> "PairWeights":
        """Return the weights of some of the items, in this order."""
        if self.excess is None:
            return self
        matrices = (self.excess, with_data(self.excess, self.values))
        v, values = (sparse.csr_array(M[items][:, items]).sorted_indices() for M in matrices)
        return PairWeights(self.default, v, values.data)

    def to_arrays(self) -> dict[str, Any]:
        """Return the attributes that are not None, by name."""
        arrays = {"default": self.default, "excess": self.excess, "values": self.values}
        return {name: value for name, value in arrays.items() if value is not None}


EQUAL = PairWeights()


def check_weights(weights: Any, n: int) -> Any:
    """Return the weights of pairs as CSR of sorted indices without the diagonal."""
    if np.shape(weights) != (n, n):
        raise ValueError(
            f"weights has shape {np.shape(weights)}; it must be (n, n) = ({n}, {n}), like A."
        )
    if not sparse.issparse(weights):
        weights = np.asarray(weights)
    if weights.dtype.kind not in "biuf":
        raise ValueError(f"weights must hold real numbers; got dtype {weights.dtype}.")
    if sparse.issparse(weights):
        W = as_csr(weights, "weights")
    else:  # zeros are stored, too
        indices = np.tile(np.arange(n), n)
        W = sparse.csr_array((weights.ravel(), indices, np.arange(n + 1) * n), shape=(n, n))
    W = without_diagonal(W.astype(np.float64))
    bad = np.flatnonzero(~(np.isfinite(W.data) & (W.data >= 0)))
    if bad.size:
        i, j, value = entry_rows(W)[bad[0]], W.indices[bad[0]], W.data[bad[0]]
        raise ValueError(
            f"weights[{i}, {j}] is {value}; weights must be finite and >= 0 (0: unknown)."
        )
    shifted = with_data(W, W.data + 1.0)  # a stored zero differs from none
    difference, i, j = largest_difference(shifted, shifted.T)
    if difference > 0:
        raise ValueError(
            f"weights must be symmetric, but weights[{i}, {j}] = {W[i, j]} and weights[{j}, {i}] = "
            f"{W[j, i]}. A weight of 0 that is stored counts, too: both or neither must be stored."
        )
    return W


def largest_difference(A: Any, B: Any) -> tuple[float, int, int]:
    """Return the largest |A_ij - B_ij| with i and j."""
    if sparse.issparse(A):
        B = sparse.csr_array(B)
        if np.array_equal(A.indptr, B.indptr) and np.array_equal(A.indices, B.indices):
            difference = with_data(A, A.data - B.data)
        else:
            difference = sparse.csr_array(A - B)
        size = np.abs(difference.data)
        k = int(np.argmax(size)) if size.any() else -1
        if k < 0:
            return 0.0, 0, 0
        i = int(np.searchsorted(difference.indptr, k, side="right")) - 1
        return float(size[k]), i, int(difference.indices[k])
    with np.errstate(invalid="ignore"):  # inf - inf on the diagonal
        difference = np.abs(A - B)
    worst = np.fmax.reduce(difference, axis=None)
    i, j = np.argwhere(difference == worst)[0] if worst > 0 else (0, 0)
    return float(worst), int(i), int(j)


def entry_rows(A: Any) -> Array:
    """Return the row of each entry of a CSR array."""
    return np.repeat(np.arange(A.shape[0], dtype=A.indices.dtype), np.diff(A.indptr))


def with_data(A: Any, data: Any) -> Any:
    """Return a CSR array with other values."""
    return sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)


def without_diagonal(A: Any) -> Any:
    """Return a CSR array without the entries on its diagonal."""
    return keep_entries(A, entry_rows(A) != A.indices)


def keep_entries(A: Any, keep: Array) -> Any:
    """Return a CSR array with only the entries marked."""
    if keep.all():
        return A
    indptr = np.concatenate([[0], np.cumsum(keep)])[A.indptr].astype(A.indptr.dtype)
    return sparse.csr_array((A.data[keep], A.indices[keep], indptr), shape=A.shape)


def combine_layers(n: int, default: float, *layers: Any) -> PairWeights:
    """Return the weights of layers, without ``values``.

    Each layer is a CSR array of weights; for pairs in several layers, the last one holds. If no
    more pairs have a positive weight than are listed, these are listed with the default 0: then
    sums do not cancel.
    """
    given = [layer for layer in reversed(layers) if layer is not None]
    if not given:
        return PairWeights(default)
    keys = np.concatenate([_entry_keys(layer) for layer in given])
    pairs, first = np.unique(keys, return_index=True)
    weights = np.concatenate([layer.data for layer in given])[first].astype(np.float64)
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
        return PairWeights(default)
    rows, columns = np.divmod(pairs[differ], n)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    index = np.int32 if max(n, len(rows)) < 2**31 else np.int64
    data = (weights[differ] - default, columns.astype(index), indptr.astype(index))
    return PairWeights(default, sparse.csr_array(data, shape=(n, n)))


def lookup_csr(pattern: Any, A: Any, missing: float) -> Array:
    """Return the values of A at the entries of another CSR array, ``missing`` if not stored."""
    keys, stored = _entry_keys(pattern), _entry_keys(A)
    if not len(stored):
        return np.full(len(keys), missing)
    position = np.minimum(np.searchsorted(stored, keys), len(stored) - 1)
    return np.where(stored[position] == keys, A.data[position].astype(np.float64), missing)


def _entry_keys(A: Any) -> Array:
    return entry_rows(A).astype(np.int64) * A.shape[1] + A.indices
