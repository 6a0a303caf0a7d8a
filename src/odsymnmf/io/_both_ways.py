"""The common case of a long list, in which every pair stands once: its symmetric matrix at once."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf import kernels
from odsymnmf.arrays import Array

# A shorter list is done before Numba is imported.
LONG = 2**18
# Links that are worth a thread.
PIECE = 2**18
THREADS = 8


def undirected(i: Array, j: Array, weights: Array | None, n: int) -> Any:
    """Return the matrix of links between n items, with every link in both directions.

    None if the list is short, if a pair is linked twice or an item with itself, or if a weight is
    not positive and finite.
    """
    if len(i) < LONG or 2 * len(i) > np.iinfo(np.int32).max or (i == j).any():
        return None
    if weights is not None and not (weights.min() > 0 and weights.max() < np.inf):
        return None  # NaN is not greater
    return _matrix(i, j, np.empty(0) if weights is None else weights, n)


def _matrix(i: Array, j: Array, weights: Array, n: int) -> Any:
    kernel, links = kernels.both_ways, cuts(len(i))

    def both(k: int) -> Array:
        counts = np.zeros(n, dtype=np.int32)
        part = slice(*links[k])
        kernel.count(i[part], counts)
        kernel.count(j[part], counts)
        return counts

    counts = np.array(in_threads(both, range(len(links))))
    indptr = np.zeros(n + 1, dtype=np.int32)
    np.cumsum(counts.sum(axis=0, dtype=np.int32), out=indptr[1:])
    indices: Array = np.empty(2 * len(i), dtype=np.int32)
    data: Array = np.empty(2 * len(i))
    at = _places(indptr, counts)

    def write(k: int) -> None:
        part = slice(*links[k])
        kernel.write_links(i[part], j[part], weights[part], at[k], indices, data)
        if not len(weights):
            data[2 * part.start : 2 * part.stop] = 1

    in_threads(write, range(len(links)))
    rows = _shares(indptr, len(links))
    if not _are_rising(indptr, indices, rows):
        indices, data = _sorted(indptr, indices, data, rows, weighted=len(weights) > 0)
        if not _are_rising(indptr, indices, rows):
            return None
    matrix = sparse.csr_array((data, indices, indptr), shape=(n, n))
    matrix.has_canonical_format = True
    return matrix


def _sorted(
    indptr: Array, indices: Array, data: Array, rows: list[tuple[int, int]], *, weighted: bool
) -> tuple[Array, Array]:
    """Return the columns of each row in order, and the weights, which move only if they differ."""
    kernel, values = kernels.both_ways, data if weighted else data[:0]

    def columns(part: tuple[int, int]) -> Array:
        counts = np.zeros(len(indptr) - 1, dtype=np.int32)
        kernel.count(indices[indptr[part[0]] : indptr[part[1]]], counts)
        return counts

    at = _places(indptr, np.array(in_threads(columns, rows)))
    new_indices, new_values = np.empty_like(indices), np.empty_like(values)

    def write(k: int) -> None:
        kernel.write_rows(indptr, indices, values, *rows[k], at[k], new_indices, new_values)

    in_threads(write, range(len(rows)))
    return new_indices, new_values if weighted else data


def _places(indptr: Array, counts: Array) -> Array:
    """Return where each thread begins to write in every row."""
    return indptr[:-1] + np.cumsum(counts, axis=0, dtype=np.int32) - counts


def _shares(indptr: Array, threads: int) -> list[tuple[int, int]]:
    """Cut the rows so that threads get about as many entries each."""
    wanted = indptr[-1] * np.arange(1, threads) // threads
    inner = np.searchsorted(indptr, wanted).tolist()
    return [*pairwise([0, *inner, len(indptr) - 1])]


def _are_rising(indptr: Array, indices: Array, rows: list[tuple[int, int]]) -> bool:
    return all(in_threads(lambda part: kernels.both_ways.are_rising(indptr, indices, *part), rows))


def in_threads(work: Callable[[Any], Any], pieces: Iterable[Any]) -> list[Any]:
    """Return what work on each of some pieces returns, in their order."""
    pieces = [*pieces]
    if len(pieces) == 1:
        return [work(pieces[0])]
    with ThreadPoolExecutor(len(pieces), "odsymnmf-read") as pool:
        return [*pool.map(work, pieces)]


def cuts(size: int) -> list[tuple[int, int]]:
    """Return how threads share work of a size, from where to where."""
    parts = max(1, min(size // PIECE, os.cpu_count() or 1, THREADS))
    return [*pairwise(size * k // parts for k in range(parts + 1))]
