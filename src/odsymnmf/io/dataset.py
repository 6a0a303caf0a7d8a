"""Read items and their similarities from a file of any format."""

import bz2
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from odsymnmf.inputs import Dataset
from odsymnmf.io import graphs, matrices
from odsymnmf.io.matrices import read_all
from odsymnmf.io.symmetrize import SYMMETRIZE, EdgeList
from odsymnmf.io.text import Table, frame_edges, is_table, open_text, read_edges, read_table
from odsymnmf.utils import plain_signature

FORMATS = ("edges", "table", *matrices.FORMATS, "parquet", *graphs.FORMATS)
# The beginnings of files that determine the format; quantifiers are possessive (*+) for speed.
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
# Endings of file names that differ from the name of the format.
ENDINGS = {"net": "pajek", "edgelist": "edges"}
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
COMPRESSED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
EXTRAS = {"networkx": "graphs", "pandas": "frames", "pyarrow": "parquet"}


class InputError(ValueError):
    """Error for a file that cannot be read; the message is one line: file, problem, remedy.

    Examples
    --------
    >>> from odsymnmf import io
    >>> try:
    ...     io.read("missing.csv")
    ... except io.InputError as error:
    ...     print(error)
    missing.csv: no such file; check the spelling and the folder
    """


@plain_signature
def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    features: bool = False,
    symmetrize: str | None = None,
    header: bool | None = None,
    columns: Sequence[str | int] | None = None,
    weight_column: str | int | None = None,
) -> Dataset:
    """Read items and their similarities from a file.

    Parameters
    ----------
    path : path
        A file, compressed with gzip, bzip2 or xz or not.
    format : str, optional
        One of `FORMATS`. By default, it is recognized by the beginning of the file, then by the
        ending of its name (.npy, .npz, .mtx, .parquet, .graphml, .gexf, .gml, .net for Pajek,
        .adjlist, .edges, .edgelist); any other text is an edge list or a table.
    features : bool, optional
        Read items x features, of any shape. An edge list then holds item, feature and value.
    symmetrize : {"max", "mean", "sum"}, optional
        How to make a directed graph or an asymmetric matrix symmetric, entry by entry, from A and
        A^T; missing entries count as 0. Symmetric input is not changed.
    header : bool, optional
        Whether the first row of an edge list or a table is a header. By default, the first row of
        an edge list is a header if a column below it is numeric and the first entry is not, or if
        none of its names occurs below it.
    columns : sequence of two or three names, optional
        The columns source, target and weight of an edge list, by name or by number from 1. By
        default, those called source and target, from and to, or the like, else the first two; and
        as weight the column called weight, or a single further column of numbers. Other columns
        are ignored.
    weight_column : str or int, optional
        The column of weights alone; of a graph file, the edge attribute (by default weight, then
        value).

    Returns
    -------
    Dataset
        Its messages state the assumptions made.

    Raises
    ------
    InputError
        If the file cannot be read. The message names the file, the problem and a remedy.

    Notes
    -----
    A text is a table if it has more than three columns and numbers in the second, or if it is a
    symmetric matrix of 3 x 3 numbers.

    An edge list in which every pair occurs once is undirected, and so is one in which every pair
    occurs in both directions with equal weights. Any other edge list, and one with the value
    Directed in a column "type", is directed, and is rejected without ``symmetrize``. Repeated edges
    are summed. Self-loops and the diagonal are left out. If all ids are integers, items are sorted
    by id; names keep the order in which they appear. Lines that begin with # or % are comments. An
    edge may end with a dictionary of data, as networkx writes it.

    An empty cell of a table of similarities (or NA, or nan), and a weight of nan, mark an unknown
    pair, which is NaN in the matrix. If only one direction is unknown, the other is used for both.
    Features must be complete. Names that contain delimiters must be in double quotes; blanks
    around names are removed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from odsymnmf import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "friends.csv")
    ...     _ = path.write_text("user,friend\\nann,bob\\nbob,cid\\n")
    ...     data = io.read(path)
    >>> data.names
    ['ann', 'bob', 'cid']
    >>> for message in data.messages:
    ...     print(message)
    the first row is taken as a header: 'user', 'friend'
    no weights found: every edge has weight 1
    """
    path = Path(path)
    if format not in (None, *FORMATS):
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {format!r}")
    if symmetrize not in (None, *SYMMETRIZE):
        raise ValueError(f"symmetrize must be one of {', '.join(SYMMETRIZE)}; got {symmetrize!r}")
    with open_input(path) as file:
        chosen = format or recognize(path, file)
        if features and chosen in (*graphs.FORMATS, "parquet"):
            raise ValueError("is a graph, and has no features; read it without features=True")
        content, chosen = parse(file, chosen, features, header, columns, weight_column)
        if features:
            matrix, names = content.features(graph_allowed=format == "edges")
        else:
            matrix, names = content.similarities(symmetrize)
    messages = content.messages + ["some items have the same name"] * (len({*names}) < len(names))
    feature_names = content.feature_names if features else None
    target = getattr(content, "target", None)
    return Dataset(matrix, names, chosen, messages, target, feature_names)


