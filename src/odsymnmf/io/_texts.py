"""Texts to be clustered, and labels to be scored."""

import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from odsymnmf.io._items import bad, quoted
from odsymnmf.io._sheet import sheet
from odsymnmf.io._source import as_utf8, load

Name = str | os.PathLike[str]
# What stands above the columns of a table of labels.
NAMES = {"name", "names", "id", "item", "node", "document"}
CLUSTERS = {"cluster", "class", "label", "group", "truth", "community"}


def read_texts(paths: Name | Iterable[Name]) -> tuple[list[str], list[str]]:
    """Read a folder or a list of text files (UTF-8, packed with gzip or not).

    Parameters
    ----------
    paths : path or list of paths
        Text files; of a folder, all files in it and in its folders, sorted, hidden ones left out.

    Returns
    -------
    names, texts : lists of str
        The path of each file, within the folder if there is only one; and what it says.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from odsymnmf import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.txt", "a.txt"):
    ...         _ = pathlib.Path(folder, name).write_text(f"This is {name}.")
    ...     print(io.read_texts(folder))
    (['a.txt', 'b.txt'], ['This is a.txt.', 'This is b.txt.'])
    """
    given = [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(p) for p in paths]
    names, files = [], []
    for path in given:
        if path.is_dir():
            found = sorted(file for file in path.rglob("*") if _is_text(file, path))
            alone = len(given) == 1
            names += [(file.relative_to(path) if alone else file).as_posix() for file in found]
            files += found
        else:
            names.append(path.as_posix())
            files.append(path)
    if not files:
        where = given[0] if given else Path()
        raise bad(where, "there are no text files; give a folder with one file per text")
    remedy = "move it out of the folder, or name the files to read"
    return names, [as_utf8(f, load(f, may_be_empty=True), remedy).decode() for f in files]


def _is_text(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return not hidden and not file.is_dir()


def read_labels(path: Name) -> dict[str, str]:
    """Read which item is in which cluster, to score one table of labels against another.

    Parameters
    ----------
    path : path
        A table of two columns, name and cluster; or of three with a header, as ``labels.csv`` has
        them (name, cluster, strength). Comma, semicolon, tab or blanks between them.

    Returns
    -------
    dict
        Name to cluster, both as they stand in the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from odsymnmf import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels.csv")
    ...     _ = path.write_text("name,cluster,strength\\nann,0,0.9\\nbob,1,0.7\\n")
    ...     print(io.read_labels(path))
    {'ann': '0', 'bob': '1'}
    """
    path = Path(path)
    remedy = "give a csv file of names and clusters"
    rows = sheet(path, load(path, folder="give the table in it, such as its labels.csv"), remedy)
    if rows.width not in (2, 3):
        raise rows.error(0, f"{rows.width} columns; give two, name and cluster")
    first = int(rows.top[0].lower() in NAMES or rows.top[1].lower() in CLUSTERS)
    labels: dict[str, str] = {}
    for (name, cluster, *_), line in islice(rows.rows(), first, None):
        if not name or not cluster:
            raise bad(path, "a name or cluster is missing; fill it in", line=line)
        if name in labels:
            problem = f"{quoted(name)} is named a second time; keep one line for it"
            raise bad(path, problem, line=line)
        labels[name] = cluster
    if not labels:
        raise rows.error(0, "a header, but no labels below it; give at least one")
    return labels
