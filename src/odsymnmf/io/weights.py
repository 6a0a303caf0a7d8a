"""Weights of pairs of items, from an edge list, a table or a matrix."""

import os
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.io import graphs, matrices
from odsymnmf.io.dataset import open_input, read_all, recognize
from odsymnmf.io.text import is_table, open_text, read_edges, read_table
from odsymnmf.utils import Array


def read_weights(path: str | os.PathLike[str], names: list[str]) -> Any:
    """Read weights of pairs, for ``weights`` of `odsymnmf.factorize` and `odsymnmf.ODSymNMF.fit`.

    The file is an edge list (name, name, weight), a square table with names, or a matrix (Matrix
    Market, npy, npz) whose rows are the items in their order. A weight of 0 marks an unknown pair.
    A pair that is not listed, or an empty cell of a table, keeps its ordinary weight. It is enough
    to list a pair in one direction.

    Parameters
    ----------
    path : path
        A file, compressed or not.
    names : list of str
        The names of all items, in the order of the similarities (`Dataset.names`).

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric; weights of 0 are stored.

    Raises
    ------
    InputError
        If the file cannot be read, names items that do not exist, or contradicts itself.

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
    with open_input(path) as file:
        format = recognize(path, file)
        if format in matrices.FORMATS:
            edges = _of_matrix(matrices.read_matrix(file, format)[0], None)
        elif format in (None, "edges"):
            edges = _of_text(read_all(file), is_list=format == "edges")
        else:
            raise ValueError("holds no weights; give an edge list, a table, or mtx, npy or npz")
        *pairs, weights, items = edges
        position = _positions(items, names)
        i, j = (position[ends] for ends in pairs)
        return _symmetric(i, j, weights, names)


def _of_matrix(matrix: Any, names: list[str] | None) -> tuple[Array, Array, Array, list[str]]:
    """Return the entries (i, j, weight) of a square matrix, and the names of its rows."""
    if len({*matrix.shape}) > 1:
        raise ValueError(f"has shape {matrix.shape}; give a square matrix of weights")
    items = names or [str(k) for k in range(matrix.shape[0])]
    if sparse.issparse(matrix):
        coo = matrix.tocoo()
        return coo.row, coo.col, coo.data, items
    i, j = np.nonzero(~np.isnan(matrix))
    return i, j, matrix[i, j], items


def _of_text(data: bytes, *, is_list: bool) -> tuple[Array, Array, Array, list[str]]:
    if graphs.has_edge_data(data):
        edges = graphs.read_graph(data, "edges")[0]
    else:
        text = open_text(data)
        if not is_list and is_table(text, features=False):
            table = read_table(text, None, features=False)
            return _of_matrix(table.values, table.names or table.columns)
        edges = read_edges(text)
    if edges.weights is None:
        raise ValueError("has no column of weights; give name, name and weight on every line")
    return edges.i, edges.j, edges.weights, edges.names


def _positions(items: list[str], names: list[str]) -> Array:
    """Return the positions of the items that a file of weights names."""
    index = {name: i for i, name in enumerate(names)}
    if len(index) < len(names):
        raise ValueError("weights are matched by name, but some items have the same name")
    missing = [name for name in items if name not in index]
    if missing and items == [str(k) for k in range(len(names))]:
        return np.arange(len(names))  # a matrix without names: the items in their order
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ValueError(
            f"names {short_repr(missing[0])}{more}, but the similarities have no such item; "
            "correct the name, or leave its pairs out"
        )
    return np.array([index[name] for name in items], dtype=np.int64)


def _symmetric(i: Array, j: Array, weights: Array, names: list[str]) -> Any:
    """Return the weights in both directions; a pair may be repeated with the same weight."""
    i, j, weights = i[i != j], j[i != j], weights[i != j]
    wrong = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(wrong):
        k = int(wrong[0])
        raise ValueError(
            f"the weight of {_pair(names, i[k], j[k])} is {weights[k]:g}; give a number >= 0; 0 "
            "marks an unknown pair"
        )
    n = len(names)
    key = np.minimum(i, j).astype(np.int64) * n + np.maximum(i, j)
    order = np.argsort(key, kind="stable")
    key, weights = key[order], weights[order]
    again = np.r_[False, key[1:] == key[:-1]][: len(key)]
    differs = np.flatnonzero(again & (weights != np.r_[np.nan, weights[:-1]][: len(key)]))
    if len(differs):
        k = int(differs[0])
        pair = _pair(names, *divmod(int(key[k]), n))
        raise ValueError(
            f"the weight of {pair} is {weights[k - 1]:g} and {weights[k]:g}; give one weight for "
            "every pair"
        )
    a, b, w = key[~again] // n, key[~again] % n, weights[~again].astype(np.float64)
    return sparse.csr_array((np.r_[w, w], (np.r_[a, b], np.r_[b, a])), shape=(n, n))


def _pair(names: list[str], i: int, j: int) -> str:
    return f"{short_repr(names[i])} and {short_repr(names[j])}"
