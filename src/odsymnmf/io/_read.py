"""The front door: recognise the format, call its reader, settle symmetry."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from odsymnmf.io._adjacency import has_data, read_adjlist, without_data
from odsymnmf.io._cluto import read_cluto
from odsymnmf.io._edges import read_edges
from odsymnmf.io._gexf import read_gexf
from odsymnmf.io._items import Items, Remedy, bad, numbered
from odsymnmf.io._matrix_market import read_mtx
from odsymnmf.io._networkx import read_gml, read_graphml
from odsymnmf.io._numpy import read_npy, read_npz
from odsymnmf.io._pajek import read_pajek
from odsymnmf.io._parquet import read_parquet
from odsymnmf.io._sheet import sheet
from odsymnmf.io._source import load
from odsymnmf.io._symmetry import SYMMETRIZE, finite_features, floats, similarities
from odsymnmf.io._table import looks_like_table, read_table

FORMATS = (
    "edges",
    "adjlist",
    "table",
    "mtx",
    "npy",
    "npz",
    "parquet",
    "graphml",
    "gexf",
    "gml",
    "pajek",
    "cluto",
)
# How a file begins that can be nothing else. Nothing is taken back (*+): blanks and comments may be
# millions, and to remember where each began takes a hundred times their size.
SIGNATURES = {
    rb"\x93NUMPY": "npy",
    rb"PK[\x03\x05]": "npz",
    rb"(\xef\xbb\xbf)?%%MatrixMarket": "mtx",
    rb"PAR1": "parquet",
    rb"(\xef\xbb\xbf)?(<\?xml[^>]*+>|<!--.*?-->|\s)*+<gexf": "gexf",
    rb"(\xef\xbb\xbf)?\s*+<(\?xml|!|graphml)": "graphml",
    rb"(?i)(\xef\xbb\xbf)?([ \t]*+(%[^\n]*+)?\n){0,99}+\s*+\*(vertices|network)\b": "pajek",
    rb"(\xef\xbb\xbf)?(\s*+(Creator|Version|Comment|#)[^\n]*+\n)*+\s*+graph\s*+\[": "gml",
}
NO_FEATURES = Remedy("leave features out", "leave the affinity out")
ENDINGS = {
    ".npy": "npy",
    ".npz": "npz",
    ".mtx": "mtx",
    ".graphml": "graphml",
    ".gexf": "gexf",
    ".gml": "gml",
    ".net": "pajek",
    ".parquet": "parquet",
    ".mat": "cluto",
    ".edges": "edges",
    ".edgelist": "edges",
    ".adjlist": "adjlist",
}
GRAPHS = {
    "adjlist": read_adjlist,
    "graphml": read_graphml,
    "gexf": read_gexf,
    "gml": read_gml,
    "pajek": read_pajek,
    "parquet": read_parquet,
}


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    features: bool = False,
    symmetrize: str | None = None,
) -> Items:
    """Read items and their similarities from a file.

    The format is recognised by how the file begins, then by the end of its name (.npy, .npz, .mtx,
    .parquet, .graphml, .gexf, .gml, .net for Pajek, .mat for CLUTO, .edges, .edgelist, .adjlist;
    .gz may follow). Any other text is an edge
    list or a table. It is a table if its rows and columns have the same names, and an edge list if
    its first line says source and target, or the like (then weight and type are found by name, and
    other columns are left out). Else it is a table if it has more than three columns, or if it is a
    symmetric matrix of 3 x 3 numbers; with ``features``, also if the names of an edge list would be
    numbers such as 1.5 or -2. Else it is an edge list.

    Parameters
    ----------
    path : path
        A file, compressed with gzip or not (a compressed file may expand to 100 times its size, or
        to 64 MiB).
    format : str, optional
        One of `FORMATS`; by default, it is recognised.
    features : bool, optional
        Read items x features instead, of any shape. An edge list then holds item, feature, value;
        if it looks like a graph (source and target above it, or many names in both columns), it is
        refused unless ``format`` is "edges".
    symmetrize : {"max", "mean", "sum"}, optional
        How to make a directed graph or an asymmetric matrix symmetric, entry by entry, from A and
        A^T; missing entries count as 0. Symmetric input is not changed.

    Returns
    -------
    Items

    Raises
    ------
    InputError
        If the file cannot be read; the message says where and why, and what to do about it.

    Notes
    -----
    An edge list in which every pair occurs once is undirected, and so is one in which every pair
    occurs in both directions with equal weights. Any other is directed, as is one with a column
    "type" that says Directed, and refused without ``symmetrize``. Edges given more than once are
    summed. Self-loops and the diagonal are left out. If all ids are integers, they must not be
    negative, and items are sorted by id; names keep the order in which they appear. Lines that
    begin with # or % are comments; an edge may end with a dictionary of data, as networkx writes
    it, in which only the weight is read. A cell of a table of similarities that is empty (or NA),
    and a weight of nan, mark an unknown pair: it is NaN in the matrix, in both directions, and a
    note says how many there are. Where only one of the two directions is unknown, the other is used
    for both. Features must be complete. Names that contain spaces or delimiters must be in double
    quotes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from odsymnmf import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "table.tsv")
    ...     _ = path.write_text("ann bob cid\\n1 .5 0\\n.5 1 .2\\n0 .2 1\\n")
    ...     items = io.read(path)
    >>> items.format, items.names
    ('table', ['ann', 'bob', 'cid'])
    >>> items.matrix
    array([[0. , 0.5, 0. ],
           [0.5, 0. , 0.2],
           [0. , 0.2, 0. ]])
    >>> items.notes
    ['the diagonal is ignored: its values are left out']
    """
    path = Path(path)
    _refuse_unknown("format", format, FORMATS)
    _refuse_unknown("symmetrize", symmetrize, SYMMETRIZE)
    data = load(path)
    chosen = format or recognised(path, data)
    if chosen in GRAPHS:
        if features:
            raise bad(path, "is a graph, and has no features", NO_FEATURES)
        items = GRAPHS[chosen](path, data, symmetrize)
    elif chosen in (None, "edges", "table"):
        items = _rows_of_text(path, data, chosen, features, symmetrize, format == "edges")
    else:
        items = _settled(path, _matrix(path, data, chosen), features, symmetrize)
    # By their names edges find each other, so that no two of them are the same.
    if items.format not in ("edges", "adjlist", "parquet") and len(set(items.names)) < len(
        items.names
    ):
        items.notes.append("some items have the same name")
    return items


def _rows_of_text(
    path: Path,
    data: bytes,
    format: str | None,
    features: bool,
    symmetrize: str | None,
    is_sure: bool,
) -> Items:
    if format != "table" and has_data(data):
        data, format = without_data(path, data), "edges"
    rows = sheet(path, data)
    is_table = looks_like_table(rows, features=features) if format is None else format == "table"
    if is_table:
        return read_table(rows, features=features, symmetrize=symmetrize)
    return read_edges(rows, features=features, symmetrize=symmetrize, is_sure=is_sure)


def _matrix(path: Path, data: bytes, format: str) -> Items:
    if format == "cluto":
        return read_cluto(path, data)
    matrix, notes = matrix_of(path, data, format)
    return Items(matrix, [], format, notes)


def matrix_of(path: Path, data: bytes, format: str) -> tuple[Any, list[str]]:
    """Return the matrix of a file of mtx, npy or npz as it stands there, and what to tell."""
    if format == "mtx":
        return read_mtx(path, data)
    return (read_npy if format == "npy" else read_npz)(path, data), []


def _settled(path: Path, items: Items, features: bool, symmetrize: str | None) -> Items:
    """Give items names and, unless they have features, a symmetric matrix."""
    matrix = floats(path, items.matrix)
    if 0 in matrix.shape:
        raise bad(path, f"holds a matrix of shape {matrix.shape}; give at least one item")
    names = items.names or numbered(matrix.shape[0])
    if features:
        matrix = finite_features(path, matrix, names, items.features)
        return replace(items, matrix=matrix, names=names)
    matrix, more = similarities(path, matrix, names, symmetrize)
    return replace(items, matrix=matrix, names=names, notes=items.notes + more, features=None)


def recognised(path: Path, data: bytes) -> str | None:
    """Return the format by how the file begins, then by its name; None for a list or table."""
    for start, format in SIGNATURES.items():
        if re.match(start, data):
            return format
    return ENDINGS.get(Path(path.name.lower().removesuffix(".gz")).suffix)


def _refuse_unknown(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}")
