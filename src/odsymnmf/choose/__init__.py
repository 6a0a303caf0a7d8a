"""How many clusters there are, and how far to trust that."""

from odsymnmf.choose.graphs import bethe_hessian, description_length
from odsymnmf.choose.result import NumberOfClusters
from odsymnmf.choose.search import n_clusters

__all__ = ["NumberOfClusters", "bethe_hessian", "description_length", "n_clusters"]
