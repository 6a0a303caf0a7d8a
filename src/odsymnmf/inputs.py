"""Graphs, DataFrames and AnnData as similarities with the names of the items.

None of these packages is imported: objects are recognized by their attributes.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from os import PathLike
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from odsymnmf.utils import Array, user_stacklevel

__all__ = ["to_similarity_matrix"]


# Attributes by which objects of other packages are recognized, in this order.
KINDS = {
    "xarray": ("__dask_graph__", "coords"),  # with or without Dask
    "dask": ("__dask_graph__", "compute"),
    "pandas": ("iloc", "columns"),
    "networkx": ("adjacency", "nodes"),
    "igraph": ("get_edgelist", "vs"),
    "anndata": ("obsp", "obs_names"),
}
# Numbers of edges, not weights, as file formats and igraph.Graph.from_networkx store them.
EDGE_IDS = ("id", "key", "_nx_multiedge_key")
# Names of the columns of an edge list, as Gephi, R, SNAP and others write them.
ENDS = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("fromnodeid", "tonodeid"),
    ("item1", "item2"),
)


@dataclass(frozen=True)
class Dataset:
    """Similarities, or features, with the names of the items.

    Every function that takes similarities takes a Dataset, and uses its names.

    Attributes
    ----------
    matrix : ndarray or csr_array
        Similarities, n x n and symmetric; or n x m features.
    names : list or None
        The n names; None if the items have none. `io.read` then numbers them: "0", "1", ...
    format : str
        The format of the file, one of `io.FORMATS`; empty if it was not read from a file.
    messages : list of str
        What `io.read` assumed, summed or left out.
    target : list of str or None
        The class of each item: the node attribute target, class, community or group of a graph
        file.
    feature_names : list of str or None
        The names of the m features, if the file has them.

    Examples
    --------
    >>> import odsymnmf as od
    >>> data = od.datasets.les_miserables()
    >>> data.matrix.shape, data.names[:2]
    ((77, 77), ['Napoleon', 'Myriel'])
    >>> od.ODSymNMF(6).fit(data).item_names_ == data.names
    True
    """

    matrix: Any
    names: Any = field(repr=False)
    format: str = ""
    messages: list[str] = field(default_factory=list)
    target: list[str] | None = field(default=None, repr=False)
    feature_names: list[str] | None = field(default=None, repr=False)


def to_similarity_matrix(
    A: Any, *, edge_weight: str | None = "auto", obsp: str = "connectivities"
) -> Dataset:
    """Return the similarities of a graph, DataFrame or AnnData, and the names of the items.

    All functions that take similarities convert them in this way, with the default values; call it
    to choose another edge attribute or another matrix.

    Parameters
    ----------
    A : networkx or igraph graph, pandas DataFrame, AnnData, or matrix
        A graph: the weights of its edges, 1 for an edge without weight; an edge whose weight is NaN
        or None is an unknown pair, which is left out; parallel edges are summed. A directed graph
        must have every edge in both directions with the same weight. A DataFrame: its index and
        columns must be the same names in the same order; if the index is 0, 1, ..., the names are
        those of the columns. AnnData: a matrix of ``obsp``. Anything else is returned without
        names.
    edge_weight : str or None
        The edge attribute with the weights. With None, every edge has weight 1. "auto" is "weight",
        or None if no edge has this attribute; a warning names other numeric attributes.
    obsp : str
        The key in ``AnnData.obsp``.

    Returns
    -------
    odsymnmf.io.Dataset
        ``matrix`` (n x n) and ``names``: the nodes of a networkx graph, the vertex attribute
        "name" of an igraph graph, the index of a DataFrame, the ``obs_names`` of AnnData.

    Examples
    --------
    >>> import networkx as nx
    >>> from odsymnmf import inputs
    >>> G = nx.Graph([("ann", "bob", {"weight": 2}), ("bob", "cleo")])
    >>> data = inputs.to_similarity_matrix(G)
    >>> data.names
    ['ann', 'bob', 'cleo']
    >>> data.matrix.toarray().tolist()
    [[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    kind = kind_of(A)
    if kind == "networkx":
        return _from_networkx(A, edge_weight)
    if kind == "igraph":
        return _from_igraph(A, edge_weight)
    if edge_weight not in ("auto", None):
        raise ValueError(f"edge_weight={edge_weight!r}, but A is {type(A).__name__}, not a graph.")
    if kind == "dask":
        raise ValueError(
            "A is a dask array, which odsymnmf.factorize and ODSymNMF.fit take; here, pass "
            "A.compute()."
        )
    if kind == "pandas":
        return _from_pandas(A)
    if kind == "anndata":
        return _from_anndata(A, obsp)
    if kind == "":
        _refuse_other(A)
    return A if isinstance(A, Dataset) else Dataset(A, None)


def kind_of(A: Any) -> str:
    """Return "array" for a matrix, "dataset", a key of KINDS, or "" for anything else."""
    if isinstance(A, Dataset):
        return "dataset"
    if sparse.issparse(A) or (isinstance(A, np.ndarray) and A.ndim == 2):
        return "array"
    kinds = (kind for kind, names in KINDS.items() if all(hasattr(A, name) for name in names))
    return next(kinds, "")


def features_and_names(X: Any) -> tuple[Any, list[Any] | None]:
    """Return features and the names of their rows (None for an array); refuse graphs."""
    kind = kind_of(X)
    if kind in ("networkx", "igraph"):
        raise ValueError(
            f'X is a graph of {kind}, which holds no features; use affinity="precomputed".'
        )
    if kind == "anndata":
        raise ValueError(
            "X is AnnData; pass the features to compare, for example adata.obsm['X_pca'], or use "
            'affinity="precomputed" to cluster obsp["connectivities"].'
        )
    if kind == "pandas":  # whatever its columns are called: source and target may be words
        _frame_values(X)  # refuses columns of texts
        return X, list(X.index)
    if kind == "":
        _refuse_other(X)
    return (X.matrix, X.names) if isinstance(X, Dataset) else (X, None)


def weights_for(weights: Any, names: Sequence[Any] | None) -> Any:
    """Return weights of pairs as a matrix; if they have names, these must be those of A."""
    data = to_similarity_matrix(weights)
    if data.names is not None and names is not None and data.names != list(names):
        where = first_difference(data.names, names)
        raise ValueError(
            f"weights and A are of different items: {where}. Bring weights into the order of A, "
            "for example with weights.loc[A.index, A.index]."
        )
    return data.matrix


def _refuse_other(X: Any) -> None:
    """Raise an error for texts, edges, None and collections that are not of numbers."""
    if isinstance(X, str | bytes | PathLike):
        raise ValueError(
            f"this is text ({str(X)[:40]!r}), not a matrix; read the file first, for example with "
            "odsymnmf.io.read, scipy.sparse.load_npz or pandas.read_csv."
        )
    is_flat = isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1
    if is_flat and any(isinstance(text, str) for text in X):  # an empty cell of a Series is NaN
        raise ValueError(
            "this is a list of texts; count their words first, for example with scikit-learn's "
            'TfidfVectorizer, and use affinity="cosine".'
        )
    if isinstance(X, list | tuple) and X and all(_is_edge(row) for row in X):
        _refuse_edges("networkx.Graph(edges), or G.add_weighted_edges_from(edges) for weights")
    if X is None or isinstance(X, dict | set | int | float | list | tuple):
        try:
            is_array = np.asarray(X, dtype=np.float64).ndim > 0
        except (TypeError, ValueError):
            is_array = False
        if not is_array:
            raise ValueError(
                f"expected a matrix of numbers, got {X if X is None else type(X).__name__}; pass "
                "the matrix alone, as an array, a sparse matrix, a DataFrame or a graph."
            )


def _refuse_edges(remedy: str) -> NoReturn:
    raise ValueError(f"this is a list of edges, not similarities; make it a graph: {remedy}.")


def find_ends(names: Sequence[Any]) -> list[int] | None:
    """Return the columns called source and target, or the like."""
    lower = [str(name).strip().lower() for name in names]
    pairs = ([lower.index(a), lower.index(b)] for a, b in ENDS if a in lower and b in lower)
    return next(pairs, None)


def _is_edge(row: Any) -> bool:
    """Return whether this is two names, or two names and a weight."""
    is_pair = isinstance(row, list | tuple) and len(row) in (2, 3)
    return is_pair and all(isinstance(end, str) for end in row[:2])


# --- pandas ----------------------------------------------------------------------------------


def _from_pandas(frame: Any) -> Dataset:
    ends = find_ends(list(frame.columns))
    if ends and frame.shape[0] != frame.shape[1]:
        source, target = (frame.columns[k] for k in ends)
        _refuse_edges(f"networkx.from_pandas_edgelist(df, {source!r}, {target!r}, edge_attr=True)")
    return Dataset(_frame_values(frame), _frame_names(frame))


def _frame_values(frame: Any) -> Any:
    try:
        return frame.sparse.to_coo().tocsr()
    except (AttributeError, ValueError):  # dense columns, or a fill value other than 0
        values = frame.to_numpy()
    if values.dtype == object:  # nullable types of pandas
        try:
            return frame.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError):
            column, kind = next((c, t) for c, t in frame.dtypes.items() if t.kind not in "biuf")
            raise ValueError(
                f"the DataFrame contains values that are not numbers; column {column!r} is of type "
                f"{kind}. Leave out or convert such columns (texts with scikit-learn's "
                "TfidfVectorizer); if the first column holds the names, make it the index: "
                "df.set_index(df.columns[0]); if the rows are edges, make a graph: "
                "networkx.from_pandas_edgelist."
            ) from None
    return values


def _frame_names(frame: Any) -> list[Any] | None:
    n, m = frame.shape
    if n != m:
        raise ValueError(
            f"the DataFrame has {n} rows and {m} columns, but similarities are square. For a table "
            'of items x features, choose an affinity such as "cosine" or "nearest_neighbors", or '
            "make similarities first: similarity.cosine(X)."
        )
    rows, columns = list(frame.index), list(frame.columns)
    if rows == columns:
        return rows
    if rows == list(range(n)):
        return columns
    where = first_difference(rows, columns)
    raise ValueError(
        f"index and columns of the DataFrame differ: {where}. Similarities have the same names in "
        "rows and columns, in the same order: use df.loc[df.columns], or set df.index."
    )


def first_difference(first: Sequence[Any], second: Sequence[Any]) -> str:
    """Describe the first difference of two lists of names."""
    if len(first) != len(second):
        return f"{len(first)} and {len(second)} names"
    pairs = enumerate(zip(first, second, strict=True))
    return next(f"{a!r} and {b!r} at position {i}" for i, (a, b) in pairs if a != b)


# --- graphs ----------------------------------------------------------------------------------


def _from_networkx(G: Any, weight: str | None) -> Dataset:
    names, edges = list(G), list(G.edges(data=True))
    index = {node: k for k, node in enumerate(names)}
    ends = [(index[a], index[b]) for a, b, _ in edges]
    keys = dict.fromkeys(key for *_, data in edges for key in data)
    attributes = {key: [data.get(key, 1) for *_, data in edges] for key in keys}
    sides = [side for _, side in G.nodes(data="bipartite")]
    return Dataset(_matrix(ends, attributes, weight, sides, G.is_directed(), names), names)


def _from_igraph(G: Any, weight: str | None) -> Dataset:
    keys = G.vs.attributes()
    # igraph.Graph.from_networkx stores the nodes as "_nx_name".
    name_key = next((key for key in ("name", "_nx_name") if key in keys), None)
    names = list(G.vs[name_key]) if name_key else None
    sides = G.vs["type"] if "type" in keys else [None] * G.vcount()
    attributes = {key: G.es[key] for key in G.es.attributes()}
    ends = G.get_edgelist()
    return Dataset(_matrix(ends, attributes, weight, sides, G.is_directed(), names), names)


def _matrix(
    edges: list[tuple[int, int]],
    attributes: dict[str, list[Any]],
    weight: str | None,
    sides: list[Any],
    is_directed: bool,
    names: list[Any] | None,
) -> Any:
    """Return the similarities of a graph; see `_refuse_bipartite` for the sides of its nodes."""
    n = len(sides)
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    _refuse_bipartite(sides, ends)
    weight = _weight_key(weight, attributes) if len(ends) else None
    weights: list[Any] = [1] * len(ends) if weight is None else attributes[weight]
    try:
        values = np.array(weights, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        k = next(k for k, value in enumerate(weights) if not isinstance(value, Real | None))
        pair = tuple(names[i] if names else int(i) for i in ends[k])
        raise ValueError(
            f"the {weight} of edge {pair} is {weights[k]!r}, which is not a number; correct it, "
            "or choose another attribute with edge_weight=."
        ) from None
    if not is_directed:  # a self-loop is on the diagonal, which is ignored
        ends, values = np.concatenate([ends, ends[:, ::-1]]), np.concatenate([values, values])
    A = sparse.csr_array((values, tuple(ends.T)), shape=(n, n))
    # NaN, an unknown pair, is not a difference.
    if is_directed and (np.abs((A - A.T).data) > 0).any():
        raise ValueError(
            "the graph is directed, and similarities have no direction. Combine i -> j "
            "and j -> i: with A = networkx.to_scipy_sparse_array(G), or "
            "igraph's G.get_adjacency_sparse(), pass A.maximum(A.T) or A + A.T; or pass "
            "G.to_undirected() (igraph: G.as_undirected()) if the weights do not matter."
        )
    return A


def _weight_key(weight: str | None, attributes: dict[str, list[Any]]) -> str | None:
    """Return the attribute with the weights; with "auto", warn of unused numeric attributes."""
    if weight == "auto":
        weight = "weight" if "weight" in attributes else None
        others = {k: x for k, x in attributes.items() if k not in ("weight", *EDGE_IDS)}
        numeric = [k for k, values in others.items() if all(map(_is_number, values))]
        if numeric:
            unweighted = "no edge has the attribute 'weight', so every edge has weight 1; "
            warnings.warn(
                f"{'' if weight else unweighted}the numeric edge attributes "
                f"{', '.join(map(repr, numeric))} are not used. Choose with edge_weight="
                f"{numeric[0]!r} or edge_weight={weight!r}, an argument of fit and of "
                "inputs.to_similarity_matrix, whose result all functions accept.",
                stacklevel=user_stacklevel(),
            )
    elif weight is not None and weight not in attributes:
        known = ", ".join(map(repr, attributes)) or "none"
        raise ValueError(
            f"edge_weight={weight!r}, but no edge has this attribute; the edges have: {known}."
        )
    return weight


def _is_number(x: Any) -> bool:
    return isinstance(x, Real) and not isinstance(x, bool)


def _refuse_bipartite(sides: list[Any], ends: Array) -> None:
    """Refuse a graph whose nodes have an attribute for two sides, with edges across only."""
    if not len(ends) or not all(isinstance(side, int) for side in sides):  # bool is an int
        return
    side = np.array(sides)
    if len({*sides}) == 2 and (side[ends[:, 0]] != side[ends[:, 1]]).all():
        raise ValueError(
            "the graph is bipartite: no two nodes of one kind are linked, so there are no "
            "similarities among them. Cluster the nodes of one kind: pass a projection "
            "(networkx.bipartite.weighted_projected_graph, igraph's G.bipartite_projection()), or "
            'the rows of the biadjacency matrix to ODSymNMF(affinity="cosine").'
        )


# --- AnnData ---------------------------------------------------------------------------------


def _from_anndata(adata: Any, key: str) -> Dataset:
    if key not in adata.obsp:
        known = "only " + ", ".join(map(repr, adata.obsp)) if adata.obsp else "it is empty"
        raise ValueError(
            f"adata.obsp has no {key!r} ({known}); compute neighbors first with "
            "scanpy.pp.neighbors(adata), or name another matrix."
        )
    return Dataset(adata.obsp[key], list(adata.obs_names))
