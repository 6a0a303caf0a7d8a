"""Fits of matrices that are on several machines: the same rounds on the workers of Dask.

`odsymnmf.factorize` and `odsymnmf.ODSymNMF.fit` take a dask array of similarities in blocks of
rows, full or scipy CSR, and ``affinity="cosine"`` one of documents; `from_edges` makes blocks of
rows from a dask DataFrame of links. With a current `dask.distributed.Client`, its workers share
every sweep; without one, the threads of this machine do. The result is the same, to the bit, as
that of ``n_jobs`` on one machine.
"""

from odsymnmf.distributed.blocks import RowBlocks
from odsymnmf.distributed.door import current_client as current_client
from odsymnmf.distributed.door import gathered as gathered
from odsymnmf.distributed.door import looked_at as looked_at
from odsymnmf.distributed.edges import from_edges

__all__ = ["RowBlocks", "from_edges"]
