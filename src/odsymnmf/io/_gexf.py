"""GEXF, as Gephi and networkx write it: nodes, edges, weights, directions; all else is left out."""

from pathlib import Path

import numpy as np

from odsymnmf.io._graph import UNWEIGHTED, from_graph
from odsymnmf.io._items import Items, bad, number, quoted
from odsymnmf.io._source import as_utf8
from odsymnmf.io._xml import edge_ends, refuse_unknown_ends, walk


def read_gexf(path: Path, data: bytes, symmetrize: str | None) -> Items:
    """Return the graph of a GEXF file; an edge without weight has weight 1, as GEXF says."""
    nodes: dict[str, str] = {}
    ends: list[tuple[str, str]] = []
    lines: dict[str, int] = {}
    weights: list[float] = []
    one_way: list[bool] = []
    default, is_weighted = "undirected", False

    def element(kind: str, attributes: dict[str, str], line: int) -> None:
        nonlocal default, is_weighted
        if kind == "graph":
            default = attributes.get("defaultedgetype", default).lower()
        if kind == "node":
            id = attributes.get("id", "")
            nodes.setdefault(id, attributes.get("label", id))
        if kind == "edge":
            ends.append(edge_ends(path, attributes, line))
            for end in ends[-1]:
                lines.setdefault(end, line)
            text = attributes.get("weight", "1")
            weight = number(text)
            is_weighted = is_weighted or "weight" in attributes
            if weight is None:
                problem = f"the weight {quoted(text)} is not a number; give one"
                raise bad(path, problem, line=line)
            weights.append(weight)
            one_way.append(attributes.get("type", default).lower() == "directed")

    walk(path, as_utf8(path, data), "gexf", "GEXF", element)
    refuse_unknown_ends(path, {*nodes}, lines)
    if not nodes:
        raise bad(path, "holds no nodes; give at least one")
    index = {id: k for k, id in enumerate(nodes)}
    labels = list(nodes.values())
    names = labels if len({*labels}) == len(labels) else list(nodes)
    i, j = np.array([[index[a], index[b]] for a, b in ends], dtype=np.int64).reshape(-1, 2).T
    entries = i, j, np.array(weights, dtype=np.float64)
    matrix, notes = from_graph(path, entries, names, symmetrize, np.array(one_way, dtype=bool))
    told = [UNWEIGHTED] if ends and not is_weighted else []
    return Items(matrix, names, "gexf", told + notes)
