"""Readers of files: items with their similarities or features, texts, labels and weights.

`read` reads edge lists, adjacency lists, tables, Matrix Market, NumPy, SciPy, parquet, GraphML,
GEXF, GML and Pajek files, compressed or not; `read_texts` folders, tables and lines of texts,
`read_labels` a table of clusters, `read_cover` overlapping clusters, `read_weights` the weights of
pairs. Nothing is unpickled or executed.
"""

from odsymnmf.inputs import Dataset
from odsymnmf.io.dataset import FORMATS, InputError, read
from odsymnmf.io.texts import read_cover, read_labels, read_texts
from odsymnmf.io.weights import read_weights

__all__ = [
    "FORMATS",
    "Dataset",
    "InputError",
    "read",
    "read_cover",
    "read_labels",
    "read_texts",
    "read_weights",
]
