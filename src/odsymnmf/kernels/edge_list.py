"""The lines of a regular edge list: two fields and, where there is a third, a weight.

Text is looked at in words of eight bytes: ``words[k]`` holds the bytes from k on, the first of them
lowest. A kernel stops at whatever is not plain (a comment, a blank line, a blank around a field, a
quote within one, a number that it does not read to the last bit) and returns -1.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import allocating, kernel, part
from odsymnmf.kernels.prefetch import prefetch

LINE_END, QUOTE, POINT, MINUS, ZERO = ord("\n"), ord('"'), ord("."), ord("-"), ord("0")
ONES, HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
ONE, HALF, SEVEN, TOP_BYTE = np.uint64(1), np.uint64(32), np.uint64(7), np.uint64(56)
# Odd, its bits well mixed (2^64 over the golden ratio).
FACTOR = np.uint64(0x9E3779B97F4A7C15)
NUMBER = np.uint64(2**32 - 1)
# Names that are cut before any is looked up, so that memory is asked for in time.
BATCH = 64
LONGEST = 1000
# 10^19 fits into 64 bits, four times 5^26 into 63, and 5^22 into the 53 of a float.
DIGITS, POWER, EXACT = 19, 26, 22
FIVES = np.array([5**k for k in range(POWER + 1)], dtype=np.int64)
TENS = np.array([10.0**k for k in range(POWER + 1)])


class Known(NamedTuple):
    """Distinct names, numbered in order of appearance.

    ``letters`` holds their bytes, each name in words of its own, closed by a line end and zeros. A
    slot holds the hash of a name, and where it stands in ``letters`` (high half) with its number
    plus one (low half); names are found by open addressing. ``used``: the names, the words.
    """

    slots: Any
    letters: Any
    used: Any


class Fields(NamedTuple):
    """A batch of names: the words of name k end at ``ends[k]``; with a hash each."""

    words: Any
    ends: Any
    hashes: Any


@part
def _zeros(word):
    """Mark the bytes that are zero with their highest bit, right up to the first of them."""
    return (word - ONES) & ~word & HIGHS


@part
def _mixed(h, word):
    """Return the hash with one more word."""
    h = (h ^ word) * FACTOR
    return h ^ (h >> HALF)


@part
def _closed(word, found):
    """Return the bytes before the first that is marked, with a line end, and their mask."""
    below = ((found & (~found + ONE)) >> SEVEN) - ONE
    return (word & below) | (np.uint64(LINE_END) * (below + ONE)), below


@allocating
def _larger(known):
    """Return the same names with twice the room."""
    slots = np.zeros((2 * len(known.slots), 2), dtype=np.uint64)
    mask = np.uint64(len(slots) - 1)
    for old in range(len(known.slots)):
        if known.slots[old, 1]:
            p = known.slots[old, 0] & mask
            while slots[p, 1]:
                p = (p + ONE) & mask
            slots[p, 0], slots[p, 1] = known.slots[old, 0], known.slots[old, 1]
    return Known(slots, known.letters, known.used)


@allocating
def _roomy(known, size):
    """Return the same names with room for so many words more."""
    letters = np.empty(2 * len(known.letters) + size, dtype=np.uint64)
    for k in range(known.used[1]):
        letters[k] = known.letters[k]
    return Known(known.slots, letters, known.used)


@allocating
def number_names(known, fields, count, numbers):
    """Number a batch of names; those that are new become known."""
    begin = 0
    for k in range(count):
        h, end = fields.hashes[k], fields.ends[k]
        size = end - begin
        mask = np.uint64(len(known.slots) - 1)
        p = h & mask
        while True:
            slot = known.slots[p, 1]
            if slot == 0:
                name, top = known.used[0], known.used[1]
                if top + size > len(known.letters):
                    known = _roomy(known, size)
                for q in range(size):
                    known.letters[top + q] = fields.words[begin + q]
                known.slots[p, 0] = h
                known.slots[p, 1] = (np.uint64(top) << HALF) | np.uint64(name + 1)
                known.used[0], known.used[1] = name + 1, top + size
                if 2 * (name + 1) > len(known.slots):
                    known = _larger(known)
                break
            if known.slots[p, 0] == h:
                at, q = np.int64(slot >> HALF), 0
                while q < size and known.letters[at + q] == fields.words[begin + q]:
                    q += 1
                if q == size:  # with its line end: no name is the beginning of another
                    name = np.int64(slot & NUMBER) - 1
                    break
            p = (p + ONE) & mask
        numbers[k] = name
        begin = end
    return known


@allocating
def nothing_known(slots):
    """Return no names; ``slots`` is a power of two."""
    return Known(
        np.zeros((slots, 2), dtype=np.uint64),
        np.empty(2 * slots, dtype=np.uint64),
        np.zeros(2, dtype=np.int64),
    )


@allocating
def no_fields():
    """Return room for a batch of names, each as long as may be."""
    return Fields(
        np.empty(BATCH * (LONGEST // 8 + 2), dtype=np.uint64),
        np.zeros(BATCH, dtype=np.int64),
        np.zeros(BATCH, dtype=np.uint64),
    )


@kernel
def read_weight(text, k):
    """Return the number that begins at k, to the last bit, and where it ends; -1 if it may not be.

    The digits make an integer m, to be divided by 10^p. The float nearest to it is M 2^e. Division
    finds it but for one or two units of M, which m 2^(-e - p) - M 5^p tells: it wraps around to a
    small number. As 5^p is odd, there are no ties.
    """
    sign = 1.0
    if text[k] == MINUS:
        sign = -1.0
        k += 1
    begin, point, digits, m = k, -1, 0, np.uint64(0)
    while np.uint8(text[k] - ZERO) < 10 or (text[k] == POINT and point < 0):
        if text[k] == POINT:
            point = k
        else:
            m = m * np.uint64(10) + np.uint64(text[k] - ZERO)
            digits += 1 if digits or m else 0
        k += 1
    is_plain = k > begin + (point >= 0)
    p = k - point - 1 if point >= 0 else 0
    if text[k] | 32 == ord("e"):
        k += 1
        is_small = text[k] == MINUS
        if is_small or text[k] == ord("+"):
            k += 1
        first, exponent = k, np.int64(0)
        while np.uint8(text[k] - ZERO) < 10 and k < first + 3:
            exponent = 10 * exponent + np.int64(text[k] - ZERO)
            k += 1
        is_plain &= k > first
        p += exponent if is_small else -exponent
    value = float(m)
    is_plain &= digits <= DIGITS and -EXACT <= p <= POWER
    if is_plain and m <= np.uint64(2**53) and p <= EXACT:
        value = value / TENS[p] if p >= 0 else value * TENS[-p]
    elif is_plain and p >= 0:
        fraction, e = math.frexp(value / TENS[p])
        M, shift = np.int64(math.ldexp(fraction, 53)), 53 - e - p
        if 0 <= shift < 64:
            gap = np.int64((m << np.uint64(shift)) - np.uint64(M) * np.uint64(FIVES[p]))
            while 2 * gap > FIVES[p]:
                M += 1
                gap -= FIVES[p]
            while 2 * gap < -FIVES[p]:
                M -= 1
                gap += FIVES[p]
            is_plain = 2**52 < M < 2**53
            value = math.ldexp(float(M), e - 53)
        else:
            is_plain = False
    else:
        is_plain = False
    return sign * value, k if is_plain else -1


@allocating
def read_names(text, words, k, stop, mark, numbers, weights):
    """Number the names on the lines from k to ``stop``; return how many lines, and the names.

    ``numbers`` gets a column for every line, and ``weights`` an entry, unless its length is 0.
    Eight bytes must follow ``stop``.
    """
    marks, line_ends = ONES * np.uint64(mark), ONES * np.uint64(LINE_END)
    quotes = ONES * np.uint64(QUOTE)
    known, fields = nothing_known(2**12), no_fields()
    batch = np.empty(BATCH, dtype=np.int64)
    line = 0
    while k < stop:
        count, end = 0, 0
        slots, mask = known.slots, np.uint64(len(known.slots) - 1)
        while count < BATCH and k < stop:
            if text[k] == ord("#") or text[k] == ord("%"):
                return -1, known
            for side in range(2):
                is_quoted = text[k] == QUOTE
                k += is_quoted
                begin, h = k, np.uint64(0)
                while True:
                    word = words[k]
                    found = _zeros(word ^ quotes) | _zeros(word ^ line_ends)
                    if not is_quoted:
                        found |= _zeros(word ^ marks)
                    if found:
                        break
                    if k - begin >= LONGEST - 8:
                        return -1, known
                    fields.words[end] = word
                    h = _mixed(h, word)
                    end += 1
                    k += 8
                word, below = _closed(word, found)
                fields.words[end] = word
                h = _mixed(h, word)
                end += 1
                k += np.int64(((below & ONES) * ONES) >> TOP_BYTE)
                is_bare = k > begin and text[begin] > ord(" ") and text[k - 1] > ord(" ")
                if not is_bare or (is_quoted and text[k] != QUOTE):
                    return -1, known
                k += is_quoted
                if text[k] != (mark if side == 0 or len(weights) else LINE_END):
                    return -1, known
                k += 1
                fields.ends[count], fields.hashes[count] = end, h
                prefetch(slots, h & mask)
                count += 1
            if len(weights):
                weights[line + count // 2 - 1], k = read_weight(text, k)
                if k < 0 or text[k] != LINE_END:
                    return -1, known
                k += 1
        known = number_names(known, fields, count, batch)
        for c in range(0, count, 2):
            numbers[0, line], numbers[1, line] = batch[c], batch[c + 1]
            line += 1
    return line, known


@allocating
def join_names(known, others, place):
    """Add other names to those known; ``place`` gets the number of each."""
    line_ends = ONES * np.uint64(LINE_END)
    fields, batch = no_fields(), np.empty(BATCH, dtype=np.int64)
    at, done = 0, 0
    while done < others.used[0]:
        count, end = 0, 0
        while count < BATCH and done + count < others.used[0]:
            h, is_last = np.uint64(0), False
            while not is_last:
                word = others.letters[at]
                is_last = _zeros(word ^ line_ends) != 0
                fields.words[end] = word
                h = _mixed(h, word)
                end += 1
                at += 1
            fields.ends[count], fields.hashes[count] = end, h
            count += 1
        known = number_names(known, fields, count, batch)
        for k in range(count):
            place[done] = batch[k]
            done += 1
    return known


@kernel
def read_ids(text, k, stop, mark, numbers, weights):
    """Read the integers (of at most nine digits) on the lines from k to ``stop``, as `read_names`.

    Return how many lines there are.
    """
    line = 0
    while k < stop:
        for side in range(2):
            begin, value = k, np.int64(0)
            while np.uint8(text[k] - ZERO) < 10:
                value = 10 * value + np.int64(text[k] - ZERO)
                k += 1
                if k > begin + 9:
                    return -1
            is_padded = text[begin] == ZERO and k > begin + 1
            if k == begin or is_padded:
                return -1
            if text[k] != (mark if side == 0 or len(weights) else LINE_END):
                return -1
            numbers[side, line] = value
            k += 1
        if len(weights):
            weights[line], k = read_weight(text, k)
            if k < 0 or text[k] != LINE_END:
                return -1
            k += 1
        line += 1
    return line