def parse(
    file: BinaryIO,
    format: str | None,
    features: bool = False,
    header: bool | None = None,
    columns: Sequence[str | int] | None = None,
    weight_column: str | int | None = None,
) -> tuple[EdgeList | Table, str]:
    """Return the edges or the table in a file, and its format."""
    if format in matrices.FORMATS:
        matrix, messages = matrices.read_matrix(file, format)
        return Table(matrix, messages=messages), format
    if format == "parquet":
        return frame_edges(matrices.read_parquet(file), columns, weight_column), format
    data = read_all(file)
    if format in graphs.FORMATS:
        return graphs.read_graph(data, format, weight_column), format
    if format != "table" and graphs.has_edge_data(data):
        return graphs.read_graph(data, "edges", weight_column), "edges"
    text = open_text(data)
    if format is None and columns is None and weight_column is None:
        format = "table" if is_table(text, features=features) else "edges"
    if format == "table":
        return read_table(text, header, features=features), format
    return read_edges(text, header, columns, weight_column, bipartite=features), "edges"


def recognize(path: Path, file: BinaryIO) -> str | None:
    """Return the format by the beginning of a file, then by its name; None for a list or table."""
    beginning = file.read(2**16)
    file.seek(0)
    if not beginning.strip():
        raise ValueError("is empty; give a file with items in it")
    if path.suffix.lower() in SPREADSHEETS:
        raise ValueError("is a spreadsheet; save the sheet as CSV and read that file")
    for signature, format in SIGNATURES.items():
        if re.match(signature, beginning):
            return format
    name = ending(path)[1:]
    return ENDINGS.get(name, name if name in FORMATS else None)


def ending(path: Path) -> str:
    """Return the suffix of a file in lower case, without that of a compression."""
    return Path(re.sub(r"\.(gz|bz2|xz)$", "", path.name.lower())).suffix


@contextmanager
def open_input(path: Path) -> Iterator[BinaryIO]:
    """Open a file, decompressed; errors inside the block become an InputError of one line."""
    try:
        if path.exists() and not path.is_file():
            kind = "a folder" if path.is_dir() else "a pipe or a device"
            raise ValueError(f"is {kind}; give a file (texts: io.read_texts or --text)")
        with open(path, "rb") as raw:
            beginning = raw.read(6)
        opener = (o for magic, o in COMPRESSED.items() if beginning.startswith(magic))
        with next(opener, open)(path, "rb") as file:
            yield file
    except Exception as error:
        problem = _problem(error)
        if problem is None:
            raise
        place = f"{path}, " if problem.startswith("line ") else f"{path}: "
        raise InputError(" ".join(f"{place}{problem}".split())) from None


def _problem(error: Exception) -> str | None:
    """Return the problem and a remedy; None for an error that is not due to the file."""
    if isinstance(error, FileNotFoundError):
        return "no such file; check the spelling and the folder"
    if isinstance(error, UnicodeDecodeError):
        return f"is not UTF-8 ({error}); save it as UTF-8"
    if isinstance(error, ImportError) and error.name in EXTRAS:
        return f"needs {error.name}; install it with pip install 'odsymnmf[{EXTRAS[error.name]}]'"
    if isinstance(error, OSError | EOFError | zlib.error | lzma.LZMAError):
        return f"cannot be read: {getattr(error, 'strerror', None) or error}; copy it again"
    return str(error) if isinstance(error, ValueError) else None
