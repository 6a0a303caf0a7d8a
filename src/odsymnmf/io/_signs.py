"""What pandas would pass over without a word: signs of it in the bytes of a text."""

import io
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from odsymnmf.arrays import Array

# Bytes that are looked at together: few enough for the cache, and a multiple of 64.
BLOCK = 2**18
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


class Quotes(NamedTuple):
    """Whether quotes stand around whole fields, and whether a line ends between some."""

    around: bool
    over_lines: bool


def quotes(body: bytes, delimiter: bytes | None) -> Quotes:
    """Look whether every other quote begins a field, and the others end one.

    64 bytes at a time are the bits of an integer, as in simdjson.
    """
    if b'"' not in body:
        return Quotes(True, False)
    is_open, over_lines = np.uint64(0), False
    for text in _blocks(body):
        is_line_end = text == ord("\n")
        is_end = is_line_end.copy()
        for mark in delimiter or b" \t":
            is_end |= text == mark
        quote = _bits(text[1:-1] == ord('"'))
        within = _parity(quote, is_open)
        is_open = within[-1] >> np.uint64(63)
        begins, ends = quote & within, quote & ~within
        if (begins & ~_bits(is_end[:-2])).any() or (ends & ~_bits(is_end[2:])).any():
            return Quotes(False, over_lines)
        over_lines |= bool((within & _bits(is_line_end[1:-1])).any())
    return Quotes(not is_open, over_lines)


def _bits(values: Array) -> Array:
    return np.packbits(values, bitorder="little").view("<u8")


def _parity(bits: Array, before: np.uint64) -> Array:
    """Return whether the number of bits that are set up to each, and ``before`` them, is odd."""
    found = bits.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        found ^= found << np.uint64(shift)
    is_odd = np.bitwise_xor.accumulate(found >> np.uint64(63)) ^ before
    return found ^ np.negative(np.concatenate([[before], is_odd[:-1]]))


def has_padded_numbers(body: bytes, delimiter: bytes | None) -> bool:
    """Whether a field begins with 0 or + and a digit, or ends so after other blanks."""
    for text in _blocks(body):
        is_end = text <= ord(" ")
        for mark in (delimiter or b"") + b'"':
            is_end |= text == mark
        begins = is_end[:-2] & ((text[1:-1] == ord("0")) | (text[1:-1] == ord("+")))
        # Few blocks of ids have a field that begins so: most are done here.
        if begins.any() and (begins & (text[2:] - np.uint8(ord("0")) < 10)).any():
            return True
    return False


def _blocks(body: bytes) -> Iterator[Array]:
    """Yield the text in blocks of n x 64, each between the bytes around it.

    Line ends stand for what is missing around the first and last.
    """
    for start in range(0, len(body), BLOCK):
        size = -(-min(BLOCK, len(body) - start) // 64) * 64
        block = (body[start - 1 : start] or b"\n") + body[start : start + size + 1]
        yield np.frombuffer(block.ljust(size + 2, b"\n"), dtype=np.uint8)
