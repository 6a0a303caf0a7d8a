"""What similarities have in common that have a number for every pair."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from odsymnmf.arrays import Array, blocks
from odsymnmf.problem import blocking
from odsymnmf.problem.closed_forms import absolute_error, explained
from odsymnmf.problem.picks import ProductPicks


class FullRows:
    """All pairs are stored, or computed; rows are full."""

    n: Any
    weights: Any

    @property
    def stored(self) -> int:
        """How many pairs i < j are stored."""
        return self.n * (self.n - 1) // 2

    @property
    def block_entries(self) -> int:
        """How many entries the rows of a block have that are computed when they are needed."""
        return max(self.n, blocking.BLOCK_ENTRIES if self.n > 2048 else self.n**2)

    def links(self) -> Any:
        """Return the similarities that are not zero as CSR, without the diagonal."""
        return blocking.links_of(self)

    def values(self, rows: Array, columns: Array) -> Array:
        """Return A_ij of pairs i != j, in float64."""
        return blocking.values_of(self, rows, columns)

    def absolute_error(self, H: Array) -> float:
        """Return sum_{i != j} |A_ij - h_i . h_j|."""
        return absolute_error(self, H)

    def explained(self, H: Array) -> tuple[float, float]:
        """Return sum_{i != j} w_ij A_ij p_ij and sum_{i != j} w_ij p_ij^2, p_ij = h_i . h_j."""
        return explained(self, H)

    def picks(self, own: float, H: Array, columns: int) -> ProductPicks:
        """Return the scores of items that follow what is picked."""
        return ProductPicks(self, own, H, columns)

    @property
    def row_entries(self) -> int:
        """How many entries a row of `rows` has."""
        return self.n

    def row_lengths(self, items: Array) -> Array:
        """Return how many entries the rows of the items have."""
        return np.full(len(items), self.n)

    def row_weights(self, items: Array) -> Array | None:
        """Return what the entries of ``rows(items)`` weigh, None if each weighs one."""
        weights = self.weights
        return None if weights.pattern is None else weights.of(items, self.n).ravel()

    def item_blocks(self, count: int | None = None) -> Iterator[slice]:
        """Cut the first ``count`` items (all, if None) into pieces whose rows can be held."""
        return blocks(self.n if count is None else count, max(1, blocking.BLOCK_ENTRIES // self.n))
