"""Items picked one by one, and the scores of the others: w sums their rows, v = A w, c = B^T w."""

from typing import Any

import numpy as np

from odsymnmf import kernels
from odsymnmf.arrays import Array


class NeighbourPicks:
    """Of a sparse A: an item changes v in its two-hop neighbourhood only."""

    def __init__(self, A: Any, own: float, H: Array, columns: int):
        self.A, self.own, self.H = A, own, H
        self.v, self.c = np.zeros(A.shape[0]), np.zeros(columns)

    def add(self, k: int) -> tuple[Array, Array]:
        """Pick item k; return v and c."""
        A = self.A
        kernels.greedy.weigh(k, A.indptr, A.indices, A.data, self.own, self.H, self.v, self.c)
        return self.v, self.c


class ProductPicks:
    """Of any A: v is a product with w."""

    def __init__(self, A: Any, own: float, H: Array, columns: int):
        self.A, self.own, self.B = A, own, H[:, :columns]
        self.w = np.zeros(A.n)

    def add(self, k: int) -> tuple[Array, Array]:
        """Pick item k; return v and c."""
        A, w = self.A, self.w
        w += A.rows(np.array([k])).data
        w[k] += self.own
        return A.product(w.astype(A.dtype)).astype(np.float64) + self.own * w, self.B.T @ w
