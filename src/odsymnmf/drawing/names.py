"""Names and numbers as text that can be shown anywhere."""

from collections.abc import Sequence
from typing import Any

LONGEST_NAME = 300
# Signs that turn the writing around: they could make "gnp.exe" look like "exe.png".
TURNING = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def checked_names(names: Sequence[Any] | None, n: int) -> list[str]:
    """Return one clean name per item: its number where no names are given."""
    if names is None:
        return [str(i) for i in range(n)]
    if len(names) != n:
        raise ValueError(f"there are {len(names)} names for {n} items; give one name per item.")
    return [clean(str(name)) for name in names]


def clean(text: str, most: int = LONGEST_NAME) -> str:
    """Return text that any browser and encoding can show: no lone surrogates, no control signs."""
    text = shortened(text, most)
    text = text.encode("utf-8", "replace").decode("utf-8")
    if not text.isprintable():
        text = "".join(" " if c < " " or "\x7f" <= c <= "\x9f" else c for c in text)
        text = text.translate(TURNING)
    return text.strip() or "(no name)"


def shortened(text: str, most: int) -> str:
    """Return text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def number(x: float) -> str:
    """Return x with three significant digits, and thousands apart."""
    return f"{x:,.0f}" if abs(x) >= 1000 and abs(x) < 1e9 else f"{x:.3g}"


def count(k: int, noun: str) -> str:
    """Return "1 item", "2 items"."""
    return f"{k:,} {noun}" + ("" if k == 1 else "s")
