"""Parquet: an edge list in columns, read by pyarrow a piece at a time."""

from pathlib import Path
from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.io._edges import compact
from odsymnmf.io._graph import UNWEIGHTED, from_list
from odsymnmf.io._header import edge_columns, has_ends, left_out
from odsymnmf.io._items import InputError, Items, bad, quoted, reason
from odsymnmf.io._source import UNPACK_RATIO, refuse_promise

# Rows that are read at a time.
ROWS = 2**16
COLUMNS = "name two columns source and target, and the weights weight"


def read_parquet(path: Path, data: bytes, symmetrize: str | None) -> Items:
    """Return the graph of an edge list; its columns are found by name, or are the first two."""
    table, top = _table(path, data)
    named = edge_columns(top)
    if named is None and not has_ends(top) and len(top) not in (2, 3):
        raise bad(path, f"{len(top)} columns, none called source or target; {COLUMNS}")
    ends, weight = (named.ends, named.weight) if named else ([0, 1], [2][: len(top) - 2])
    weights = [_numbers(path, table.column(k), top[k]) for k in weight]
    i, j, names = _ends(path, [table.column(k) for k in ends], [top[k] for k in ends])
    notes = left_out(top, {*ends, *weight}) + ([] if weight else [UNWEIGHTED])
    edges = i, j, weights[0] if weight else np.ones(len(i))
    matrix, more = from_list(path, edges, names, symmetrize, lambda i, j: None)
    return Items(matrix, names, "parquet", notes + more)


def _table(path: Path, data: bytes) -> tuple[Any, list[str]]:
    """Return the file, within bounds: a few bytes can stand for any number of equal rows."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        extra = "pip install 'odsymnmf[parquet]'"
        raise bad(path, f"needs pyarrow; install it with {extra}") from None
    try:
        file = parquet.ParquetFile(
            pyarrow.BufferReader(data),
            thrift_string_size_limit=len(data),
            thrift_container_size_limit=len(data),
        )
        schema = file.schema_arrow
        flat = [field for field in schema if not pyarrow.types.is_nested(field.type)]
        top = [field.name for field in flat]
        rows = file.metadata.num_rows
        refuse_promise(path, rows, len(top), UNPACK_RATIO * len(data))
        batches = []
        for batch in file.iter_batches(ROWS, columns=top, use_threads=False):
            batch.validate(full=True)  # texts that are UTF-8, places that exist
            batches.append(batch)
            if sum(map(len, batches)) > rows or sum(b.nbytes for b in batches) > 2**31:
                raise pyarrow.ArrowInvalid("more rows than it announces")
        return pyarrow.Table.from_batches(batches, pyarrow.schema(flat)), top
    except InputError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        problem = f"is not a valid parquet file ({reason(error)})"
        raise bad(path, problem, "save it again with DataFrame.to_parquet") from None


def _numbers(path: Path, column: Any, name: str) -> Array:
    import pyarrow

    kind = column.type
    if not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
        raise bad(path, f"the column {quoted(name)} holds {kind}; save the weights as numbers")
    # A null becomes NaN: an unknown pair.
    return np.array(column.cast(pyarrow.float64()).to_numpy(), dtype=np.float64)


def _ends(path: Path, columns: list[Any], names: list[str]) -> tuple[Array, Array, list[str]]:
    import pyarrow

    for column, name in zip(columns, names, strict=True):
        if column.null_count:
            raise bad(path, f"the column {quoted(name)} has rows without a name; drop them")
        if not len(column):
            raise bad(path, "columns, but no edges in them; give at least one")
    if all(pyarrow.types.is_integer(column.type) for column in columns):
        i, j = (np.array(column.to_numpy()) for column in columns)
        if min(i.min(), j.min()) < 0:
            raise bad(path, "an id is negative; number the items from 0 or 1, or give them names")
        if max(i.max(), j.max()) < 10**18:
            return compact(path, i.astype(np.int64), j.astype(np.int64))
    # Interleaved, so that names are numbered as they appear, row by row.
    texts = [column.cast(pyarrow.string()).to_pylist() for column in columns]
    index: dict[str, int] = {}
    both = np.array(
        [index.setdefault(x, len(index)) for row in zip(*texts, strict=True) for x in row]
    )
    i, j = both.reshape(-1, 2).T
    return i, j, list(index)
