"""Graph files, read by networkx."""

import io
import re
import warnings
from reprlib import repr as short_repr
from typing import Any

import numpy as np

from odsymnmf.inputs import EDGE_IDS
from odsymnmf.io.symmetrize import EdgeList
from odsymnmf.utils import Array, check_memory

FORMATS = ("graphml", "gexf", "gml", "pajek", "adjlist")
# Attributes of edges and of nodes, in the order in which they are tried.
WEIGHTS = ("weight", "value")
LABELS = ("label", "name")
TARGETS = ("target", "class", "community", "group")
GEXF_NAMESPACE = 'xmlns="http://www.gexf.net/1.2draft"'


def read_graph(data: bytes, format: str, weight_column: str | int | None = None) -> EdgeList:
    """Return the edges of a graph file, and the classes of its nodes, if any."""
    import networkx

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about ports and keys without a type
            graph = _PARSERS[format](networkx, data.decode("utf-8"))
    except (ImportError, UnicodeDecodeError, MemoryError):
        raise
    except Exception as error:  # networkx raises many types for damaged files
        line = re.search(r"\((\d+), \d+\)$|line (\d+)", str(error))
        place = f"line {line[1] or line[2]}: " if line else ""
        reason = (str(error) or type(error).__name__)[:200]
        raise ValueError(f"{place}cannot be read as {format} ({reason}); save it again") from None
    if not graph:
        raise ValueError("holds no nodes; give at least one")
    index = {node: k for k, node in enumerate(graph)}
    ends = [(index[a], index[b]) for a, b in graph.edges()]
    i, j = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    weights = _weights(graph, weight_column, 1.0 if format in ("gexf", "pajek") else None)
    messages = []
    if weight_column is None and (unused := _numeric_attributes(graph)):
        messages.append(f"edge attributes ignored: {unused} (choose one with weight_column=)")
    directed = graph.is_directed() if format not in ("adjlist", "edges") else None
    names = _attribute(graph, LABELS, distinct=True) or [str(node) for node in graph]
    target = _attribute(graph, TARGETS, distinct=False)
    return EdgeList(i, j, weights, names, messages, directed, target=target)


def has_edge_data(data: bytes) -> bool:
    """Whether the first line is an edge with data, such as ``1 2 {'weight': 3}``."""
    first = re.match(rb"(?:\s*+(?:[#%][^\n]*+)?\n)*+([^\n]*)", data)
    return first is not None and re.search(rb"[\s,;]\{.*\}\s*$", first[1]) is not None


def _parse_gexf(nx: Any, text: str) -> Any:
    # networkx supports only some of the namespaces that Gephi writes.
    text = re.sub(r'xmlns="[^"]*gexf\.net/[^"/]*"', GEXF_NAMESPACE, text, count=1)
    if "xmlns=" not in text:
        text = text.replace("<gexf", f"<gexf {GEXF_NAMESPACE}", 1)
    return nx.read_gexf(io.BytesIO(text.encode()))


def _parse_gml(nx: Any, text: str) -> Any:
    # GML is ASCII, and other characters are written as in XML; many programs write UTF-8.
    text = text.encode("ascii", "xmlcharrefreplace").decode()
    if not re.search(r"\bmultigraph\b", text):  # without it, networkx rejects repeated edges
        text = re.sub(r"\bgraph\s*\[", "graph [ multigraph 1 ", text, count=1)
    return nx.parse_gml(text, label=None)


