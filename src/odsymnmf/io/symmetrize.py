"""Symmetric matrices from edges and from matrices of any form, and checks of their values."""

from collections.abc import Sequence
from reprlib import repr as short_repr
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odsymnmf.utils import Array, asymmetry

SYMMETRIZE = ("max", "mean", "sum")
REMEDY = 'choose how to make it symmetric: symmetrize="max", "mean" or "sum"'
UNWEIGHTED = "no weights found: every edge has weight 1"


class EdgeList(NamedTuple):
    """Edges i -> j between named items; without weights, every edge has weight 1."""

    i: Array
    j: Array
    weights: Array | None
    names: list[str]
    messages: list[str]
    # True for arcs, False for undirected edges, None if the file does not state it.
    directed: bool | None = None
    # Names of the targets, if they are numbered separately from the sources.
    feature_names: list[str] | None = None
    # Classes of the items.
    target: list[str] | None = None

    def similarities(self, symmetrize: str | None) -> tuple[Any, list[str]]:
        """Return the symmetric matrix, and the names of the items.

        Unless the file states it, the graph is undirected if every pair occurs once, or in both
        directions with equal weights; any other is directed.
        """
        i, j, weights, names, messages, directed, *_ = self
        if weights is None:
            weights = np.ones(len(i))
            messages += [UNWEIGHTED] * bool(len(i))
        loops = i == j
        if loops.any():
            i, j, weights = i[~loops], j[~loops], weights[~loops]
            messages.append(f"self-loops are left out: {loops.sum()}")
        if directed is False:
            i, j = np.minimum(i, j), np.maximum(i, j)
        matrix = _sum_repeated(i, j, weights, (len(names), len(names)), messages)
        check_finite(matrix, names, names, allow_nan=True)
        # Entries of 1 where an edge is given; its weight may be 0.
        given = sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
        mutual = given.multiply(given.T).tocoo()
        if not directed and not mutual.nnz:
            total = sparse.csr_array(matrix + matrix.T)
            _report_unknown(total, messages)
            return total, names
        n_single = matrix.nnz - mutual.nnz
        if directed is None and symmetrize is None and n_single:
            a, b = short_repr(names[mutual.row[0]]), short_repr(names[mutual.col[0]])
            raise ValueError(
                f"{a} and {b} are linked in both directions, but other pairs ({n_single}) in one "
                f"only: the graph may be directed, or one link may be given twice; {REMEDY}"
            )
        return to_symmetric(matrix, names, symmetrize, messages), names

    def features(self, *, graph_allowed: bool) -> tuple[Any, list[str]]:
        """Return the matrix of a list of item, feature and value, and the names of the items."""
        i, j, weights, names, messages, _, columns, _ = self
        columns = columns or []
        n_shared = len({*names} & {*columns})
        if not columns or (not graph_allowed and 2 * n_shared >= min(len(names), len(columns))):
            raise ValueError(
                "is a graph, and has no features; if it holds items, features and values, pass "
                'format="edges", if it is a table, format="table"'
            )
        messages.append("rows are the names of the first column, columns those of the second")
        weights = np.ones(len(i)) if weights is None else weights
        matrix = _sum_repeated(i, j, weights, (len(names), len(columns)), messages)
        check_finite(matrix, names, columns)
        return matrix, names


def _sum_repeated(
    i: Array, j: Array, values: Array, shape: tuple[int, int], messages: list[str]
) -> Any:
    """Return the matrix with entries (i, j), repeated ones summed."""
    matrix = sparse.coo_array((values, (i, j)), shape=shape).tocsr()
    if matrix.nnz < len(values):
        messages.append(f"edges given more than once are summed: {len(values) - matrix.nnz}")
    return matrix


