"""What pairs of items weigh, from a file: an edge list, a table or a matrix."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.io._adjacency import has_data, without_data
from odsymnmf.io._edges import entries
from odsymnmf.io._items import bad, numbered, quoted
from odsymnmf.io._read import matrix_of, recognised
from odsymnmf.io._sheet import DoubtError, Sheet, sheet
from odsymnmf.io._source import load
from odsymnmf.io._symmetry import floats
from odsymnmf.io._table import looks_like_table, read_table

MATRICES = ("mtx", "npy", "npz")
# What a file says of pairs: i, j and their weights, the names, and on which line a pair stands.
Listed = tuple[Array, Array, Array, list[str], Callable[[int], int | None]]


def read_weights(path: str | os.PathLike[str], names: list[str]) -> Any:
    """Read weights of pairs, for ``weights`` of `odsymnmf.factorize` and `odsymnmf.ODSymNMF.fit`.

    The file is an edge list (name, name, weight), a square table with names, or a matrix (Matrix
    Market, npy, npz) whose rows are the items in their order. A weight of 0 marks an unknown pair.
    A pair that is not listed, or an empty cell of a table, keeps its ordinary weight. It is enough
    to list a pair in one direction.

    Parameters
    ----------
    path : path
        A file, compressed with gzip or not.
    names : list of str
        The names of all items, in the order of the similarities (`Items.names`).

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric; weights of 0 are stored.

    Raises
    ------
    InputError
        If the file cannot be read, names items that are not there, or contradicts itself.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from odsymnmf import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "weights.csv")
    ...     _ = path.write_text("ann,bob,0\\nbob,cid,3\\n")
    ...     W = io.read_weights(path, ["ann", "bob", "cid"])
    >>> W.nnz, W.toarray()
    (4, array([[0., 0., 0.],
               [0., 0., 3.],
               [0., 3., 0.]]))
    """
    path = Path(path)
    data = load(path)
    chosen = recognised(path, data)
    if chosen in MATRICES:
        i, j, weights, found, line = _of_matrix(
            path, floats(path, matrix_of(path, data, chosen)[0])
        )
    elif chosen in (None, "edges", "table"):
        i, j, weights, found, line = _of_text(path, data, chosen)
    else:
        raise bad(path, "is not a file of weights; give an edge list, a table, or mtx, npy or npz")
    place = _places(path, found, names)
    return _symmetric(path, place[i], place[j], weights, names, line)


def _of_matrix(path: Path, matrix: Any) -> Listed:
    if len(set(matrix.shape)) > 1:
        raise bad(path, f"has shape {matrix.shape}; give a square matrix of weights")
    if sparse.issparse(matrix):
        coo = matrix.tocoo()
        return coo.row, coo.col, coo.data, numbered(matrix.shape[0]), lambda k: None
    i, j = np.nonzero(~np.isnan(matrix))
    return i, j, matrix[i, j], numbered(len(matrix)), lambda k: None


def _of_text(path: Path, data: bytes, format: str | None) -> Listed:
    if format != "table" and has_data(data):
        data, format = without_data(path, data), "edges"
    rows = sheet(path, data)
    is_table = looks_like_table(rows, features=False) if format is None else format == "table"
    if is_table:
        items = read_table(rows, features=False, symmetrize=None)
        i, j, weights, _, line = _of_matrix(path, items.matrix)
        return i, j, weights, items.names, line
    try:
        return _of_edges(rows)
    except DoubtError:
        return _of_edges(rows.tidied())


def _of_edges(rows: Sheet) -> Listed:
    found = entries(rows)
    if found.values is None:
        raise bad(rows.path, "has no column of weights; give name, name and weight on every line")
    return found.i, found.j, found.values, found.names, lambda k: found.line_of(rows, k)


def _places(path: Path, found: list[str], names: list[str]) -> Array:
    """Return the numbers of the items that a file of weights names."""
    index = {name: i for i, name in enumerate(names)}
    if len(index) < len(names):
        raise bad(path, "weights find their items by name, but some items have the same name")
    unknown = [name for name in found if name not in index]
    if unknown and len(found) == len(names) and found == numbered(len(names)):
        return np.arange(len(names))  # a matrix without names: the items in their order
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        problem = f"names {quoted(unknown[0])}{more}, but the similarities have no such item"
        raise bad(path, problem, "correct the name, or leave its pairs out")
    return np.array([index[name] for name in found], dtype=np.int64)


def _symmetric(
    path: Path,
    i: Array,
    j: Array,
    weights: Array,
    names: list[str],
    line: Callable[[int], int | None],
) -> Any:
    """Return the weights both ways; a pair may be given more than once, with the same weight."""
    wrong = np.flatnonzero((i != j) & ~((weights >= 0) & (weights < np.inf)))
    if len(wrong):
        k = int(wrong[0])
        pair = f"{quoted(names[i[k]])} and {quoted(names[j[k]])}"
        problem = f"the weight of {pair} is {weights[k]:g}"
        raise bad(path, problem, "give a number >= 0; 0 marks an unknown pair", line=line(k))
    n = len(names)
    key = np.minimum(i, j).astype(np.int64) * n + np.maximum(i, j)
    order = np.flatnonzero(i != j)
    order = order[np.argsort(key[order], kind="stable")]
    key, weights = key[order], weights[order]
    again = key[1:] == key[:-1]
    differs = np.flatnonzero(again & (weights[1:] != weights[:-1]))
    if len(differs):
        k = int(differs[0])
        a, b = divmod(int(key[k]), n)
        pair = f"{quoted(names[a])} and {quoted(names[b])}"
        problem = f"the weight of {pair} is {weights[k]:g} and {weights[k + 1]:g}"
        raise bad(path, problem, "give one weight for every pair", line=line(int(order[k + 1])))
    first = np.concatenate([[True], ~again])[: len(key)]
    a, b, w = key[first] // n, key[first] % n, weights[first].astype(np.float64)
    both = (np.concatenate([w, w]), (np.concatenate([a, b]), np.concatenate([b, a])))
    return sparse.csr_array(sparse.coo_array(both, shape=(n, n)))