def _parse_pajek(nx: Any, text: str) -> Any:
    """Parse sections one by one: networkx applies the type of the first section to all links."""
    text = re.sub(r"(?m)^\s*(%.*)?\n", "", text.replace("\r", "\n") + "\n")
    head, *sections = re.split(r"(?im)^(?=\*(?:edges|arcs|matrix))", text)
    unsupported = re.search(r"(?im)^\*(?:edges|arcs)list", text)
    if unsupported:
        raise ValueError(f"{unsupported[0]} is not supported: write its links as *Edges or *Arcs")
    vertices = re.search(r"(?im)^\*vertices\s+(\d+)", head)
    if vertices is None:
        raise ValueError("it has no line *Vertices with their number")
    n = int(vertices[1])
    check_memory(100 * n, "the graph in the file", "correct the number of vertices")
    # networkx needs a line with a label for every vertex.
    labels = dict(re.findall(r"(?m)^[ \t]*(\d+)[ \t]*(.*)$", head))
    lines = "".join(f"{k} {labels.get(str(k)) or k}\n" for k in range(1, n + 1))
    graphs = [nx.parse_pajek(f"*Vertices {n}\n{lines}{section}") for section in sections or [""]]
    if any(len(graph) != n for graph in graphs):
        raise ValueError("labels are repeated, or links end at vertices that do not exist")
    directed = any(graph.is_directed() and graph.size() for graph in graphs)
    kind = nx.MultiDiGraph if directed else nx.MultiGraph  # an edge stands for two arcs
    combined = kind(graphs[0])
    for graph in graphs[1:]:
        combined.add_edges_from(kind(graph).edges(data=True))
    return combined


def _parse_adjlist(nx: Any, text: str) -> Any:
    lines = _lines(text)
    mark = next((m for m in "\t;," if any(m in line for line in lines[:100])), None)
    if mark is not None:
        words = ((word.strip() for word in line.split(mark)) for line in lines)
        lines = [mark.join(filter(None, line)) for line in words]
    # A zero byte as the comment character, which no line contains.
    return nx.parse_adjlist(lines, "\0", mark, create_using=nx.MultiDiGraph)


def _parse_edges(nx: Any, text: str) -> Any:
    """Parse edges with dictionaries of data, which networkx reads as literals."""
    lines = _lines(text)
    mark = next((m for m in "\t;," if m in lines[0].partition("{")[0]), None)
    return nx.parse_edgelist(lines, None, mark, create_using=nx.MultiDiGraph)


def _lines(text: str) -> list[str]:
    """Return the lines that are neither blank nor comments."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("#", "%"))]


_PARSERS = {
    "graphml": lambda nx, text: nx.parse_graphml(text),
    "gexf": _parse_gexf,
    "gml": _parse_gml,
    "pajek": _parse_pajek,
    "adjlist": _parse_adjlist,
    "edges": _parse_edges,
}


def _attribute(graph: Any, keys: tuple[str, ...], *, distinct: bool) -> list[str] | None:
    """Return the first attribute that all nodes have, with values that are distinct or repeated."""
    for key in keys:
        values = [str(value) for _, value in graph.nodes(data=key) if value is not None]
        if len(values) == len(graph) and (len({*values}) == len(values)) == distinct:
            return values
    return None


def _numeric_attributes(graph: Any) -> str:
    """Return the attributes of edges that are numbers, but neither weights nor ids, quoted."""
    items = [item for *_, data in graph.edges(data=True) for item in data.items()]
    keys = dict.fromkeys(key for key, value in items if isinstance(value, int | float))
    return ", ".join(short_repr(key) for key in keys if key not in (*WEIGHTS, *EDGE_IDS))


def _weights(graph: Any, weight: Any, default: float | None) -> Array | None:
    """Return the weights of all edges; None if they have none."""
    known = {key for *_, attributes in graph.edges(data=True) for key in attributes}
    key = next((key for key in ((weight,) if weight else WEIGHTS) if key in known), None)
    if key is None:
        if weight:
            raise ValueError(f"no edge has an attribute {weight!r}; check weight_column")
        return None
    weights = []
    for a, b, value in graph.edges(data=key, default=default):
        try:
            weights.append(float(value))
        except (TypeError, ValueError):
            pair = f"{short_repr(str(a))} to {short_repr(str(b))}"
            raise ValueError(
                f"the {key} of {pair} is {short_repr(value)}; give every edge a number"
            ) from None
    return np.array(weights)
