"""Clustering on the workers of a Dask scheduler, for the option --scheduler."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from odsymnmf import io
from odsymnmf.io._graph import UNWEIGHTED
from odsymnmf.io._header import edge_columns, has_ends, left_out
from odsymnmf.io._items import bad, numbered

EXTRA = "pip install 'odsymnmf[distributed]'"
# Seconds after which nobody answers.
PATIENCE = 10


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Be a client of a scheduler for a while."""
    try:
        from distributed import Client
    except ImportError:
        raise click.ClickException(f"--scheduler needs Dask; install it with {EXTRA}") from None
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise click.ClickException(
            f"no Dask scheduler answers at {address}: {error}; start one with dask scheduler, and "
            "give the address that it prints"
        ) from None
    with client:
        yield client


def read_links(path: str, symmetrize: str | None) -> tuple[Any, str]:
    """Return the links of a parquet file, or of a folder of such files, and their SHA-256.

    The table stays on the workers, which must see the same path.
    """
    from odsymnmf.distributed import from_edges

    place = Path(path).resolve()
    files = sorted(place.rglob("*.parquet")) if place.is_dir() else [place]
    if not files or not files[0].exists():
        raise bad(place, "holds no parquet file", "give one, or a folder of some")
    digest = hashlib.sha256()
    for file in files:
        with open(file, "rb") as content:
            digest.update(hashlib.file_digest(content, "sha256").digest())
    try:
        import dask.dataframe as dd

        table = dd.read_parquet(str(place))
    except ImportError:
        raise click.ClickException(f"--scheduler needs Dask; install it with {EXTRA}") from None
    except (OSError, ValueError) as error:
        raise bad(place, f"is no sound parquet file ({error})") from None
    top = [str(name) for name in table.columns]
    named = edge_columns(top)
    if named is None and not has_ends(top) and len(top) not in (2, 3):
        raise bad(place, f"{len(top)} columns, none called source or target", "name two so")
    ends, weight = (named.ends, named.weight) if named else ([0, 1], [2][: len(top) - 2])
    try:
        source, target = (top[k] for k in ends)
        A = from_edges(
            table, source, target, top[weight[0]] if weight else None, symmetrize=symmetrize
        )
    except ValueError as error:
        raise bad(place, str(error).replace("symmetrize=", "--symmetrize ")) from None
    notes = left_out(top, {*ends, *weight}) + ([] if weight else [UNWEIGHTED])
    names = numbered(A.n) if A.names is None else [str(name) for name in A.names]
    return io.Items(A, names, "parquet", notes), digest.hexdigest()
