"""Large regular edge lists, read by compiled code in threads: the names are numbered on the way."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from odsymnmf import kernels
from odsymnmf.arrays import Array

# A smaller file is read before Numba is imported.
LARGE = 2**24
# Bytes, or edges, that are worth a thread.
PIECE = 2**18
THREADS = 8
# A line takes at least so many bytes: "a b", and its end.
SHORTEST = 4
# Words of so many bytes are read, also at the end of the text.
WORD = 8


class Part(NamedTuple):
    """Some lines: the numbers of their names in two rows, the names, and the weights."""

    ends: Array
    known: Any
    weights: Array


def in_threads(work: Callable[[Any], Any], pieces: Iterable[Any]) -> list[Any]:
    """Return what work on each of some pieces returns, in their order."""
    pieces = [*pieces]
    if len(pieces) == 1:
        return [work(pieces[0])]
    with ThreadPoolExecutor(len(pieces), "odsymnmf-read") as pool:
        return [*pool.map(work, pieces)]


def cuts(size: int) -> list[tuple[int, int]]:
    """Return how threads share work of a size, from where to where."""
    parts = max(1, min(size // PIECE, os.cpu_count() or 1, THREADS))
    return [*pairwise(size * k // parts for k in range(parts + 1))]


def edges(
    body: bytes, start: int, mark: bytes, *, weighted: bool, ids: bool
) -> tuple[Array, list[str], Array] | None:
    """Return the numbers of names (or the ids) in two rows, the names, and the weights.

    Names are numbered in order of appearance. None if a line from byte ``start`` on is not plain:
    then other readers see to it.
    """
    kernel = kernels.edge_list

    def read(piece: tuple[Array, int, int]) -> Part | None:
        text, begin, end = piece
        most = (end - begin) // SHORTEST
        ends, known = np.empty((2, most), dtype=np.int32), None
        weights = np.empty(most if weighted else 0)
        where = (begin, end, ord(mark), ends, weights)
        with np.errstate(over="ignore"):  # hashes wrap around
            if ids:
                lines = kernel.read_ids(text, *where)
            else:
                words: Array = np.ndarray(len(text) - WORD + 1, np.uint64, text, strides=(1,))
                lines, known = kernel.read_names(text, words, *where)
        return Part(ends[:, :lines], known, weights[:lines]) if lines >= 0 else None

    parts = in_threads(read, _pieces(body, start))
    if any(part is None for part in parts):
        return None
    names = [] if ids else _numbered_together(parts)
    ends = np.concatenate([part.ends for part in parts], axis=1)
    return ends, names, np.concatenate([part.weights for part in parts])


def _pieces(body: bytes, start: int) -> list[tuple[Array, int, int]]:
    """Return texts with a range of whole lines each; the last is short, and zeros follow it."""
    end = max(start, body.rfind(b"\n", 0, len(body) - WORD) + 1)
    inner = [body.find(b"\n", start + a) + 1 for a, _ in cuts(end - start)[1:]]
    text = np.frombuffer(body, dtype=np.uint8)
    rest = np.frombuffer(body[end:] + bytes(WORD), dtype=np.uint8)
    pieces = [(text, a, b) for a, b in pairwise([start, *inner, end]) if a < b]
    return [*pieces, (rest, 0, len(body) - end)]


def _numbered_together(parts: list[Part]) -> list[str]:
    """Number the names of all parts in order of appearance, and return them."""
    known = parts[0].known
    for part in parts[1:]:
        numbers = np.empty(part.known.used[0], dtype=np.int32)
        with np.errstate(over="ignore"):
            known = kernels.edge_list.join_names(known, part.known, numbers)
        np.take(numbers, part.ends, out=part.ends, mode="clip")
    letters = known.letters[: known.used[1]].view(np.uint8)
    return letters[letters != 0].tobytes().decode().split("\n")[:-1]
