"""GraphML and GML, read by networkx; what it would choke on or believe is refused before."""

import re
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import numpy as np

from odsymnmf.io._filters import filtered
from odsymnmf.io._graph import from_graph
from odsymnmf.io._items import Items, bad, number, quoted, reason
from odsymnmf.io._source import as_utf8
from odsymnmf.io._xml import edge_ends, refuse_unknown_ends, walk

# What networkx raises on damaged files, besides its own error.
ERRORS = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    ParseError,
    RecursionError,
    TypeError,
    ValueError,
)


def read_graphml(path: Path, data: bytes, symmetrize: str | None) -> Items:
    """Return the graph of a GraphML file."""
    text = as_utf8(path, data)
    _refuse_bad_xml(path, text)
    return _items(path, "graphml", _parsed(path, "parse_graphml", text.decode()), symmetrize)


def read_gml(path: Path, data: bytes, symmetrize: str | None) -> Items:
    """Return the graph of a GML file."""
    # GML is ASCII, and other characters are written as in XML; many programs write them plainly.
    text = as_utf8(path, data).decode().encode("ascii", "xmlcharrefreplace").decode()
    if not re.search(r"\bmultigraph\b", text):
        # Edges given twice are summed here; without this word they would be refused.
        text = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", text, count=1)
    return _items(path, "gml", _parsed(path, "parse_gml", text, label=None), symmetrize)


def _parsed(path: Path, parser: str, text: str, **options: Any) -> Any:
    try:
        import networkx
    except ImportError:
        raise bad(path, "needs networkx; install it with pip install 'odsymnmf[graphs]'") from None
    with filtered("ignore"):  # about ports and untyped keys, which do not matter here
        try:
            return getattr(networkx, parser)(text, **options)
        except (networkx.NetworkXError, *ERRORS) as error:
            match = re.search(r"\((\d+), \d+\)$", str(error))
            line = int(match[1]) if match else None
            deep = isinstance(error, RecursionError)
            problem = "nested too deeply" if deep else reason(error)
            remedy = "correct it, or save the graph again"
            raise bad(path, f"is not a valid graph ({problem}); {remedy}", line=line) from None


def _refuse_bad_xml(path: Path, text: bytes) -> None:
    """Refuse edges without ends, which networkx would invent, and what is no GraphML."""
    nodes: set[str] = set()
    ends: dict[str, int] = {}

    def element(kind: str, attributes: dict[str, str], line: int) -> None:
        if kind == "node":
            nodes.add(attributes.get("id", ""))
        if kind == "edge":
            for end in edge_ends(path, attributes, line):
                ends.setdefault(end, line)

    walk(path, text, "graphml", "GraphML", element)
    refuse_unknown_ends(path, nodes, ends)


def _items(path: Path, format: str, graph: Any, symmetrize: str | None) -> Items:
    nodes = list(graph)
    if not nodes:
        raise bad(path, "holds no nodes; give at least one")
    names = _names(graph)
    index = {node: k for k, node in enumerate(nodes)}
    ends = [(index[a], index[b]) for a, b in graph.edges()]
    i, j = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    weights, notes = _weights(path, graph)
    edges = i, j, weights
    one_way = np.full(len(i), graph.is_directed())
    matrix, more = from_graph(path, edges, names, symmetrize, one_way)
    return Items(matrix, names, format, notes + more)


def _names(graph: Any) -> list[str]:
    """Return the labels or names of the nodes if they tell them apart, else their ids."""
    for key in ("label", "name"):
        values = [str(value) for _, value in graph.nodes(data=key) if value is not None]
        if len(values) == len(set(values)) == len(graph):
            return values
    return [str(node) for node in graph]


def _weights(path: Path, graph: Any) -> tuple[Any, list[str]]:
    """Return the edges' attribute "weight", or else "value", as numbers; 1 without either."""
    for key in ("weight", "value"):
        edges = list(graph.edges(data=key))
        if edges and any(value is not None for *_, value in edges):
            break
    else:
        notes = ["no weights found: every edge has weight 1"]
        return np.ones(graph.number_of_edges()), notes if graph.number_of_edges() else []
    weights = []
    for a, b, value in edges:
        weight = number(str(value))
        if weight is None:
            pair = f"{quoted(str(a))} to {quoted(str(b))}"
            raise bad(
                path, f"the {key} of {pair} is {quoted(str(value))}; give every edge a number"
            )
        weights.append(weight)
    return np.array(weights), []
