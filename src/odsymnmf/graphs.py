"""Results as attributes of networkx and igraph graphs, and as objects of cdlib."""

from itertools import pairwise
from typing import Any

from scipy import sparse

from odsymnmf.inputs import kind_of
from odsymnmf.membership_view import as_matrix, as_view
from odsymnmf.memberships import Rule, overlapping_sets
from odsymnmf.utils import optional_import

__all__ = ["annotate", "node_clustering"]


def annotate(G: Any, result: Any, key: str = "cluster") -> None:
    """Write labels and memberships into a graph, as attributes of its nodes.

    Attribute ``key`` is the label of the node (an int, -1 for none), and ``key_0``, ``key_1``, ...
    are its memberships (floats): plain numbers, which every file format of graphs supports. Sparse
    memberships are written as one string per node, ``key_memberships``, with the nonzero ones, such
    as "3:0.5 17:1".

    Parameters
    ----------
    G : networkx or igraph graph
        The fitted graph, which is changed in place.
    result : ODSymNMF, Factorization, or array of shape (n, r)
        Memberships, in the order of the nodes.
    key : str
        The name of the attribute of labels, and the prefix of those of memberships.

    Examples
    --------
    >>> import networkx as nx
    >>> import odsymnmf as od
    >>> G = nx.Graph([("ann", "bob"), ("bob", "cleo"), ("ann", "cleo"), ("cleo", "dan")])
    >>> od.graphs.annotate(G, od.ODSymNMF(2, loss="l1").fit(G))
    >>> G.nodes["cleo"]
    {'cluster': 0, 'cluster_0': 1.0, 'cluster_1': 1.0}
    """
    view, H = as_view(result, len(_nodes(G))), as_matrix(result)
    columns = {key: view.labels.tolist()}
    if sparse.issparse(H):
        entries = [f"{l}:{x:g}" for l, x in zip(view.H.indices, view.H.data, strict=True)]
        columns[f"{key}_memberships"] = [
            " ".join(entries[start:end]) for start, end in pairwise(view.H.indptr)
        ]
    else:
        columns |= {f"{key}_{l}": h.astype(float).tolist() for l, h in enumerate(H.T)}
    for name, values in columns.items():
        if kind_of(G) == "igraph":
            G.vs[name] = values
        else:
            for node, value in zip(G, values, strict=True):
                G.nodes[node][name] = value


def node_clustering(
    G: Any, result: Any, threshold: float | None = None, *, rule: Rule = "strength"
) -> Any:
    """Return the overlapping sets as a NodeClustering of cdlib.

    Parameters
    ----------
    G : networkx or igraph graph
        The fitted graph.
    result : ODSymNMF, Factorization, or array of shape (n, r)
        Memberships, in the order of the nodes.
    threshold : float from 0 to 1, optional
        Threshold of the rule.
    rule : {"strength", "row", "column"}
        The rule by which an item belongs to a cluster, as for
        `odsymnmf.memberships.overlapping_sets`. Empty clusters are left out.

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
    cdlib = optional_import("cdlib", "node_clustering", "cdlib")
    nodes = _nodes(G)
    view = as_view(result, len(nodes))
    clusters = overlapping_sets(view, threshold, rule=rule)
    sets = [[nodes[i] for i in items] for items in clusters if items]
    parameters = {"n_clusters": view.r, "rule": rule, "threshold": threshold}
    return cdlib.NodeClustering(sets, G, "odsymnmf", parameters, overlap=True)


def _nodes(G: Any) -> list[Any]:
    """Return the nodes of a graph, by name if they have names."""
    kind = kind_of(G)
    if kind == "networkx":
        return list(G)
    if kind == "igraph":
        return list(G.vs["name"]) if "name" in G.vs.attributes() else list(range(G.vcount()))
    raise ValueError(f"G must be a networkx or igraph graph; got {type(G).__name__}.")