def to_symmetric(matrix: Any, names: list[str], symmetrize: str | None, messages: list[str]) -> Any:
    """Return the matrix, symmetric and with an empty diagonal.

    Differences of rounding are averaged. NaN marks an unknown pair; if one direction is known, it
    is used for both.
    """
    n, m = matrix.shape
    if n != m:
        raise ValueError(
            f"has {n} rows and {m} columns of numbers, but similarities are square; for features, "
            "pass features=True (--affinity cosine), for an edge list columns= (--columns)"
        )
    diagonal = matrix.diagonal()
    if np.count_nonzero(diagonal[~np.isnan(diagonal)]):
        messages.append("the diagonal is ignored: its values are left out")
    if sparse.issparse(matrix):
        matrix = sparse.csr_array(sparse.tril(matrix, -1) + sparse.triu(matrix, 1))
    else:
        matrix = np.require(matrix, requirements="W")
        np.fill_diagonal(matrix, 0)
    check_finite(matrix, names, names, allow_nan=True)
    matrix, unknown = fill_from_transpose(matrix)
    with np.errstate(over="ignore"):
        gap = abs(matrix - matrix.T)
    i, j = divmod(int(gap.argmax()), n)
    if gap[i, j] > asymmetry(matrix.dtype) * float(abs(matrix).max()):
        if symmetrize is None:
            a, b = short_repr(names[i]), short_repr(names[j])
            raise ValueError(
                f"{a} to {b} is {matrix[i, j]:.6g}, but {b} to {a} is {matrix[j, i]:.6g} (the "
                f"largest difference); {REMEDY}"
            )
        messages.append(f"made symmetric: the {symmetrize} of both directions")
        matrix = combine(matrix, symmetrize)
        check_finite(matrix, names, names)
    elif gap[i, j] > 0:
        matrix = combine(matrix, "mean")
    if unknown is not None:
        if sparse.issparse(matrix):
            matrix = matrix + unknown * np.nan
        else:
            matrix[unknown] = np.nan
        _report_unknown(matrix, messages)
    return matrix


def check_finite(
    matrix: Any, names: Sequence[str], columns: Sequence[str] | None, *, allow_nan: bool = False
) -> None:
    """Raise ValueError for the first infinite entry, or NaN unless it is allowed."""
    values = matrix.data if sparse.issparse(matrix) else matrix
    wrong = np.isinf(values) if allow_nan else ~np.isfinite(values)
    if wrong.any():
        coo = sparse.coo_array(matrix)
        k = np.isinf(coo.data).argmax() if allow_nan else np.isfinite(coo.data).argmin()
        i, j = coo.row[k], coo.col[k]
        column = short_repr(columns[j]) if columns is not None else f"column {j + 1}"
        raise ValueError(
            f"the value of {short_repr(names[i])} and {column} is {coo.data[k]}; replace it, for "
            "example by 0"
        )


def fill_from_transpose(matrix: Any) -> tuple[Any, Any]:
    """Replace NaN by the other direction; return also the mask of pairs unknown in both, or None.

    Those are 0 in the matrix. In a sparse matrix, entries that are not stored are not known either.
    """
    if not np.isnan(matrix.data if sparse.issparse(matrix) else matrix).any():
        return matrix, None
    missing = matrix != matrix
    if not sparse.issparse(matrix):
        return np.nan_to_num(np.where(missing, matrix.T, matrix)), missing & missing.T
    known = matrix.copy()
    known.data = np.nan_to_num(known.data)
    known = known + known.T * missing
    return known, (missing + missing.T) > (known != 0)


def _report_unknown(matrix: Any, messages: list[str]) -> None:
    """Report the number of NaN; ValueError if there is nothing else."""
    n = matrix.shape[0]
    n_unknown = int(np.isnan(matrix.data if sparse.issparse(matrix) else matrix).sum()) // 2
    if n_unknown and 2 * n_unknown == n * (n - 1):
        raise ValueError("no pair has a known value; give at least one")
    if n_unknown:
        messages.append(f"pairs without a value are unknown: {n_unknown}")


def combine(matrix: Any, symmetrize: str) -> Any:
    """Return the max, mean or sum of A and A^T; entries that are not stored count as 0."""
    reverse = matrix.T
    if symmetrize == "max":
        return matrix.maximum(reverse) if sparse.issparse(matrix) else np.maximum(matrix, reverse)
    if symmetrize == "mean":
        return matrix * 0.5 + reverse * 0.5  # the sum of two large values may overflow
    with np.errstate(over="ignore"):
        return matrix + reverse
