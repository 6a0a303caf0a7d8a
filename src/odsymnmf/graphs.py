"""Results given back to networkx, igraph and cdlib."""

from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf import memberships
from odsymnmf.inputs import called, is_igraph, is_networkx
from odsymnmf.membership_view import as_matrix
from odsymnmf.memberships import Rule, overlapping_sets

__all__ = ["annotate", "node_clustering"]


def annotate(G: Any, result: Any, key: str = "cluster") -> None:
    """Write labels and memberships into a graph, as attributes of its nodes.

    Attribute ``key`` becomes the label of the node (an int, -1 for none), ``key_0``, ``key_1``,
    ... its memberships (floats): plain numbers, which every file format of graphs can hold. Sparse
    memberships, of thousands of clusters, become one text per node, ``key_memberships``: those
    that are not zero, such as "3:0.5 17:1".

    Parameters
    ----------
    G : networkx or igraph graph
        What was fitted. It is changed in place.
    result : ODSymNMF, Factorization, or array of shape (n, r)
        Memberships, in the order of the nodes.
    key : str
        The name of the attribute, and the beginning of those of the memberships.

    Examples
    --------
    >>> import networkx as nx
    >>> import odsymnmf as od
    >>> G = nx.Graph([("ann", "bob"), ("bob", "cleo"), ("ann", "cleo"), ("cleo", "dan")])
    >>> od.graphs.annotate(G, od.ODSymNMF(2, loss="l1").fit(G))
    >>> G.nodes["cleo"]
    {'cluster': 0, 'cluster_0': 1.0, 'cluster_1': 1.0}
    """
    H = _memberships(result, len(_nodes(G)))
    # The labels of a model may be refined.
    columns = {key: np.asarray(memberships.labels(result)).tolist()}
    if sparse.issparse(H):
        columns[f"{key}_memberships"] = _texts(sparse.csr_array(H))
    else:
        columns |= {f"{key}_{l}": H[:, l].astype(float).tolist() for l in range(H.shape[1])}
    if is_igraph(G):
        for name, values in columns.items():
            G.vs[name] = values
        return
    for i, attributes in enumerate(G.nodes.values()):
        attributes.update({name: values[i] for name, values in columns.items()})


def node_clustering(
    G: Any, result: Any, threshold: float | None = None, *, rule: Rule = "strength"
) -> Any:
    """Return the overlapping sets as a NodeClustering of cdlib, to evaluate and compare.

    Parameters
    ----------
    G : networkx or igraph graph
        What was fitted.
    result : ODSymNMF, Factorization, or array of shape (n, r)
        Memberships, in the order of the nodes.
    threshold : float from 0 to 1, optional
        Threshold of the rule.
    rule : {"strength", "row", "column"}
        Which items belong, as for `odsymnmf.memberships.overlapping_sets`. Clusters without items
        are left out.

    Returns
    -------
    cdlib.NodeClustering

    Examples
    --------
    >>> import networkx as nx
    >>> import odsymnmf as od
    >>> G = nx.karate_club_graph()
    >>> clusters = od.graphs.node_clustering(G, od.ODSymNMF(2).fit(G))  # doctest: +SKIP
    >>> clusters.newman_girvan_modularity().score  # doctest: +SKIP
    """
    try:
        from cdlib import NodeClustering
    except ImportError as error:
        raise ImportError(
            "node_clustering needs cdlib; install it with: pip install cdlib"
        ) from error
    nodes = _nodes(G)
    H = _memberships(result, len(nodes))
    clusters = overlapping_sets(H, threshold, rule=rule)
    sets = called([items for items in clusters if len(items)], nodes)
    parameters = {"n_clusters": H.shape[1], "rule": rule, "threshold": threshold}
    return NodeClustering(sets, G, "odsymnmf", parameters, overlap=True)


def _nodes(G: Any) -> list[Any]:
    """Return the nodes of a graph, by name where they have names."""
    if is_networkx(G):
        return list(G)
    if is_igraph(G):
        return list(G.vs["name"]) if "name" in G.vs.attributes() else list(range(G.vcount()))
    raise ValueError(f"G must be a networkx or igraph graph; got {type(G).__name__}.")


def _memberships(result: Any, n: int) -> Any:
    """Return H; ValueError unless it has n rows."""
    H = as_matrix(result)
    if H.shape[0] != n:
        raise ValueError(
            f"the memberships have shape {H.shape}, but the graph has {n} nodes: one row per node."
        )
    return H


def _texts(H: Any) -> list[str]:
    """Return the memberships of every item that are not zero, as text."""
    entries = [
        f"{l}:{value:g}" if value else ""
        for l, value in zip(H.indices.tolist(), H.data.tolist(), strict=True)
    ]
    rows = zip(H.indptr[:-1].tolist(), H.indptr[1:].tolist(), strict=True)
    return [" ".join(filter(None, entries[begin:end])) for begin, end in rows]
