"""Weights of pairs of items, from an edge list, a table or a matrix."""

import os
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.io.dataset import open_input, parse, recognize
from odsymnmf.io.symmetrize import EdgeList
from odsymnmf.io.text import Table
from odsymnmf.utils import Array


def read_weights(path: str | os.PathLike[str], names: list[str]) -> Any:
    """Read weights of pairs, for ``weights`` of `odsymnmf.factorize` and `odsymnmf.ODSymNMF.fit`.

    The file is an edge list (name, name, weight), a graph, a square table with names, or a matrix
    (Matrix Market, npy, npz) whose rows are the items in their order. A weight of 0 marks an
    unknown pair. A pair that is not listed, or an empty cell of a table, keeps its ordinary weight.
    It is enough to list a pair in one direction.

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
        content, _ = parse(file, recognize(path, file))
        edges = _entries(content) if isinstance(content, Table) else content
        if edges.weights is None:
            raise ValueError("has no column of weights; give name, name and weight on every line")
        position = _positions(edges.names, names)
        return _symmetric(position[edges.i], position[edges.j], edges.weights, names)


def _entries(table: Table) -> EdgeList:
    """Return the entries of a square matrix that are not NaN, and the names of its rows."""
    matrix = table.values
    if len({*matrix.shape}) > 1:
        raise ValueError(f"has shape {matrix.shape}; give a square matrix of weights")
    items = table.row_names or table.feature_names or [str(k) for k in range(matrix.shape[0])]
    if sparse.issparse(matrix):
        coo = matrix.tocoo()
        return EdgeList(coo.row, coo.col, coo.data, items, [])
    i, j = np.nonzero(~np.isnan(matrix))
    return EdgeList(i, j, matrix[i, j], items, [])


def _positions(items: list[str], names: list[str]) -> Array:
    """Return the positions of the items that a file of weights names."""
    index = {name: i for i, name in enumerate(names)}
    if len(index) < len(names):
        raise ValueError("weights are matched by name, but some items have the same name")
    missing = [name for name in items if name not in index]
    if missing and items == [str(k) for k in range(len(names))]:
        return np.arange(len(names))  # a matrix without names: the items in their order
    if missing:
        raise ValueError(
            f"names {short_repr(missing[0])} ({len(missing)} such names), but the similarities "
            "have no such item; correct the name, or leave its pairs out"
        )
    return np.array([index[name] for name in items], dtype=np.int64)


def _symmetric(i: Array, j: Array, weights: Array, names: list[str]) -> Any:
    """Return the weights in both directions; a pair may be repeated with the same weight."""
    off_diagonal = i != j
    i, j = np.minimum(i, j)[off_diagonal], np.maximum(i, j)[off_diagonal]
    weights, n = weights[off_diagonal].astype(np.float64), len(names)
    _, first, inverse = np.unique(i * n + j, return_index=True, return_inverse=True)
    pair_weights = weights[first]
    invalid = ~((weights >= 0) & (weights < np.inf))
    wrong = np.flatnonzero(invalid | (weights != pair_weights[inverse]))
    if len(wrong):
        k = int(wrong[0])
        pair = f"{short_repr(names[i[k]])} and {short_repr(names[j[k]])}"
        if invalid[k]:
            problem = f"{weights[k]:g}; give a number >= 0; 0 marks an unknown pair"
        else:
            first_weight = pair_weights[inverse[k]]
            problem = f"{first_weight:g} and {weights[k]:g}; give one weight for every pair"
        raise ValueError(f"the weight of {pair} is {problem}")
    ends = np.r_[i[first], j[first]], np.r_[j[first], i[first]]
    return sparse.csr_array((np.r_[pair_weights, pair_weights], ends), shape=(n, n))
