"""Similarities of which most are zero and not stored."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, blocks
from odsymnmf.problem import blocking
from odsymnmf.problem.blocking import row_squares, rows_of, scaled_rows
from odsymnmf.problem.closed_forms import absolute_error, explained, pair_squares, unless_cancelled
from odsymnmf.problem.following import WORK, Neighbouring
from odsymnmf.problem.picks import NeighbourPicks
from odsymnmf.problem.rounds import Round, Share, rounds
from odsymnmf.problem.weights import (
    ORDINARY,
    Weights,
    keep_entries,
    looked_up,
    scaled_weights,
)


@dataclass(frozen=True)
class Sparse:
    """A in CSR form: sorted, no duplicates, no zeros, no diagonal (that is kept apart)."""

    A: sparse.csr_array
    diagonal: Array
    weights: Weights = ORDINARY

    @property
    def n(self) -> int:
        return int(self.A.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.A.dtype

    @cached_property
    def largest(self) -> float:
        """The largest off-diagonal entry, at least 0."""
        return float(self.A.data.max(initial=0.0))

    @property
    def reach(self) -> float:
        """What no pair of items exceeds: the largest entry."""
        return self.largest

    @cached_property
    def peak(self) -> float:
        """The largest |A_ij| off the diagonal."""
        return max(self.largest, -float(self.A.data.min(initial=0.0)))

    @cached_property
    def energy(self) -> float:
        """sum_{i != j} A_ij^2"""
        pieces = [row_squares(self.A[b]) for b in self.item_blocks()]
        return float(np.sum(np.concatenate(pieces)))

    @property
    def stored(self) -> int:
        """How many pairs i < j are stored."""
        return self.A.nnz // 2

    @property
    def sparser(self) -> str | None:
        """What to give in its place, so that links alone are stored; None if they are."""
        return None

    @property
    def block_entries(self) -> int:
        """How many entries the rows of a block have that are computed when they are needed."""
        return 0

    @property
    def n_features(self) -> int | None:
        """How many features items have, None where similarities are given."""
        return None

    def links(self) -> Any:
        """Return the similarities that are not zero as CSR, without the diagonal."""
        return self.A

    def values(self, rows: Array, columns: Array) -> Array:
        """Return A_ij of pairs i != j, in float64."""
        return np.asarray(self.A[rows, columns], dtype=np.float64).ravel()

    def product(self, V: Array) -> Array:
        """Return A @ V with the diagonal of A left out."""
        columns = 1 if V.ndim == 1 else V.shape[1]
        if self.A.nnz * columns <= WORK:
            return self.A @ V
        # In pieces that Ctrl-C need not wait for.
        rows = max(1, int(self.n * WORK / (self.A.nnz * columns)))
        product = np.empty((self.n, *V.shape[1:]), dtype=np.result_type(self.A.dtype, V.dtype))
        for b in blocks(self.n, rows):
            product[b] = self.A[b] @ V
        return product

    def quadratic(self, h: Array) -> float:
        """Return sum_{i != j} A_ij h_i h_j."""
        return float(h @ self.product(h.astype(self.dtype, copy=False)))

    def squared_error(self, H: Array) -> float:
        """Return sum_{i != j} (A_ij - h_i . h_j)^2.

        With p_ij = h_i . h_j that is sum of p^2 over all pairs plus (A - p)^2 - p^2 over the stored
        ones.
        """
        everywhere = pair_squares(H)
        stored, squares = map(np.sum, self.stored_squares(np.arange(self.n), H))
        return unless_cancelled(
            self, H, float(everywhere + stored - squares), float(everywhere + stored)
        )

    def stored_squares(self, items: Array, H: Array) -> tuple[Array, Array]:
        """Return for each item the sums of (A_ij - p_ij)^2 and of p_ij^2 over its stored pairs."""
        from odsymnmf import kernels

        errors, squares, done = np.empty(len(items)), np.empty(len(items)), 0
        for some, rows in rows_of(self, items, H.shape[1]):
            here = slice(done, done + len(some))
            kernels.pairs.stored_squares(some, rows, H, errors[here], squares[here])
            done = here.stop
        return errors, squares

    def absolute_error(self, H: Array) -> float:
        """Return sum_{i != j} |A_ij - h_i . h_j|."""
        return absolute_error(self, H)

    def explained(self, H: Array) -> tuple[float, float]:
        """Return sum_{i != j} w_ij A_ij p_ij and sum_{i != j} w_ij p_ij^2, p_ij = h_i . h_j."""
        return explained(self, H)

    def following(self, H: Array) -> Neighbouring:
        """Return the products A @ H that follow changes of H."""
        return Neighbouring(self.A, self.rows_inside)

    def picks(self, own: float, H: Array, columns: int) -> NeighbourPicks:
        """Return the scores of items that follow what is picked."""
        return NeighbourPicks(self.A, own, H, columns)

    def rows(self, items: Array) -> Any:
        """Return the rows of the items in CSR form, without the diagonal."""
        from odsymnmf.kernels.l1 import Rows

        return Rows(items, self.A.indptr, self.A.indices, self.A.data)

    @cached_property
    def _inside(self) -> Any:
        """The pairs i > j of a round: the others are not to be looked at in every sweep."""
        rows = np.repeat(np.arange(self.n, dtype=self.A.indices.dtype), np.diff(self.A.indptr))
        mask = rounds(self.n)[0].lattice.mask
        same = (rows ^ self.A.indices) & mask == 0
        return keep_entries(self.A, same & (rows > self.A.indices))

    def rows_inside(self, round: Round, share: Share) -> Any:
        """Return the rows of a tile's items in a round, with its columns before the diagonal."""
        from odsymnmf.kernels.l1 import Rows

        inside = self._inside
        return Rows(share.items, inside.indptr, inside.indices, inside.data)

    @property
    def row_entries(self) -> int:
        """How many entries a row of `rows` has."""
        return int(self.A.nnz // self.n)

    def row_lengths(self, items: Array) -> Array:
        """Return how many entries the rows of the items have."""
        return np.asarray(self.A.indptr[items + 1] - self.A.indptr[items])

    def full_rows(self, items: Array) -> Array:
        """Return the rows of the items, zeros on the diagonal, in float64."""
        return self.A[items].toarray().astype(np.float64)

    @cached_property
    def _stored_weights(self) -> Array | None:
        P = self.weights.pattern
        if P is None:
            return None
        return self.weights.background + looked_up(self.A, P, missing=0.0)

    def row_weights(self, items: Array) -> Array | None:
        """Return what the entries of ``rows(items)`` weigh, None if each weighs one."""
        return self._stored_weights

    @property
    def rounding(self) -> Any:
        """What cancels in a product for each item: nothing here."""
        return 0.0

    def item_blocks(self, count: int | None = None) -> Iterator[slice]:
        """Cut the first ``count`` items (all, if None) into pieces whose rows can be held."""
        per_row = max(1, self.A.nnz // self.n)
        return blocks(self.n if count is None else count, max(1, blocking.BLOCK_ENTRIES // per_row))

    def blas_work(self, r: int) -> int:
        """Multiply-adds of the products that a sweep leaves to BLAS."""
        return 0

    def reweighted(self, weights: Weights) -> "Sparse":
        return Sparse(self.A, self.diagonal, weights)

    def scaled_by(self, s: Array) -> "Sparse":
        """Return the similarities s_i A_ij s_j."""
        s = s.astype(self.dtype)
        rows = scaled_rows(self.A, s)
        rows.data *= s[rows.indices]
        return Sparse(rows, self.diagonal * s**2, scaled_weights(self.weights, s))

    def group_sums(self, group: Array, count: int) -> Array:
        """Return sum of A_ij over the pairs i != j of groups g and h, for all g and h."""
        rows = np.repeat(group.astype(np.int32), np.diff(self.A.indptr))
        sums = np.zeros(count * count)
        for b in blocks(self.A.nnz, blocking.BLOCK_ENTRIES):
            places = rows[b].astype(np.intp) * count + group[self.A.indices[b]]
            sums += np.bincount(places, weights=self.A.data[b], minlength=count * count)
        return sums.reshape(count, count)
