"""Texts in one file: a column of a table, a key of JSON lines, or one text per line."""

import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any

from odsymnmf.io import _rows
from odsymnmf.io._filters import filtered
from odsymnmf.io._items import Remedy, bad, quoted, reason
from odsymnmf.io._sheet import UNIT, import_pandas
from odsymnmf.io._source import as_utf8

JSON = {".jsonl", ".ndjson"}
ENDINGS = {".csv", ".tsv", *JSON}
# What stands above texts, and above their names.
TEXTS = {"text", "texts", "body", "content", "document", "abstract", "message", "review"}
TEXTS |= {"comment", "description", "sentence", "summary"}
NAMES = ("id", "name", "title", "key", "doc_id", "document_id")
SAVE = "save it with a program that writes CSV"

Texts = tuple[list[str], list[str]]


def ending(path: Path) -> str:
    """Return the ending of a name, as if the file were not packed."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def texts_of_lines(path: Path, data: bytes) -> Texts:
    """Return the lines that are not blank; each is named by its number."""
    rows = as_utf8(path, data).decode().split("\n")
    kept = [(str(k), row.strip()) for k, row in enumerate(rows, start=1) if row.strip()]
    return [name for name, _ in kept], [row for _, row in kept]


def texts_of_table(path: Path, data: bytes, column: str | None) -> Texts:
    """Return a column of texts, with a column of names if there is one, else numbers from 1."""
    text = as_utf8(path, data)
    is_json = ending(path) in JSON or text.lstrip().startswith(b"{")
    columns = _of_json(path, text) if is_json else _of_csv(path, text)
    chosen = _chosen(path, list(columns), column)
    texts = columns[chosen]
    for name in NAMES:
        found = next((key for key in columns if key.strip().lower() == name), None)
        if found not in (None, chosen):
            names = columns[found]
            if all(names) and len({*names}) == len(names):
                return names, texts
    return [str(k + 1) for k in range(len(texts))], texts


def _chosen(path: Path, columns: list[str], column: str | None) -> str:
    if column is not None:
        if column in columns:
            return column
        problem = f"has no column {quoted(column)}"
    else:
        likely = [name for name in columns if name.strip().lower() in TEXTS]
        if len(likely) == 1 or len(columns) == 1:
            return (likely or columns)[0]
        problem = "which column holds the texts is not clear"
    shown = ", ".join(quoted(name) for name in columns[:8]) + ", ..." * (len(columns) > 8)
    remedy = Remedy("name it (column=)", "name it (--text-column)")
    raise bad(path, f"{problem}: it has {shown}", remedy)


def _of_csv(path: Path, text: bytes) -> dict[str, list[str]]:
    pandas = import_pandas(path)
    mark = _rows.delimiter(text.lstrip(b"\n")) or UNIT
    with filtered("error"):  # about lines that are longer than the first
        try:
            frame = pandas.read_csv(
                BytesIO(text),
                sep=mark.decode(),
                dtype=object,
                na_filter=False,
                index_col=False,
                skipinitialspace=True,
            )
        except (ValueError, Warning) as error:
            found = re.search(r"(?:line|at row) (\d+)", str(error))
            line = int(found[1]) if found else None
            problem = f"is not a valid table ({reason(error)})"
            raise bad(path, problem, SAVE, line=line) from None
    if not len(frame):
        raise bad(path, "a header, but no texts below it; give at least one")
    return {str(name): frame[name].tolist() for name in frame}


def _of_json(path: Path, text: bytes) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {}
    rows = 0
    for line, row in enumerate(BytesIO(text), start=1):
        if not row.strip():
            continue
        for key, value in _object(path, row, line).items():
            column = columns.setdefault(key, [])
            column.extend([""] * (rows - len(column)))
            column.append(_text(value))
        rows += 1
    for column in columns.values():
        column.extend([""] * (rows - len(column)))
    if not columns:
        raise bad(path, "holds no texts; give at least one")
    return columns


def _object(path: Path, row: bytes, line: int) -> dict[str, Any]:
    try:
        found = json.loads(row)
        if isinstance(found, dict):
            return found
        problem = "not an object, but in JSON lines every line is one"
    except (ValueError, RecursionError) as error:
        problem = f"is not valid JSON ({reason(error)})"
    raise bad(path, problem, 'write {"text": "..."} on every line', line=line)


def _text(value: Any) -> str:
    if value is None:
        return ""
    # Lone surrogates can be written in JSON, and nowhere else.
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode()
