"""Texts to be clustered, and labels to be scored."""

import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from odsymnmf.io._items import bad, quoted
from odsymnmf.io._sheet import sheet
from odsymnmf.io._source import as_utf8, load
from odsymnmf.io._text_table import ENDINGS, ending, texts_of_lines, texts_of_table

Name = str | os.PathLike[str]
# What stands above the columns of a table of labels.
NAMES = {"name", "names", "id", "item", "node", "document"}
CLUSTERS = {"cluster", "class", "label", "group", "truth", "community"}


def read_texts(
    paths: Name | Iterable[Name], *, column: str | None = None, lines: bool = False
) -> tuple[list[str], list[str]]:
    """Read texts: a folder, a list of text files, a column of a table, or lines.

    All are UTF-8, compressed with gzip or not.

    Parameters
    ----------
    paths : path or list of paths
        Text files; of a folder, all files in it and in its folders, sorted, hidden ones left out.
        A single file that ends in .csv, .tsv, .jsonl or .ndjson (.gz may follow) is a table with
        one text in each row.
    column : str, optional
        The column (in JSON lines, the key) of the texts in such a table, whatever the name of the
        file. By default the one that is called text, or the like, or the only one.
    lines : bool, optional
        Every line of a single file that is not blank is a text.

    Returns
    -------
    names, texts : lists of str
        The path of each file, within the folder if there is only one; of a table, the column id or
        name if its values are all different, else the numbers of the rows, from 1; of lines, their
        numbers. And what the texts say.

    Raises
    ------
    InputError
        If there are no texts, or they cannot be read; the message says where and why.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from odsymnmf import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.txt", "a.txt"):
    ...         _ = pathlib.Path(folder, name).write_text(f"This is {name}.")
    ...     print(io.read_texts(folder))
    (['a.txt', 'b.txt'], ['This is a.txt.', 'This is b.txt.'])

    A table of texts:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "talks.csv")
    ...     _ = path.write_text("id,year,text\\nx1,1999,On graphs.\\nx2,2004,On trees.\\n")
    ...     print(io.read_texts(path))
    (['x1', 'x2'], ['On graphs.', 'On trees.'])
    """
    given = [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(p) for p in paths]
    if column is not None and lines:
        raise ValueError("column and lines exclude each other; give one of them")
    is_table = len(given) == 1 and not given[0].is_dir() and ending(given[0]) in ENDINGS
    if is_table or column is not None or lines:
        return _read_one(given, column, lines)
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


def _read_one(given: list[Path], column: str | None, lines: bool) -> tuple[list[str], list[str]]:
    """Return the texts of a single file."""
    if len(given) != 1:
        where = given[0] if given else Path()
        raise bad(where, f"{len(given)} files, but a table of texts is one; give one file")
    data = load(given[0], folder="give the file in it that holds the texts")
    return texts_of_lines(given[0], data) if lines else texts_of_table(given[0], data, column)


def _is_text(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return not hidden and not file.is_dir()


def read_labels(path: Name) -> dict[str, str]:
    """Read which item is in which cluster, to score one table of labels against another.

    Parameters
    ----------
    path : path
        A table of two columns, name and cluster; or of three with a header, as ``labels.csv`` has
        them (name, cluster, strength). Separated by comma, semicolon, tab or spaces.

    Returns
    -------
    dict
        Name to cluster, both as written in the file.

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
            problem = f"{quoted(name)} occurs a second time; keep one line for it"
            raise bad(path, problem, line=line)
        labels[name] = cluster
    if not labels:
        raise rows.error(0, "a header, but no labels below it; give at least one")
    return labels
