"""Texts to be clustered, and known clusters to be compared with."""

import csv
import io
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from reprlib import repr as short_repr
from typing import Any

from odsymnmf.io.dataset import open_input, read_all
from odsymnmf.io.text import find_separator, is_number, open_text, parser_error

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
    given = [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(p) for p in paths]
    if text_column is not None and lines:
        raise ValueError("text_column and lines exclude each other; give one of them")
    is_table = len(given) == 1 and _ending(given[0]) in TABLES and not given[0].is_dir()
    if is_table or text_column is not None or lines:
        if len(given) != 1:
            raise ValueError(f"{len(given)} files, but a table of texts is one; give one file")
        with open_input(given[0]) as file:
            text = _decoded(read_all(file))
            return _of_lines(text) if lines else _of_table(text, given[0], text_column)
    names, files = [], []
    for path in given:
        members = [path]
        if path.is_dir():
            members = sorted(file for file in path.rglob("*") if _is_visible(file, path))
        within = path.is_dir() and len(given) == 1
        names += [(file.relative_to(path) if within else file).as_posix() for file in members]
        files += members
    if not files:
        raise ValueError("there are no text files; give a folder with one file per text")
    return names, [_read_text(file) for file in files]


def _ending(path: Path) -> str:
    return Path(re.sub(r"\.(gz|bz2|xz)$", "", path.name.lower())).suffix


def _is_visible(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return not hidden and not file.is_dir()


def _read_text(path: Path) -> str:
    with open_input(path) as file:
        return _decoded(read_all(file))


def _decoded(data: bytes) -> str:
    if b"\0" in data:
        raise ValueError("is not text in UTF-8; give text files only")
    return data.decode("utf-8").replace("\r\n", "\n")


def _of_lines(text: str) -> tuple[list[str], list[str]]:
    rows = [(str(k), row.strip()) for k, row in enumerate(text.split("\n"), 1) if row.strip()]
    if not rows:
        raise ValueError("is empty; give a file with texts in it")
    return [name for name, _ in rows], [row for _, row in rows]


def _of_table(text: str, path: Path, text_column: str | None) -> tuple[list[str], list[str]]:
    """Return a column of texts, and a column of names or else numbers from 1."""
    is_json = _ending(path) in JSON or text.lstrip().startswith("{")
    frame = _json_lines(text) if is_json else _csv(text)
    if not frame.size:
        raise ValueError("holds no texts; give at least one")
    columns = [str(name) for name in frame.columns]
    likely = [name for name in columns if name.strip().lower() in TEXTS]
    chosen = text_column or next(iter(likely or columns))
    if chosen not in columns or (text_column is None and 1 not in (len(likely), len(columns))):
        shown = ", ".join(map(short_repr, columns[:8])) + ", ..." * (len(columns) > 8)
        raise ValueError(f"it is not clear which column holds texts; pass text_column: {shown}")
    texts = frame[chosen].tolist()
    for wanted in NAMES:
        for name in columns:
            if name.strip().lower() == wanted and name != chosen:
                names = frame[name].tolist()
                if all(names) and len({*names}) == len(names):
                    return names, texts
    return [str(k + 1) for k in range(len(texts))], texts


def _csv(text: str) -> Any:
    import pandas

    if not text.strip():
        raise ValueError("is empty; give a file with texts in it")
    try:
        return pandas.read_csv(
            io.StringIO(text),
            # A table of one column has no delimiter; no text contains this one.
            sep=find_separator(text.lstrip().partition("\n")[0]) or "\x1f",
            dtype=object,
            na_filter=False,
            index_col=False,
            skipinitialspace=True,
            on_bad_lines="error",
        )
    except pandas.errors.ParserError as error:
        raise parser_error(error) from None


def _json_lines(text: str) -> Any:
    import pandas

    records = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                record = json.loads(line)
                records.append({key: _text(value) for key, value in record.items()})
            except (ValueError, RecursionError, AttributeError) as error:
                raise ValueError(
                    f'line {number}: is not a JSON object ({error}); write {{"text": "..."}}'
                ) from None
    return pandas.DataFrame(records, dtype=object).fillna("")


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode()  # JSON may hold lone surrogates


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
        labels: dict[str, str] = {}
        for row, (name, cluster) in enumerate(zip(frame[0], frame[1], strict=True)):
            if not name.strip() or not cluster.strip() or name.strip() in labels:
                problem = "occurs a second time" if name.strip() in labels else "has no cluster"
                problem = problem if name.strip() else "is no name"
                line = text.line_of(row + header)
                raise ValueError(f"line {line}: {short_repr(name)} {problem}; correct the line")
            labels[name.strip()] = cluster.strip()
        if not labels:
            raise ValueError("a header, but no labels below it; give at least one")
        return labels


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
        rows = (
            csv.reader(lines, delimiter=separator)
            if separator
            else (line.split() for line in lines)
        )
        cover = [[name for name in row if name] for row in rows]
        cover = [names for names in cover if names]
        if not cover:
            raise ValueError("no clusters in it; give the names of one cluster per line")
        return cover
