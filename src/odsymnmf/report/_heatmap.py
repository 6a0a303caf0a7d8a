"""A square picture of numbers: PNG inside SVG, clusters marked along its sides."""

import base64
import struct
import zlib
from itertools import pairwise

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.drawing import MatrixPicture
from odsymnmf.drawing.colours import NEGATIVE, POSITIVE
from odsymnmf.drawing.names import count, number
from odsymnmf.drawing.shades import has_negative, scale_top
from odsymnmf.report._html import css

# Sides of the drawing: the picture itself, and the strip of cluster colours around it.
SIDE, STRIP, GAP = 480, 9, 4
# Clusters narrower than this have no room for their number.
LABEL_ROOM = 34


def heat_map(picture: MatrixPicture, shade: Array, label: str, what: str = "") -> str:
    """Return the picture as SVG, in shades from -1 to 1; transparent, for light and dark pages."""
    start = STRIP + GAP
    whole = SIDE + start
    scale = SIDE / picture.n
    image = (
        f'<image href="{png(shade)}" x="{start}" y="{start}" width="{SIDE}" '
        f'height="{SIDE}" preserveAspectRatio="none"/>'
    )
    marks = []
    bounds = [*picture.edges.tolist(), picture.n]
    for l, (a, b) in enumerate(pairwise(bounds)):
        if a < b:
            nobody = l == len(picture.edges) - 1
            name = "unassigned" if nobody else f"cluster {l}"
            tip = f"<title>{name}{': ' + count(b - a, what) if what else ''}</title>"
            marks.append(_mark(start + a * scale, (b - a) * scale, l, nobody, tip))
    return (
        f'<svg class="heat" viewBox="0 0 {whole} {whole}" role="img" aria-label="{label}">'
        f"{image}{''.join(marks)}</svg>"
    )


def _mark(at: float, size: float, l: int, nobody: bool, tip: str) -> str:
    thick = max(size - 1, 0.6)
    word = "none" if nobody else str(l)
    text = f'<text x="{at + 5:.1f}" y="{at + 16:.1f}">{word}</text>' if size >= LABEL_ROOM else ""
    return (
        f'<g class="{css(-1 if nobody else l)}">'
        f'<rect class="strip" x="{at:.2f}" y="0" width="{thick:.2f}" height="{STRIP}">{tip}</rect>'
        f'<rect class="strip" x="0" y="{at:.2f}" width="{STRIP}" height="{thick:.2f}">{tip}</rect>'
        f'<rect class="block" x="{at:.2f}" y="{at:.2f}" width="{size:.2f}" height="{size:.2f}">'
        f"{tip}</rect>{text}</g>"
    )


def legend(values: Array) -> str:
    """Return the colour scale in words and colours."""
    top = scale_top(values)
    least, most = np.nanmin(values, initial=0.0), np.nanmax(values, initial=0.0)
    low = number(-top) + (" or less" if least < -top else "") if has_negative(values) else ""
    high = number(top) + (" or more" if most > top else "")
    return ramp("0", high, low)


def ramp(zero: str, high: str, low: str = "") -> str:
    """Return the colours between two values, or three."""
    return (
        '<p class="scale">'
        + (f'<span>{low}</span><span class="ramp down"></span>' if low else "")
        + f'<span>{zero}</span><span class="ramp"></span><span>{high}</span></p>'
    )


def png(shade: Array) -> str:
    """Return shades from -1 to 1 as a PNG (data URI): the stronger, the less transparent."""
    index = (np.round(shade * 127) + 127).astype(np.uint8)
    alpha = [round(abs(k - 127) * 255 / 127) for k in range(255)]
    colours = bytes.fromhex(NEGATIVE[1:]) * 127 + bytes.fromhex(POSITIVE[1:]) * 128
    height, width = index.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), index], axis=1)
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, body)
        for kind, body in [
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            (b"PLTE", colours),
            (b"tRNS", bytes(alpha)),
            (b"IDAT", zlib.compress(lines.tobytes(), 9)),
            (b"IEND", b""),
        ]
    )
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
