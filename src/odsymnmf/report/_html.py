"""Text that is safe to put into a page."""

import html
import json
from collections.abc import Iterable
from typing import Any

from odsymnmf.drawing.colours import DISTINCT
from odsymnmf.drawing.names import shortened

LONGEST_IN_LINE = 60


def escape(text: object) -> str:
    """Return text for use between tags and inside quoted attributes."""
    return html.escape(str(text), quote=True)


def listed(names: Iterable[str]) -> str:
    """Return names with commas between them, none of which can begin a line."""
    parts = [_bdi(name) for name in names]
    closed = [f"{part}," for part in parts[:-1]] + parts[-1:]
    return " ".join(f'<span class="name">{part}</span>' for part in closed)


def _bdi(text: str) -> str:
    """Return a name for running text: not too long, and its direction of writing kept inside."""
    return f"<bdi>{escape(shortened(text, LONGEST_IN_LINE))}</bdi>"


def to_json(value: Any) -> str:
    """Return JSON for a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def css(l: int) -> str:
    """Return the class that has the colour of a cluster; -1: of those in none."""
    return "cx" if l < 0 else f"c{l % DISTINCT}"


def chip(l: int) -> str:
    """Return the cluster's number next to its colour."""
    return f'<span class="chip {css(l)}">{l}</span>'
