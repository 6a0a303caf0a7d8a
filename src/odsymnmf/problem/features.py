"""Similarities that are products of features, never formed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, blocks
from odsymnmf.blas import share
from odsymnmf.problem.blocking import cleared, full_csr, row_squares, scaled_rows
from odsymnmf.problem.closed_forms import LITTLE, TOO_MANY, pair_squares, unless_cancelled
from odsymnmf.problem.following import BLOCK, FeatureBlocks, FeatureSums, joined
from odsymnmf.problem.full_rows import FullRows
from odsymnmf.problem.rounds import Round, Share
from odsymnmf.problem.weights import ORDINARY, Weights, scaled_weights

# Rows, or features, of the pieces of a large product.
ROWS = 256
# Items whose similarities are formed after all: 8 MB of them.
FEW = 1024


@dataclass(frozen=True)
class Gram(FullRows):
    """A = X X^T, given by X (n items x m features, CSR or dense); A is never formed."""

    X: Any
    weights: Weights = ORDINARY

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.X.dtype

    @cached_property
    def diagonal(self) -> Array:
        """|x_i|^2"""
        return row_squares(self.X)

    @cached_property
    def largest(self) -> float:
        """A bound on the off-diagonal entries: the largest |x_i|^2."""
        return float(self.diagonal.max())

    @cached_property
    def reach(self) -> float:
        """What no pair of items exceeds: the product of the two largest |x_i|."""
        if self.n < 2:
            return 0.0
        return float(np.prod(np.sqrt(np.partition(self.diagonal, -2)[-2:], dtype=np.float64)))

    @property
    def peak(self) -> float:
        """A bound on |A_ij|."""
        return self.largest

    @cached_property
    def energy(self) -> float:
        """sum_{i != j} A_ij^2; of a sparse X from |X X^T|_F = |X^T X|_F, the cheaper, in pieces."""
        X = self.X
        if not sparse.issparse(X):
            return pair_squares(X)
        X = X.astype(np.float64, copy=False)  # or their squares would be rounded before they cancel
        Y = X.T.tocsr()
        few, many = X, Y
        if np.sum(np.diff(X.indptr) ** 2.0) > np.sum(np.diff(Y.indptr) ** 2.0):
            few, many = Y, X
        pieces = ((many[b] @ few).data for b in blocks(many.shape[0], 1024))
        total = sum(float(np.sum(np.square(piece))) for piece in pieces)
        left = total - float(np.sum(self.diagonal**2))
        if left >= LITTLE * total or float(self.n) ** 2 > TOO_MANY:
            return max(0.0, left)
        return sum(_off_diagonal(X[b] @ Y, b.start) for b in blocks(self.n, 1024))

    @property
    def sparser(self) -> str | None:
        """What to give in its place, so that links alone are stored; None if they are."""
        return 'a graph of nearest neighbours, affinity="nearest_neighbors"'

    @property
    def n_features(self) -> int | None:
        """How many features items have, None where similarities are given."""
        return int(self.X.shape[1])

    def product(self, V: Array) -> Array:
        """Return A @ V with the diagonal of A left out."""
        own = self.diagonal.reshape((-1,) + (1,) * (V.ndim - 1))
        if sparse.issparse(self.X):
            result: Array = self.X @ (self._turned @ V) - own * V
            return result
        n, m = self.X.shape
        Z = joined(share(m, ROWS, lambda b: np.asarray(self.X[:, b].T @ V)))
        return joined(share(n, ROWS, lambda b: np.asarray(self.X[b] @ Z))) - own * V

    def quadratic(self, h: Array) -> float:
        """Return sum_{i != j} A_ij h_i h_j; in single precision, the diagonal would drown it."""
        return float(h @ self.product(h))

    def squared_error(self, H: Array) -> float:
        """Return sum_{i != j} (A_ij - h_i . h_j)^2 as |A|^2 - 2 <A, H H^T> + |H H^T|^2."""
        H = H.astype(np.float64, copy=False)
        inner = float(np.einsum("ij,ij->", H, self.product(H)))
        squares = pair_squares(H)
        value = self.energy - 2.0 * inner + squares
        # What items have with themselves is in the product, and goes again.
        own = float(self.diagonal @ np.einsum("ij,ij->i", H, H))
        return unless_cancelled(self, H, value, self.energy + squares + 2.0 * own)

    def following(self, H: Array) -> FeatureSums:
        """Return the products A @ H that follow changes of H."""
        kind = FeatureSums if sparse.issparse(self.X) else FeatureBlocks
        return kind(self.X, self.diagonal, H)

    def rows(self, items: Array) -> Any:
        """Return the rows of the items in CSR form, without the diagonal."""
        if self._whole is not None:
            return full_csr(self._whole[items], items)
        block = self.X[items] @ self.X.T
        return full_csr(block.toarray() if sparse.issparse(block) else block, items)

    @cached_property
    def _turned(self) -> Any:
        """X^T, which shares its entries with X: scipy takes longer to make it than to use it."""
        return self.X.T

    @cached_property
    def _whole(self) -> Array | None:
        """All rows, of few items with a sparse X: one row at a time is scipy's time, not ours."""
        if self.n > FEW or not sparse.issparse(self.X):
            return None
        return np.asarray((self.X @ self.X.T).toarray())

    def rows_inside(self, round: Round, share: Share) -> Any:
        """Return the rows of a tile's items in a round, the columns of the round alone."""
        members = round.members
        block = self.X[share.items] @ self.X[members].T
        full = block.toarray() if sparse.issparse(block) else block
        return full_csr(full, share.numbers, members)

    def full_rows(self, items: Array) -> Array:
        """Return the rows of the items, zeros on the diagonal, in float64."""
        block = self.X[items].astype(np.float64) @ self.X.T
        return cleared(block.toarray() if sparse.issparse(block) else block, items)

    @property
    def rounding(self) -> Any:
        """What cancels in a product for each item: |x_i|^2."""
        return self.diagonal

    def blas_work(self, r: int) -> int:
        """Multiply-adds of the products that a sweep leaves to BLAS."""
        return 0 if sparse.issparse(self.X) else BLOCK * int(self.X.shape[1]) * r

    def reweighted(self, weights: Weights) -> "Gram":
        return Gram(self.X, weights)

    def scaled_by(self, s: Array) -> "Gram":
        """Return the similarities s_i A_ij s_j."""
        s = s.astype(self.dtype)
        return Gram(scaled_rows(self.X, s), scaled_weights(self.weights, s))

    def group_sums(self, group: Array, count: int) -> Array:
        """Return sum of A_ij over the pairs i != j of groups g and h, for all g and h.

        With the rows of X summed per group, Y: Y Y^T less what items have with themselves.
        """
        pick = sparse.csr_array((np.ones(self.n), (group, np.arange(self.n))), (count, self.n))
        Y = pick @ self.X
        product = Y @ Y.T
        sums = product.toarray() if sparse.issparse(product) else np.asarray(product)
        sums[np.diag_indices(count)] -= np.bincount(group, self.diagonal, minlength=count)
        return sums


def _off_diagonal(rows: Any, first: int) -> float:
    """Return the sum of squares of some rows of a square matrix, without its diagonal."""
    rows = rows.tocoo()
    return float(np.sum(rows.data[rows.row + first != rows.col] ** 2))
