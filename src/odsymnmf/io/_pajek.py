"""Pajek networks: numbered vertices with labels, then edges (both ways) and arcs (one way)."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from odsymnmf.io._graph import UNWEIGHTED, from_graph
from odsymnmf.io._items import InputError, Items, bad, number, quoted
from odsymnmf.io._rows import lines
from odsymnmf.io._source import as_utf8, refuse_promise

WORD = re.compile(r'"([^"]*)"|(\S+)')
# Parts of a file -> whether their links lead one way, and whether a line is one item and many.
LINKS = {
    "*edges": (False, False),
    "*arcs": (True, False),
    "*edgeslist": (False, True),
    "*arcslist": (True, True),
}


def read_pajek(path: Path, data: bytes, symmetrize: str | None) -> Items:
    """Return the network of a Pajek file; vertices without a label have their number as name."""
    text = as_utf8(path, data)
    parts = _rows(text)
    names: list[str] = []
    part = ""
    ends: list[tuple[int, int]] = []
    weights: list[float] = []
    one_way: list[bool] = []
    has_weights = False
    for words, line in parts:
        if words[0].startswith("*"):
            part = words[0].lower()
            if part == "*vertices":
                if names:
                    problem = "a second network begins; keep one network in the file"
                    raise bad(path, problem, line=line)
                names = _numbers(path, words, line, len(text))
            elif part not in LINKS and part != "*network":
                known = "*Vertices, *Edges, *Arcs, *Edgeslist and *Arcslist"
                raise bad(path, f"{quoted(words[0])} is not read; known are {known}", line=line)
            continue
        if part == "*vertices":
            k = _vertex(path, words[0], len(names), line)
            names[k] = words[1] if len(words) > 1 and words[1] else names[k]
        elif part in LINKS:
            is_arc, is_list = LINKS[part]
            vertices = words if is_list else words[:2]
            if len(vertices) < 2 and not is_list:
                raise bad(path, "a link has two ends; add what is missing", line=line)
            source, *targets = (_vertex(path, word, len(names), line) for word in vertices)
            weight = 1.0 if is_list or len(words) < 3 else _weight(path, words[2], line)
            has_weights = has_weights or (not is_list and len(words) > 2)
            ends += [(source, target) for target in targets]
            weights += [weight] * len(targets)
            one_way += [is_arc] * len(targets)
        elif part != "*network":
            raise _headless(path, line)
    if not names:
        raise _headless(path, 1)
    i, j = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    names = names if len({*names}) == len(names) else [str(k + 1) for k in range(len(names))]
    edges = i, j, np.array(weights, dtype=np.float64)
    matrix, notes = from_graph(path, edges, names, symmetrize, np.array(one_way, dtype=bool))
    told = [UNWEIGHTED] if ends and not has_weights else []
    return Items(matrix, names, "pajek", told + notes)


def _rows(text: bytes) -> Iterator[tuple[list[str], int]]:
    for start, end, line in lines(text):
        found = WORD.findall(text[start:end].decode())
        if found:  # a line may be blank in more ways than ASCII knows
            yield [quoted or plain for quoted, plain in found], line


def _numbers(path: Path, words: list[str], line: int, size: int) -> list[str]:
    """Return the names of vertices that have no label, as many as the line promises."""
    count = words[1] if len(words) > 1 else ""
    if not (count.isascii() and count.isdecimal() and len(count) < 19) or int(count) == 0:
        raise bad(path, "*Vertices needs their number, at least 1; add it", line=line)
    refuse_promise(path, int(count), int(count), size)
    return [str(k + 1) for k in range(int(count))]


def _vertex(path: Path, word: str, n: int, line: int) -> int:
    """Return the place of a vertex; they are numbered from 1."""
    is_number = word.isascii() and word.isdecimal() and len(word) < 19
    if not is_number or not 1 <= int(word) <= n:
        raise bad(
            path,
            f"{quoted(word)} is not a vertex: they are numbered 1 to {n}; correct it",
            line=line,
        )
    return int(word) - 1


def _weight(path: Path, word: str, line: int) -> float:
    weight = number(word)
    if weight is None:
        raise bad(path, f"the weight {quoted(word)} is not a number; give one", line=line)
    return weight


def _headless(path: Path, line: int) -> InputError:
    return bad(path, "a Pajek network begins with *Vertices and their number; add it", line=line)
