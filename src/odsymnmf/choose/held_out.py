"""The error on pairs that a fit has not seen.

A tenth of the linked pairs is made unknown, and some that are not linked; each of the latter stands
for all that were not drawn, so that the error is an unbiased estimate of that of a tenth of all
pairs, at the cost of the links.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, blocks
from odsymnmf.choose.fits import Fits
from odsymnmf.engine.losses import Scales, pair_losses
from odsymnmf.engine.starts import leading_eigenvectors
from odsymnmf.problem import Similarity, as_similarity
from odsymnmf.random_state import as_random

# The share of pairs held out; unlinked ones for each linked one; most pairs of a full matrix.
SHARE, UNLINKED, MOST = 0.1, 3, 1_000_000
SPLITS = 3


@dataclass(frozen=True)
class Split:
    """Pairs i < j held out from a problem: which, and how many pairs each stands for."""

    fits: Fits
    rows: Array
    columns: Array
    importance: Array

    @cached_property
    def values(self) -> Array:
        """A_ij of the pairs."""
        return self.fits.A.values(self.rows, self.columns)

    @cached_property
    def left(self) -> Similarity:
        """What is fitted: the pairs are not known in it."""
        n, zeros = self.fits.A.n, np.zeros(2 * len(self.rows))
        places = (np.r_[self.rows, self.columns], np.r_[self.columns, self.rows])
        return as_similarity(self.fits.A, sparse.csr_array((zeros, places), shape=(n, n)))

    @cached_property
    def eigenvectors(self) -> Array:
        return leading_eigenvectors(self.left, min(self.fits.most, self.left.n))

    def error(self, r: int) -> float:
        """Return the loss of the pairs, relative to what it is without memberships."""
        spectral = self.fits.settings(r).init == "spectral"
        V = self.eigenvectors if spectral else np.empty((0, 0))
        found = self.fits.short(self.left, self.fits.start(self.left, V, r), r)
        missed = np.empty(len(self.rows))
        for b in blocks(len(self.rows), 2**16):
            told = np.einsum("ij,ij->i", found.H[self.rows[b]], found.H[self.columns[b]])
            missed[b] = self.values[b] - told
        alone = self._sum(self.values, found.scales)
        return self._sum(missed, found.scales) / alone if alone > 0 else float("nan")

    def _sum(self, errors: Array, scales: Scales) -> float:
        return float(self.importance @ pair_losses(errors, scales))


def splits(fits: Fits, random_state: Any) -> list[Split]:
    """Draw the pairs that are held out, several times."""
    rng = as_random(random_state)
    n = fits.A.n
    draw = _of_links if fits.A.stored < n * (n - 1) // 2 else _of_all
    return [_known(fits, *draw(fits.A, rng)) for _ in range(SPLITS)]


def _known(fits: Fits, rows: Array, columns: Array, importance: Array) -> Split:
    """Return the split, in which pairs count for what they weigh: unknown ones for nothing."""
    weights = fits.A.weights
    if weights.pattern is not None:
        excess = np.asarray(weights.pattern[rows, columns], dtype=np.float64).ravel()
        importance = importance * (weights.background + excess)
    return Split(fits, rows, columns, importance)


def _of_links(A: Any, rng: Any) -> tuple[Array, Array, Array]:
    n, half = A.n, sparse.triu(A.links(), k=1).tocoo()
    out = rng.uniform(size=half.nnz) < SHARE
    unlinked = n * (n - 1) // 2 - half.nnz
    wanted = int(min(UNLINKED * out.sum(), SHARE * unlinked))
    drawn = np.sort((rng.uniform(size=(2, 2 * wanted + 10)) * n).astype(np.int64), axis=0)
    codes = np.unique(drawn[0] * n + drawn[1])
    linked = half.row.astype(np.int64) * n + half.col
    codes = codes[(codes // n != codes % n) & ~np.isin(codes, linked)]
    codes = codes[np.argsort(rng.uniform(size=len(codes)))][:wanted]
    rows = np.r_[half.row[out].astype(np.int64), codes // n]
    columns = np.r_[half.col[out].astype(np.int64), codes % n]
    stands_for = SHARE * unlinked / max(len(codes), 1)
    return rows, columns, np.r_[np.ones(out.sum()), np.full(len(codes), stands_for)]


def _of_all(A: Any, rng: Any) -> tuple[Array, Array, Array]:
    n = A.n
    wanted = int(min(SHARE * n * (n - 1) / 2, MOST))
    drawn = np.sort((rng.uniform(size=(2, wanted + 10)) * n).astype(np.int64), axis=0)
    codes = np.unique(drawn[0] * n + drawn[1])
    codes = codes[codes // n != codes % n]
    return codes // n, codes % n, np.ones(len(codes))
