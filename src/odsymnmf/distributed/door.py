"""What is to be computed where: on the workers of a client, or all of it here."""

import sys
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.distributed.blocks import RowBlocks, from_array
from odsymnmf.distributed.elsewhere import Elsewhere
from odsymnmf.distributed.elsewhere import looked_at as look


def current_client() -> Any:
    """Return the current client of dask.distributed, None if there is none.

    Examples
    --------
    >>> current_client() is None
    True
    """
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    try:
        client = Client.current()
    except ValueError:
        return None
    if client.asynchronous:
        raise ValueError(
            "the current client of Dask is asynchronous; make an ordinary one, Client(address), "
            "and call this in a thread of its own."
        )
    return client


def looked_at(client: Any, A: Any, *, affinity: str | None = None) -> Elsewhere:
    """Return what a client's workers will hold: similarities, or documents to be compared.

    Parameters
    ----------
    client : distributed.Client
    A : dask array or RowBlocks
    affinity : {"cosine"} or None
        None: A holds similarities.
    """
    if isinstance(A, RowBlocks):
        if affinity is not None:
            raise ValueError(f'edges are similarities; leave affinity="{affinity}" out.')
        return look(client, A)
    _refuse_others(A)
    return look(client, from_array(A, features=affinity is not None, cosine=affinity == "cosine"))


def gathered(A: Any) -> Any:
    """Return a dask array, or blocks of rows, as one matrix in this process.

    Parameters
    ----------
    A : dask array or RowBlocks

    Returns
    -------
    scipy.sparse.csr_array or ndarray
    """
    import dask

    if isinstance(A, RowBlocks):
        return A.compute()
    _refuse_others(A)
    rows = dask.compute(*(list(row) for row in A.to_delayed().tolist()))
    if any(sparse.issparse(piece) for row in rows for piece in row):
        return sparse.csr_array(sparse.vstack([sparse.hstack(row) for row in rows], format="csr"))
    return np.block([list(row) for row in rows])


def _refuse_others(A: Any) -> None:
    if not hasattr(A, "chunks"):
        raise ValueError(
            f"A is a {type(A).__name__} of Dask, not an array; for a table of links pass "
            "odsymnmf.distributed.from_edges(df), for features df.to_dask_array(lengths=True)."
        )
