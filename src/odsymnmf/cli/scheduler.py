"""Clustering on the workers of a Dask scheduler, for the option --scheduler."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from odsymnmf import io
from odsymnmf.io.symmetrize import UNWEIGHTED
from odsymnmf.io.text import column_messages, edge_columns


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a scheduler."""
    try:
        from distributed import Client
    except ImportError:
        raise click.ClickException(
            "--scheduler needs Dask; install it with pip install 'odsymnmf[distributed]'"
        ) from None
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise click.ClickException(
            f"no Dask scheduler at {address}: {error}; start one with dask scheduler and pass the "
            "address that it prints"
        ) from None
    with client:
        yield client


def read_edges(
    path: str,
    *,
    symmetrize: str | None = None,
    columns: list[str] | None = None,
    weight_column: str | None = None,
) -> io.Dataset:
    """Return the edges in a parquet file, or in a folder of such files.

    The workers read them, from the same path.
    """
    from odsymnmf.distributed import from_edges

    place = Path(path).resolve()
    try:
        import dask.dataframe as dd

        table = dd.read_parquet(str(place))
        names = [str(name) for name in table.columns]
        numeric = [kind.kind in "biuf" for kind in table.dtypes]
        used = edge_columns(names, numeric, columns, weight_column)
        source, target = (names[k] for k in used.ends)
        weight = None if used.weight is None else names[used.weight]
        A = from_edges(table, source, target, weight, symmetrize=symmetrize)
    except (IndexError, OSError, ValueError) as error:
        raise io.InputError(f"{place}: {error}") from None
    messages = column_messages(names, used) + ([UNWEIGHTED] if weight is None else [])
    items = [str(name) for name in (range(A.n) if A.names is None else A.names)]
    return io.Dataset(A, items, "parquet", messages)
