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
# Rows of a dense matrix that are compared with its columns at a time.
N_ROWS = 256


class EdgeList(NamedTuple):
    """Edges i -> j between named items; without weights, every edge has weight 1."""

    i: Array
    j: Array
    weights: Array | None
    names: list[str]
    messages: list[str]
    # True for arcs, False for undirected edges, None if the file does not state it.
    directed: bool | None = None
    # Names of the targets, if they are numbered by themselves.
    feature_names: list[str] | None = None


def from_edges(edges: EdgeList, symmetrize: str | None) -> tuple[Any, list[str]]:
    """Return the symmetric matrix of edges, and messages.

    Unless the file states it, the graph is undirected if every pair occurs once, or in both
    directions with equal weights; any other is directed.
    """
    i, j, weights, names, messages, directed, _ = edges
    if weights is None:
        weights = np.ones(len(i))
        messages = [*messages, *[UNWEIGHTED] * bool(len(i))]
    loops = i == j
    if loops.any():
        i, j, weights = i[~loops], j[~loops], weights[~loops]
        count = _count(int(loops.sum()), "self-loop is", "self-loops are")
        messages = [*messages, f"{count} left out"]
    if directed is False:
        i, j = np.minimum(i, j), np.maximum(i, j)
    matrix, more = _sum_repeated(i, j, weights, names, names)
    messages = [*messages, *more]
    check_finite(matrix, names, names, allow_nan=True)
    total = matrix + matrix.T.tocsr()
    given, n_given = matrix, total.nnz
    if not weights.min(initial=1) > 0:  # zeros, and weights that may cancel, are edges, too
        given = sparse.csr_array(
            (np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape
        )
        n_given = (given + given.T).nnz
    if not directed and n_given == 2 * matrix.nnz:
        return total, messages + _unknown_pairs(total, int(np.isnan(total.data).sum()) // 2)
    n_single = n_given - matrix.nnz
    if directed is None and symmetrize is None and n_single:
        both = given.multiply(given.T).tocoo()
        a, b = short_repr(names[both.row[0]]), short_repr(names[both.col[0]])
        others = _count(n_single, "other pair", "other pairs")
        raise ValueError(
            f"{a} and {b} are linked in both directions, but {others} in one only: the graph may "
            f"be directed, or one link may be given twice; {REMEDY}"
        )
    matrix, more = to_symmetric(matrix, names, symmetrize)
    return matrix, messages + more


def feature_matrix(edges: EdgeList, *, graph_allowed: bool) -> tuple[Any, list[str]]:
    """Return items x features of a list of item, feature and value, and messages."""
    i, j, weights, names, messages, _, columns = edges
    columns = columns or []
    n_shared = len({*names} & {*columns})
    if not graph_allowed and 2 * n_shared >= min(len(names), len(columns)):
        raise ValueError(
            f"is a graph ({n_shared} names are in both columns), and has no features; if it has, "
            'pass format="edges" (item, feature, value) or format="table"'
        )
    weights = np.ones(len(i)) if weights is None else weights
    matrix, more = _sum_repeated(i, j, weights, names, columns)
    check_finite(matrix, names, columns)
    axes = "rows are the names of the first column, columns those of the second"
    return matrix, [*messages, axes, *more]


def _sum_repeated(
    i: Array, j: Array, values: Array, names: Sequence[str], columns: Sequence[str]
) -> tuple[Any, list[str]]:
    """Return the matrix with entries (i, j), repeated ones summed, and a message if there are."""
    shape = (len(names), len(columns))
    matrix = sparse.csr_array(sparse.coo_array((values, (i, j)), shape=shape))
    matrix.sum_duplicates()
    n_repeated = len(values) - matrix.nnz
    if not n_repeated:
        return matrix, []
    keys = np.sort(i.astype(np.int64) * len(columns) + j)
    a, b = divmod(int(keys[1:][keys[1:] == keys[:-1]][0]), len(columns))
    example = f"for example {short_repr(names[a])} to {short_repr(columns[b])}"
    count = _count(n_repeated, "edge was", "edges were")
    return matrix, [f"{count} given more than once: weights are summed ({example})"]


def to_symmetric(matrix: Any, names: list[str], symmetrize: str | None) -> tuple[Any, list[str]]:
    """Return the matrix, symmetric and with an empty diagonal, and messages.

    Differences of rounding are averaged. NaN marks an unknown pair; if one direction is known, it
    is used for both.
    """
    n, m = matrix.shape
    if n != m:
        raise ValueError(
            f"has {n} rows and {m} columns of numbers, but similarities are square; for items x "
            "features, pass features=True (on the command line: --affinity cosine), for an edge "
            'list format="edges"'
        )
    messages = []
    diagonal = matrix.diagonal()
    if np.count_nonzero(diagonal[~np.isnan(diagonal)]):
        messages.append("the diagonal is ignored: its values are left out")
    matrix = _clear_diagonal(matrix)
    check_finite(matrix, names, names, allow_nan=True)
    matrix, unknown = fill_from_transpose(matrix)
    gap, i, j = largest_asymmetry(matrix)
    if gap > asymmetry(matrix.dtype) * float(abs(matrix).max()):
        if symmetrize is None:
            a, b = short_repr(names[i]), short_repr(names[j])
            raise ValueError(
                f"{a} to {b} is {matrix[i, j]:.6g}, but {b} to {a} is {matrix[j, i]:.6g} (the "
                f"largest difference); {REMEDY}"
            )
        messages.append(f"made symmetric: the {symmetrize} of both directions")
        matrix = combine(matrix, symmetrize)
        check_finite(matrix, names, names)
    elif gap > 0:
        matrix = combine(matrix, "mean")
    if unknown is None:
        return matrix, messages
    if isinstance(matrix, np.ndarray):
        matrix[unknown] = np.nan
        return matrix, messages + _unknown_pairs(matrix, int(unknown.sum()) // 2)
    return matrix + unknown * np.nan, messages + _unknown_pairs(matrix, unknown.nnz // 2)


def check_finite(
    matrix: Any, names: Sequence[str], columns: Sequence[str] | None, *, allow_nan: bool = False
) -> None:
    """Raise ValueError for the first infinite entry, or NaN unless it is allowed."""
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    wrong = np.isinf(values) if allow_nan else ~np.isfinite(values)
    if not wrong.any():
        return
    if isinstance(matrix, np.ndarray):
        i, j = (int(k[0]) for k in np.nonzero(wrong))
    else:
        coo = matrix.tocoo()
        i, j = int(coo.row[wrong][0]), int(coo.col[wrong][0])
    column = short_repr(columns[j]) if columns is not None else f"column {j + 1}"
    raise ValueError(
        f"the value of {short_repr(names[i])} and {column} is {matrix[i, j]}; replace it, for "
        "example by 0"
    )


def _clear_diagonal(matrix: Any) -> Any:
    if isinstance(matrix, np.ndarray):
        matrix = matrix if matrix.flags.writeable else matrix.copy()
        np.fill_diagonal(matrix, 0)
        return matrix
    coo = matrix.tocoo()
    off_diagonal = (coo.row != coo.col) & (coo.data != 0)
    if off_diagonal.all():
        return matrix
    entries = (coo.data[off_diagonal], (coo.row[off_diagonal], coo.col[off_diagonal]))
    return sparse.csr_array(entries, shape=matrix.shape)


def fill_from_transpose(matrix: Any) -> tuple[Any, Any]:
    """Replace NaN by the other direction; return also the mask of pairs unknown in both, or None.

    Those are 0 in the matrix.
    """
    if isinstance(matrix, np.ndarray):
        if not np.isnan(matrix).any():
            return matrix, None
        matrix = np.where(np.isnan(matrix), matrix.T, matrix)
        unknown = np.isnan(matrix)
        matrix[unknown] = 0
        return matrix, unknown
    if not np.isnan(matrix.data).any():
        return matrix, None
    missing, known = matrix.copy(), matrix.copy()
    missing.data = np.isnan(matrix.data).astype(matrix.dtype)
    known.data = np.nan_to_num(matrix.data)
    missing.eliminate_zeros()
    known.eliminate_zeros()
    other = known.T.tocsr()
    unknown = missing - missing.multiply(other != 0)
    unknown = sparse.csr_array(unknown.maximum(unknown.T))
    unknown.eliminate_zeros()
    return sparse.csr_array(known + missing.multiply(other)), unknown


def _unknown_pairs(matrix: Any, n_unknown: int) -> list[str]:
    if not n_unknown:
        return []
    if 2 * n_unknown == matrix.shape[0] * (matrix.shape[0] - 1):
        raise ValueError("no pair has a known value; give at least one")
    return [f"{_count(n_unknown, 'pair is', 'pairs are')} unknown (no value given)"]


def largest_asymmetry(matrix: Any) -> tuple[float, int, int]:
    """Return the largest |A_ij - A_ji|, with i and j."""
    worst = (0.0, 0, 0)
    if isinstance(matrix, np.ndarray):
        for start in range(0, len(matrix), N_ROWS):
            rows = slice(start, start + N_ROWS)
            with np.errstate(over="ignore"):
                gap = abs(matrix[rows] - matrix[:, rows].T)
            i, j = np.unravel_index(int(gap.argmax()), gap.shape)
            worst = max(worst, (float(gap[i, j]), start + int(i), int(j)), key=lambda w: w[0])
        return worst
    gap = abs(matrix - matrix.T).tocoo()
    if gap.nnz:
        k = int(gap.data.argmax())
        worst = float(gap.data[k]), int(gap.row[k]), int(gap.col[k])
    return worst


def combine(matrix: Any, how: str) -> Any:
    """Return the max, mean or sum of A and A^T; entries that are not stored count as 0."""
    dense = isinstance(matrix, np.ndarray)
    other = matrix.T if dense else matrix.T.tocsr()
    with np.errstate(over="ignore"):
        if how == "max":
            return np.maximum(matrix, other) if dense else matrix.maximum(other)
        # Halved first: the sum of two large values may overflow.
        return matrix + other if how == "sum" else matrix * 0.5 + other * 0.5


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
