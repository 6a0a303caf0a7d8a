"""Covers: sets of items that may overlap, one set per line."""

import csv
from pathlib import Path

from odsymnmf.io._items import bad
from odsymnmf.io._source import as_utf8, load
from odsymnmf.io._texts import Name

REMEDY = "give a text file with the names of one cluster per line"


def read_cover(path: Name) -> list[list[str]]:
    """Read the items of every cluster, to score one cover against another.

    Parameters
    ----------
    path : path
        One cluster per line, its names separated by tabs, else commas or semicolons, else spaces,
        as in ``clusters.txt``. A name may be on several lines. Lines that begin with # are left
        out.

    Returns
    -------
    list of lists of str

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from odsymnmf import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "clusters.txt")
    ...     _ = path.write_text("ann\\tbob\\nbob\\tcy\\n")
    ...     print(io.read_cover(path))
    [['ann', 'bob'], ['bob', 'cy']]
    """
    path = Path(path)
    data = load(path, folder="give the file in it, such as its clusters.txt")
    lines = as_utf8(path, data, REMEDY).decode("utf-8").splitlines(keepends=True)
    text = "".join(lines)
    delimiter = next((d for d in "\t,;" if d in text), None)
    if delimiter is None:
        rows = [line.split() for line in lines if not line.startswith("#")]
    else:
        kept = (line for line in lines if not line.startswith("#"))
        try:
            rows = list(csv.reader(kept, delimiter=delimiter, strict=True))
        except csv.Error as error:
            raise bad(path, f"a quote is not closed ({error})", REMEDY) from None
    cover = [[name for name in row if name] for row in rows]
    cover = [names for names in cover if names]
    if not cover:
        raise bad(path, "no clusters in it", REMEDY)
    return cover
