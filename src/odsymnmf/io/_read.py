"""The front door: recognise the format, call its reader, settle symmetry."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from odsymnmf.io._edges import read_edges
from odsymnmf.io._items import Items, bad, numbered
from odsymnmf.io._lines import fields
from odsymnmf.io._matrix_market import read_mtx
from odsymnmf.io._numpy import read_npy, read_npz
from odsymnmf.io._source import load
from odsymnmf.io._symmetry import SYMMETRIZE, finite_features, floats, similarities
from odsymnmf.io._table import looks_like_table, read_table

FORMATS = ("edges", "table", "mtx", "npy", "npz", "graphml", "gml", "cluto")
# How a file begins that can be nothing else.
SIGNATURES = {
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
    b"%%MatrixMarket": "mtx",
}
ENDINGS = {
    ".mtx": "mtx",
    ".mm": "mtx",
    ".npy": "npy",
    ".npz": "npz",
    ".graphml": "graphml",
    ".xml": "graphml",
    ".gml": "gml",
    ".mat": "cluto",
    ".edges": "edges",
    ".edgelist": "edges",
}


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    features: bool = False,
    symmetrize: str | None = None,
) -> Items:
    path = Path(path)
    _refuse_unknown("format", format, FORMATS)
    _refuse_unknown("symmetrize", symmetrize, SYMMETRIZE)
    data = load(path)
    chosen = format or _recognised(path, data)
    if chosen in (None, "edges", "table"):
        rows = fields(path, data)
        is_table = looks_like_table(rows) if chosen is None else chosen == "table"
        reader = read_table if is_table else read_edges
        return reader(rows, features=features, symmetrize=symmetrize)
    notes: list[str] = []
    if chosen == "mtx":
        matrix, notes = read_mtx(path, data)
    elif chosen == "npy":
        matrix = read_npy(path, data)
    elif chosen == "npz":
        matrix = read_npz(path, data)
    else:
        raise bad(path, f"{chosen} is not read yet")
    return _settled(path, Items(matrix, [], chosen, notes), features, symmetrize)


def _settled(path: Path, items: Items, features: bool, symmetrize: str | None) -> Items:
    """Give items names and, unless they have features, a symmetric matrix."""
    matrix = floats(path, items.matrix)
    if 0 in matrix.shape:
        raise bad(path, f"holds a matrix of shape {matrix.shape}; give at least one item")
    names = items.names or numbered(matrix.shape[0])
    if features:
        return replace(items, matrix=finite_features(path, matrix), names=names)
    matrix, more = similarities(path, matrix, names, symmetrize)
    return replace(items, matrix=matrix, names=names, notes=items.notes + more, features=None)


def _recognised(path: Path, data: bytes) -> str | None:
    """Return the format by how the file begins, then by its name; None for a list or table."""
    for start, name in SIGNATURES.items():
        if data.startswith(start):
            return name
    return ENDINGS.get(Path(path.name.lower().removesuffix(".gz")).suffix)


def _refuse_unknown(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}")
