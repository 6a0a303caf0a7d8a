"""Large files through pyarrow, where it is installed: faster than pandas, above all before 3.1."""

from typing import Any

import numpy as np

from odsymnmf import kernels
from odsymnmf.arrays import Array

# A smaller file is read before pyarrow is imported.
LARGE = 2**22
# Bytes that one thread reads at a time.
BLOCK = 2**23


def columns(
    body: bytes,
    start: int,
    delimiter: bytes | None,
    width: int,
    texts: list[int],
    numbers: list[int],
    missing: list[str],
    *,
    ids: bool,
    over_lines: bool,
) -> tuple[list[Array], list[str], Array] | None:
    """Return what `Sheet.read` returns, from byte ``start`` on; names may go ``over_lines``.

    None if the file is small, if pyarrow is not installed, or if it refuses the file: then pandas
    reads it.
    """
    if len(body) < LARGE or delimiter is None or start == len(body):
        return None
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        return None
    kind = pyarrow.int64() if ids else pyarrow.string()
    types = dict.fromkeys(texts, kind) | dict.fromkeys(numbers, pyarrow.float64())
    try:
        table = csv.read_csv(
            pyarrow.BufferReader(pyarrow.py_buffer(body).slice(start)),
            csv.ReadOptions(block_size=BLOCK, column_names=[str(k) for k in range(width)]),
            # Only if it must: to cut the text for threads takes longer then.
            csv.ParseOptions(delimiter=delimiter.decode(), newlines_in_values=over_lines),
            csv.ConvertOptions(
                column_types={str(k): kind for k, kind in types.items()},
                include_columns=[str(k) for k in types],
                null_values=missing,
                check_utf8=False,  # `as_utf8` has done so
            ),
        )
    except (pyarrow.ArrowException, ValueError):
        return None
    found = [table.column(str(k)) for k in texts]
    if not table.num_rows or any(column.null_count for column in found):
        return None
    values = np.empty((table.num_rows, len(numbers)))
    for place, k in enumerate(numbers):
        values[:, place] = table.column(str(k)).to_numpy()
    if ids:
        return [column.to_numpy() for column in found], [], values
    return *_encoded(found), values


def _encoded(columns: list[Any]) -> tuple[list[Array], list[str]]:
    """Number the texts in some columns in the order in which they appear, line by line."""
    import pyarrow

    # All are looked up in one table, one column after the other.
    chunks = [chunk for column in columns for chunk in column.chunks]
    parts = pyarrow.chunked_array(chunks, pyarrow.string()).dictionary_encode().chunks
    codes = np.concatenate([part.indices.to_numpy() for part in parts]).reshape(len(columns), -1)
    texts = parts[0].dictionary
    if len(columns) > 1:
        rank = np.full(len(texts), -1, dtype=np.int32)
        order = np.empty_like(rank)
        kernels.appearance.by_lines(codes, rank, order)
        texts = texts.take(pyarrow.array(order))
    return [*codes], texts.to_pylist()
