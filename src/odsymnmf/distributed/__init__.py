"""Fits of matrices that are distributed over the workers of Dask.

`odsymnmf.factorize` and `odsymnmf.ODSymNMF.fit` take a Dask array of similarities, dense or scipy
CSR, and ``affinity="cosine"`` one of documents; `from_edges` reads a Dask DataFrame of edges. The
workers of the current `dask.distributed.Client` share every sweep; without a client, the threads of
this machine do. The result is bit-identical to that of ``n_jobs`` on one machine.
"""

from odsymnmf.distributed.cluster import current_client as current_client
from odsymnmf.distributed.row_blocks import RowBlocks, from_edges
from odsymnmf.distributed.row_blocks import gathered as gathered

__all__ = ["RowBlocks", "from_edges"]
