"""Names and numbers as text that is safe to put into a page."""

import html
import json
from collections.abc import Sequence
from typing import Any

LONGEST_NAME = 300


def checked_names(names: Sequence[Any] | None, n: int) -> list[str]:
    """Return one clean name per item: its number where no names are given."""
    if names is None:
        return [str(i) for i in range(n)]
    if len(names) != n:
        raise ValueError(f"there are {len(names)} names for {n} items; give one name per item.")
    return [clean(str(name)) for name in names]


def clean(text: str) -> str:
    """Return text that any browser and encoding can show: no lone surrogates, no control signs."""
    text = text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
    text = text.encode("utf-8", "replace").decode("utf-8")
    if not text.isprintable():
        text = "".join(" " if c < " " or "\x7f" <= c <= "\x9f" else c for c in text)
    return text.strip() or "(no name)"


def escape(text: object) -> str:
    """Return text for use between tags and inside quoted attributes."""
    return html.escape(str(text), quote=True)


def bdi(text: object) -> str:
    """Return a name whose direction of writing does not reach the words around it."""
    return f"<bdi>{escape(text)}</bdi>"


def to_json(value: Any) -> str:
    """Return JSON for a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def number(x: float) -> str:
    """Return x with three significant digits, and thousands apart."""
    return f"{x:,.0f}" if abs(x) >= 1000 and abs(x) < 1e9 else f"{x:.3g}"


def count(k: int, noun: str) -> str:
    """Return "1 item", "2 items"."""
    return f"{k:,} {noun}" + ("" if k == 1 else "s")
