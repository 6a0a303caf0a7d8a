"""Rows of A, block by block, as Dask will compute them."""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.distributed.cleaning import as_given, clean_block, features_block, tile_of


@dataclass(frozen=True)
class RowBlocks:
    """Similarities of n items, or their features, in blocks of rows that Dask computes.

    `odsymnmf.distributed.from_edges` returns one; `odsymnmf.factorize` and
    `odsymnmf.ODSymNMF.fit` take it, as they take a dask array.

    Attributes
    ----------
    names : list or None
        What the items are called, None if they are numbers from 0 on.
    """

    blocks: list[Any] = field(repr=False)
    starts: tuple[int, ...] = field(repr=False)
    n: int
    m: int = 0
    names: list[Any] | None = field(default=None, repr=False)
    roots: Array | None = field(default=None, repr=False)

    def __dask_graph__(self) -> Any:
        """Say that Dask is to compute this."""
        return None

    def compute(self) -> Any:
        """Return the matrix, here and now: as CSR, or full if its blocks are.

        Returns
        -------
        scipy.sparse.csr_array or ndarray
        """
        import dask

        computed = zip(dask.compute(*self.blocks), self.starts, strict=False)
        found = [as_given(block, start) for block, start in computed]
        if isinstance(found[0], np.ndarray):
            return np.concatenate(found)
        return sparse.vstack(found, format="csr")

    def scaled_by(self, roots: Array) -> "RowBlocks":
        """Return the similarities s_i A_ij s_j."""
        return replace(self, roots=roots if self.roots is None else self.roots * roots)

    def pieces(self, tiles: list[slice], dtype: Any) -> list[Any]:
        """Return the rows of every tile, as Dask will compute them."""
        import dask

        make = dask.delayed(tile_of, pure=False)
        roots = (
            None if self.roots is None else dask.delayed(self.roots.astype(dtype), traverse=False)
        )
        found = []
        for tile in tiles:
            first = int(np.searchsorted(self.starts, tile.start, side="right")) - 1
            last = int(np.searchsorted(self.starts, tile.stop, side="left"))
            starts = self.starts[first:last]
            found.append(make(self.blocks[first:last], starts, tile, dtype, roots, bool(self.m)))
        return found


def from_array(A: Any, *, features: bool = False, cosine: bool = False) -> RowBlocks:
    """Return the blocks of rows of a dask array of similarities, or of features."""
    import dask

    if A.ndim != 2 or any(np.isnan(size) for size in A.shape):
        raise ValueError(
            f"A is a dask array of shape {A.shape}; it must have two dimensions of known size. "
            "Call A.compute_chunk_sizes() first."
        )
    n, m = (int(size) for size in A.shape)
    if not features and n != m:
        raise ValueError(
            f"A must be a square matrix of similarities (n x n); got shape {A.shape}. "
            'For items x features, use ODSymNMF(affinity="cosine").'
        )
    if 0 in (n, m):
        raise ValueError(f"A is empty {A.shape}; there is nothing to factorize.")
    starts = tuple(int(start) for start in np.cumsum([0, *A.chunks[0]]))
    clean = dask.delayed(features_block if features else clean_block, pure=False)
    rows = [
        clean(list(row), start, cosine) if features else clean(list(row), start)
        for row, start in zip(A.to_delayed(), starts, strict=False)
    ]
    kept = [k for k, (a, b) in enumerate(pairwise(starts)) if b > a]
    starts = (*(starts[k] for k in kept), n)
    return RowBlocks([rows[k] for k in kept], starts, n, m if features else 0)
