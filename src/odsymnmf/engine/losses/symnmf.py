"""l2 with the diagonal, sum_ij (A_ij - h_i . h_j)^2: the paper's baseline."""

from typing import ClassVar

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.engine.losses.l2 import L2
from odsymnmf.engine.losses.protocol import Worth
from odsymnmf.problem import Similarity


class SymNMF(L2):
    """Squared errors, self-similarities included; the diagonal always weighs one."""

    name: ClassVar[str] = "symnmf"
    sparse: ClassVar[bool] = False
    diagonal: Array

    def __init__(self, A: Similarity, upper: float = np.inf):
        super().__init__(A, upper)
        self.diagonal = np.array(A.diagonal, dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(self.diagonal))
        if bad.size:
            raise ValueError(
                f"A[{bad[0]}, {bad[0]}] is {self.diagonal[bad[0]]}, but the diagonal is to be "
                'fitted. Replace it, or leave the diagonal out with diagonal="ignore".'
            )

    def objective(self, H: Array) -> float:
        """Return f(H)."""
        H64 = H.astype(np.float64, copy=False)
        norms = np.einsum("ij,ij->i", H64, H64)
        return super().objective(H) + float(np.sum((self.diagonal - norms) ** 2))

    def tidy(self, H: Array) -> None:
        """Leave H as it is: a lone entry explains a self-similarity."""

    def worth(self, H: Array, j: int, items: Array) -> Worth:
        """Say what column j is worth; its entries are among the items."""
        value, size = super().worth(H, j, items)
        h, others = H[items, j].astype(np.float64), H[items].astype(np.float64)
        others[:, j] = 0.0
        P = self.diagonal[items] - np.einsum("ij,ij->i", others, others)
        return Worth(value + float(np.sum(h**2 * (2.0 * P - h**2))), size)
