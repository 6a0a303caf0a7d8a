"""Similarities stored in full."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from odsymnmf.arrays import Array, blocks
from odsymnmf.blas import together
from odsymnmf.problem.blocking import cleared, full_csr, without_diagonal
from odsymnmf.problem.closed_forms import pairwise_error
from odsymnmf.problem.following import BLOCK, Streaming, block_product, joined, square
from odsymnmf.problem.full_rows import FullRows
from odsymnmf.problem.rounds import Round, Share
from odsymnmf.problem.weights import ORDINARY, Weights, scaled_weights
from odsymnmf.resources import require


@dataclass(frozen=True)
class Dense(FullRows):
    """A stored in full; its diagonal may hold anything."""

    A: Array
    weights: Weights = ORDINARY

    @property
    def n(self) -> int:
        return len(self.A)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.A.dtype

    @property
    def diagonal(self) -> Array:
        return np.diagonal(self.A)

    @cached_property
    def largest(self) -> float:
        """The largest off-diagonal entry, at least 0."""
        return max(0.0, self._extremes[1])

    @property
    def reach(self) -> float:
        """What no pair of items exceeds: the largest entry."""
        return self.largest

    @property
    def peak(self) -> float:
        """The largest |A_ij| off the diagonal."""
        return max(map(abs, self._extremes))

    @cached_property
    def _extremes(self) -> tuple[float, float]:
        low = high = 0.0
        for b in blocks(self.n, 256):
            piece = without_diagonal(self.A, b)
            low, high = min(low, float(piece.min())), max(high, float(piece.max()))
        return low, high

    @cached_property
    def energy(self) -> float:
        """sum_{i != j} A_ij^2"""
        pieces = (without_diagonal(self.A, b).astype(np.float64) for b in blocks(self.n, 256))
        return float(sum(np.einsum("ij,ij->", piece, piece) for piece in pieces))

    @property
    def sparser(self) -> str | None:
        """What to give in its place, so that links alone are stored; None if they are."""
        return "scipy.sparse.csr_array(A), if most similarities are zero"

    @property
    def n_features(self) -> int | None:
        """How many features items have, None where similarities are given."""
        return None

    def product(self, V: Array) -> Array:
        """Return A @ V with the diagonal of A left out."""
        return joined(together([partial(self._product, V, b) for b in blocks(self.n, 512)]))

    def _product(self, V: Array, b: slice) -> Array:
        return block_product(self.A, V, b, square(self.A, b))

    def quadratic(self, h: Array) -> float:
        """Return sum_{i != j} A_ij h_i h_j."""
        return float(h @ self.product(h.astype(self.dtype, copy=False)))

    def squared_error(self, H: Array) -> float:
        """Return sum_{i != j} (A_ij - h_i . h_j)^2, pair by pair: nothing cancels."""
        return pairwise_error(self, H)

    def following(self, H: Array) -> Streaming:
        """Return the products A @ H that follow changes of H."""
        return Streaming(self.A, self.rows_inside)

    def rows(self, items: Array) -> Any:
        """Return the rows of the items in CSR form, without the diagonal."""
        return full_csr(self.A[items], items)

    def rows_inside(self, round: Round, share: Share) -> Any:
        """Return the rows of a tile's items in a round, the columns of the round alone."""
        members = round.members
        return full_csr(self.A[np.ix_(share.items, members)], share.numbers, members)

    def full_rows(self, items: Array) -> Array:
        """Return a copy of the rows of the items, zeros on the diagonal, in float64."""
        return cleared(self.A[items].astype(np.float64), items)

    @property
    def rounding(self) -> Any:
        """What cancels in a product for each item: nothing here."""
        return 0.0

    def blas_work(self, r: int) -> int:
        """Multiply-adds of the products that a sweep leaves to BLAS."""
        return BLOCK * self.n * r

    def reweighted(self, weights: Weights) -> "Dense":
        return Dense(self.A, weights)

    def scaled_by(self, s: Array) -> "Dense":
        """Return the similarities s_i A_ij s_j."""
        require(
            self.A.nbytes,
            f"a scaled copy of {self.n:,} x {self.n:,} similarities",
            "give them scaled already (a memory map can be scaled block by block into another), or "
            "as a sparse matrix",
        )
        s, scaled = s.astype(self.dtype), np.empty_like(self.A, subok=False)
        with np.errstate(invalid="ignore", over="ignore"):  # the diagonal may hold anything
            for b in blocks(self.n, 256):
                scaled[b] = self.A[b] * s[b, None] * s
        return Dense(scaled, scaled_weights(self.weights, s))

    def group_sums(self, group: Array, count: int) -> Array:
        """Return sum of A_ij over the pairs i != j of groups g and h, for all g and h."""
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(count))
        sums = np.zeros((count, count))
        for b in self.item_blocks():  # rows into groups, then their columns: no sorted copy of A
            items = order[b]
            piece = self.full_rows(items)[:, order]
            np.add.at(sums, group[items], np.add.reduceat(piece, starts, axis=1))
        return sums
