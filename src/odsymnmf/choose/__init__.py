"""How many clusters there are, and how far to trust that."""

from odsymnmf.choose.graphs import bethe_hessian, description_length
from odsymnmf.choose.result import NumberOfClusters
from odsymnmf.choose.search import n_clusters
from odsymnmf.choose.stability import agreement

__all__ = ["NumberOfClusters", "agreement", "bethe_hessian", "description_length", "n_clusters"]
