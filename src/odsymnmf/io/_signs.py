"""What pandas would pass over without a word: signs of it in the bytes of a text."""

import io
import re
from collections.abc import Iterator

import numpy as np

from odsymnmf.arrays import Array

# Bytes that are looked at together: few enough for the cache.
BLOCK = 2**17
# Possessive, so that millions of comments take no memory.
FIRST_COMMENT = re.compile(rb"\n[ \t]*[#%]")
COMMENT = re.compile(rb"(?:\n[ \t]*+[#%][^\n]*+)++")


def has_comments(body: bytes) -> bool:
    """Whether a line after the first is a comment."""
    return (b"#" in body or b"%" in body) and FIRST_COMMENT.search(body) is not None


def without_comments(body: bytes) -> bytes:
    """Drop the lines that are comments, a block at a time: they may be many."""
    kept, start = io.BytesIO(), 0
    while start < len(body):
        end = body.find(b"\n", start + BLOCK)
        end = len(body) if end < 0 else end
        # A block begins with the end of the line before it; the first row is no comment.
        kept.write(COMMENT.sub(b"", body[start:end]))
        start = end
    return kept.getvalue()


def quotes_are_around(body: bytes, delimiter: bytes | None) -> bool:
    """Whether every other quote begins a field, and the others end one."""
    text = np.frombuffer(body, dtype=np.uint8)
    at = np.flatnonzero(text == ord('"'))
    if len(at) % 2:
        return False
    ends = np.zeros(256, dtype=bool)
    ends[list((delimiter or b" \t") + b"\n")] = True
    begins = at[0::2][int(at[0] == 0) :]
    return bool(ends[text[begins - 1]].all() and ends[text[at[1::2] + 1]].all())


def has_padded_numbers(body: bytes, delimiter: bytes | None) -> bool:
    """Whether a field begins with 0 or + and a digit, or ends so after other blanks."""
    for text in _blocks(body):
        is_digit = (text - np.uint8(ord("0"))) < 10
        is_end = text <= ord(" ")
        if delimiter:
            is_end |= text == ord(delimiter)
        is_end |= text == ord('"')
        is_sign = (text == ord("0")) | (text == ord("+"))
        if (is_end[:-2] & is_sign[1:-1] & is_digit[2:]).any():
            return True
    return body[:1] in (b"0", b"+") and body[1:2].isdigit()


def _blocks(body: bytes) -> Iterator[Array]:
    text = np.frombuffer(body, dtype=np.uint8)
    for start in range(0, len(text), BLOCK):
        yield text[start : start + BLOCK + 2]
