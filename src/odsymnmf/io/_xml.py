"""XML read element by element, with its lines: no entities, no document types, no deep nesting."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.parsers import expat

from odsymnmf.io._items import bad, quoted

# Elements in one another; GraphML needs five.
DEPTH = 100
# What to do with an element: its name, its attributes, its line.
Element = Callable[[str, dict[str, str], int], None]


def walk(path: Path, text: bytes, root: str, format: str, element: Element) -> None:
    """Call ``element`` for every element of a file whose outermost one is ``root``."""
    parser = expat.ParserCreate("utf-8")
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        line, kind = parser.CurrentLineNumber, tag.rpartition(":")[2]
        if depth > DEPTH:
            raise bad(path, "elements are nested too deeply; save the graph again", line=line)
        if depth == 1 and kind != root:
            raise bad(path, f"is XML, but begins with <{tag}>; save it as {format}", line=line)
        element(kind, attributes, line)

    def stop(tag: str) -> None:
        nonlocal depth
        depth -= 1

    def doctype(*_: Any) -> None:
        line = parser.CurrentLineNumber
        raise bad(path, "document types and entities are not read; delete <!DOCTYPE>", line=line)

    parser.StartElementHandler, parser.EndElementHandler = start, stop
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        problem = f"is not valid XML ({expat.ErrorString(error.code)}); save the graph again"
        raise bad(path, problem, line=error.lineno) from None


def edge_ends(path: Path, attributes: dict[str, str], line: int) -> tuple[str, str]:
    """Return the two ends of an edge, which must be there."""
    for end in ("source", "target"):
        if end not in attributes:
            raise bad(path, f"an edge without {end}; add it or drop the edge", line=line)
    return attributes["source"], attributes["target"]


def refuse_unknown_ends(path: Path, nodes: set[str], ends: dict[str, int]) -> None:
    """Refuse edges to nodes that are not there; ``ends`` has the line of each."""
    for end, line in ends.items():
        if end not in nodes:
            raise bad(path, f"there is no node {quoted(end)}; add it or drop the edge", line=line)
