"""Readers: a file in, items with their similarities out, or a clear error.

`read` knows edge lists, adjacency lists, tables, Matrix Market, NumPy, SciPy, parquet, GraphML,
GEXF, GML, Pajek and CLUTO files, compressed with gzip or not; `read_texts` folders, tables and
lines of texts, `read_labels` a table of clusters, `read_weights` the weights of pairs. Nothing is
ever unpickled or executed, and no more memory is set aside than the size of a file justifies.
"""

from odsymnmf.io._covers import read_cover
from odsymnmf.io._items import InputError, Items
from odsymnmf.io._read import FORMATS, read
from odsymnmf.io._texts import read_labels, read_texts
from odsymnmf.io._weights import read_weights

__all__ = [
    "FORMATS",
    "InputError",
    "Items",
    "read",
    "read_cover",
    "read_labels",
    "read_texts",
    "read_weights",
]
