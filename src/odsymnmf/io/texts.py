"""Texts to be clustered, and known clusters to be compared with."""

import csv
import io
import json
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

import numpy as np

from odsymnmf.io.dataset import ending, open_input
from odsymnmf.io.matrices import read_all
from odsymnmf.io.text import find_separator, is_number, open_text, parser_error, shorten

Name = str | os.PathLike[str]
JSON = (".jsonl", ".ndjson")
TABLES = (".csv", ".tsv", *JSON)
# Headings of the column of texts, and of their names.
TEXTS = {"text", "texts", "body", "content", "document", "abstract", "message", "review"}
TEXTS |= {"comment", "description", "sentence", "summary"}
NAMES = ("id", "name", "title", "key", "doc_id", "document_id")
# Headings of a table of labels.
ITEMS = {"name", "names", "id", "item", "node", "document"}
CLUSTERS = {"cluster", "class", "label", "group", "truth", "community"}


def read_texts(
    paths: Name | Iterable[Name], *, text_column: str | None = None, lines: bool = False
) -> tuple[list[str], list[str]]:
    """Read texts: a folder, a list of text files, a column of a table, or lines.

    All are UTF-8, compressed or not.

    Parameters
    ----------
    paths : path or list of paths
        Text files; of a folder, all files in it and in its folders, sorted, without hidden ones.
        A single file that ends in .csv, .tsv, .jsonl or .ndjson (.gz may follow) is a table with
        one text in each row.
    text_column : str, optional
        The column (in JSON lines, the key) of the texts in such a table, whatever the name of the
        file. By default the one that is called text, or the like, or the only one.
    lines : bool, optional
        Every line of a single file that is not blank is a text.

    Returns
    -------
    names, texts : lists of str
        The names are the path of each file, within the folder if there is only one; of a table,
        the column id or name if its values are distinct, else the numbers of the rows, from 1; of
        lines, their numbers.

    Raises
    ------
    InputError
        If there are no texts, or they cannot be read.

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
    roots = [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(p) for p in paths]
    if text_column is not None and lines:
        raise ValueError("text_column and lines exclude each other; give one of them")
    is_table = len(roots) == 1 and ending(roots[0]) in TABLES and not roots[0].is_dir()
    if is_table or text_column is not None or lines:
        if len(roots) != 1:
            raise ValueError(f"{len(roots)} files, but a table of texts is one; give one file")
        with open_input(roots[0]) as file:
            text = _decoded(read_all(file))
            if not text.strip():
                raise ValueError("is empty; give a file with texts in it")
            if lines:
                rows = enumerate(text.split("\n"), 1)
                numbered = {str(k): row.strip() for k, row in rows if row.strip()}
                return list(numbered), list(numbered.values())
            is_json = ending(roots[0]) in JSON or text.lstrip().startswith("{")
            return _of_table(_json_lines(text) if is_json else _csv(text), text_column)
    texts = {}
    is_folder = len(roots) == 1 and roots[0].is_dir()
    for path in roots:
        for file_path in sorted(path.rglob("*")) if path.is_dir() else [path]:
            is_hidden = any(part.startswith(".") for part in file_path.relative_to(path).parts)
            if not is_hidden and not file_path.is_dir():
                name = (file_path.relative_to(path) if is_folder else file_path).as_posix()
                with open_input(file_path) as file:
                    texts[name] = _decoded(read_all(file))
    if not texts:
        raise ValueError("there are no text files; give a folder with one file per text")
    return list(texts), list(texts.values())


def _decoded(data: bytes) -> str:
    if b"\0" in data:
        raise ValueError("is not text in UTF-8; give text files only")
    return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def _of_table(frame: Any, text_column: str | None) -> tuple[list[str], list[str]]:
    """Return a column of texts, and a column of names or else numbers from 1."""
    if not frame.size:
        raise ValueError("holds no texts; give at least one")
    columns = [str(name) for name in frame.columns]
    lower = [name.strip().lower() for name in columns]
    candidates = [name for name, key in zip(columns, lower, strict=True) if key in TEXTS] or columns
    if text_column is not None:
        candidates = [name for name in columns if name == text_column]
    if len(candidates) != 1:
        unclear = "it is not clear which column holds texts"
        reason = unclear if text_column is None else f"no column is called {text_column!r}"
        raise ValueError(f"{reason}; pass text_column, one of {shorten(columns)}")
    texts = frame[candidates[0]].tolist()
    for key in NAMES:
        if key in lower and columns[lower.index(key)] != candidates[0]:
            names = frame.iloc[:, lower.index(key)].tolist()
            if all(names) and len({*names}) == len(names):
                return names, texts
    return [str(k + 1) for k in range(len(texts))], texts


def _csv(text: str) -> Any:
    import pandas

    try:
        # It warns of a first row that is too long, and cuts it off.
        with warnings.catch_warnings(action="error", category=pandas.errors.ParserWarning):
            return pandas.read_csv(
                io.StringIO(text),
                # A table of one column has no delimiter; no text contains this one.
                sep=find_separator(text.lstrip().partition("\n")[0]) or "\x1f",
                dtype=object,
                na_filter=False,
                index_col=False,
                skipinitialspace=True,
            )
    except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
        raise parser_error(error) from None


def _json_lines(text: str) -> Any:
    import pandas

    records = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if line.strip():
                records.append({key: _cell(value) for key, value in json.loads(line).items()})
        except (ValueError, RecursionError, AttributeError) as error:
            raise ValueError(
                f'line {number}: is not a JSON object ({error}); write {{"text": "..."}}'
            ) from None
    return pandas.DataFrame(records, dtype=object).fillna("")


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def read_labels(path: Name) -> dict[str, str]:
    """Read the cluster of every item, to compare one table of labels with another.

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
    with open_input(Path(path)) as file:
        text = open_text(read_all(file))
        top, *body = text.head
        if len(top) not in (2, 3):
            raise ValueError(f"{len(top)} columns; give two, name and cluster")
        are_numbers = bool(body) and all(is_number(row[1]) for row in body)
        header = top[0].lower() in ITEMS or top[1].lower() in CLUSTERS
        header = header or (are_numbers and not is_number(top[1]))
        frame = text.parse(header, {0: str, 1: str}, [], [])
        names, clusters = (frame[k].fillna("").str.strip() for k in (0, 1))
        if not len(names):
            raise ValueError("a header, but no labels below it; give at least one")
        wrong = (names == "") | (clusters == "") | names.duplicated()
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"line {text.line_of(row + header)}: {short_repr(names[row])} has no name or no "
                "cluster, or occurs a second time; correct the line"
            )
        return dict(zip(names, clusters, strict=True))


def read_cover(path: Name) -> list[list[str]]:
    """Read the items of every cluster, to compare one cover with another.

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
    with open_input(Path(path)) as file:
        text = _decoded(read_all(file))
        lines = [line.strip() for line in text.split("\n") if not line.startswith("#")]
        separator = next((mark for mark in "\t,;" if mark in text), None)
        rows = csv.reader(lines, delimiter=separator) if separator else map(str.split, lines)
        cover = [names for row in rows if (names := [name for name in row if name])]
        if not cover:
            raise ValueError("no clusters in it; give the names of one cluster per line")
        return cover
