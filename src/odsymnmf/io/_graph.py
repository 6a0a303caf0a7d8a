"""From edges to a matrix: repeated edges summed, self-loops dropped, directions settled.

The direction rule of edge lists. If every pair stands there once, the graph is undirected. If every
pair stands there in both directions, with equal weights, everything is said twice. Anything else,
or a list that says so itself, is a directed graph, and needs ``symmetrize``.
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.io._both_ways import undirected
from odsymnmf.io._items import bad, quoted
from odsymnmf.io._symmetry import (
    REMEDY,
    Line,
    combined,
    refuse_infinite,
    similarities,
    tell_unknown,
)

UNWEIGHTED = "no weights found: every edge has weight 1"


def directed(
    i: Array, j: Array, weights: Array, names: list[str], columns: list[str] | None = None
) -> tuple[Any, list[str]]:
    """Return the matrix of the edges i -> j, repeated ones summed, and what should be told."""
    others = names if columns is None else columns
    shape = (len(names), len(others))
    matrix = sparse.csr_array(sparse.coo_array((weights, (i, j)), shape=shape))
    matrix.sum_duplicates()
    repeated = len(weights) - matrix.nnz
    if not repeated:
        return matrix, []
    key = np.sort(i.astype(np.int64) * len(others) + j)
    a, b = divmod(int(key[1:][key[1:] == key[:-1]][0]), len(others))
    example = f"for example {quoted(names[a])} to {quoted(others[b])}"
    edges = "edge was" if repeated == 1 else "edges were"
    return matrix, [f"{repeated} {edges} given more than once: weights are summed ({example})"]


def without_loops(i: Array, j: Array, weights: Array) -> tuple[Array, Array, Array, list[str]]:
    """Drop the edges from an item to itself; the item stays."""
    is_loop = i == j
    count = int(np.count_nonzero(is_loop))
    if not count:
        return i, j, weights, []
    loops = "self-loop is" if count == 1 else "self-loops are"
    stays = ~is_loop
    return i[stays], j[stays], weights[stays], [f"{count} {loops} left out"]


def from_list(
    path: Path,
    edges: tuple[Array, Array, Array | None],
    names: list[str],
    symmetrize: str | None,
    line: Line,
    *,
    is_directed: bool = False,
) -> tuple[Any, list[str]]:
    """Return the symmetric matrix of an edge list, by the direction rule unless it is directed.

    Without weights, every edge has weight 1.
    """
    i, j, given_weights = edges
    quick = None if is_directed else undirected(i, j, given_weights, len(names))
    if quick is not None:
        return quick, []
    weights = np.ones(len(i)) if given_weights is None else given_weights
    i, j, weights, notes = without_loops(i, j, weights)
    matrix, repeated = directed(i, j, weights, names)
    notes += repeated
    refuse_infinite(path, matrix, names, line)
    total = combined(matrix, "sum")
    given, may_cancel = matrix, not weights.min(initial=1) > 0
    if may_cancel:
        # Ones instead, because these weights are given all the same.
        entries = (np.ones(matrix.nnz, dtype=np.int8), matrix.indices, matrix.indptr)
        given = sparse.csr_array(entries, shape=matrix.shape)
    both = combined(given, "sum").nnz if may_cancel else total.nnz
    if both == 2 * matrix.nnz and not is_directed:
        # No sum has two terms, so that none can have grown beyond bounds; but zeros may be given.
        if may_cancel:
            total.eliminate_zeros()
        return tell_unknown(path, total, notes)
    once = both - matrix.nnz
    if once and symmetrize is None and is_directed:
        pairs = "1 pair is" if once == 1 else f"{once} pairs are"
        problem = f"its type column says Directed, and {pairs} linked in one direction only"
        raise bad(path, problem, REMEDY)
    if once and symmetrize is None:
        twice = given.multiply(given.T.tocsr()).tocoo()
        a, b = int(twice.row[0]), int(twice.col[0])
        pair = f"{quoted(names[a])} and {quoted(names[b])}"
        others = "1 other pair" if once == 1 else f"{once} other pairs"
        raise bad(
            path,
            f"{pair} are linked in both directions, but {others} in one only: "
            "the graph may be directed, or one link may be given twice",
            REMEDY,
            line=line(a, b),
        )
    matrix, more = similarities(path, matrix, names, symmetrize, line)
    return matrix, notes + more


def from_graph(
    path: Path,
    edges: tuple[Array, Array, Array],
    names: list[str],
    symmetrize: str | None,
    one_way: Array,
) -> tuple[Any, list[str]]:
    """Return the symmetric matrix of a graph that says which of its edges lead one way only."""
    i, j, weights = edges
    if not one_way.any():
        i, j, weights, notes = without_loops(i, j, weights)
        matrix, more = directed(np.minimum(i, j), np.maximum(i, j), weights, names)
        matrix = combined(matrix, "sum")
        refuse_infinite(path, matrix, names)
        matrix.eliminate_zeros()
        return tell_unknown(path, matrix, notes + more)
    both = ~one_way & (i != j)
    i, j = np.concatenate([i, j[both]]), np.concatenate([j, i[both]])
    i, j, weights, notes = without_loops(i, j, np.concatenate([weights, weights[both]]))
    matrix, more = directed(i, j, weights, names)
    matrix, told = similarities(path, matrix, names, symmetrize)
    return matrix, notes + more + told
