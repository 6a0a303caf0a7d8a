"""Choose the number of clusters, with the evidence for it."""

from odsymnmf.choose.criteria import agreement, description_length
from odsymnmf.choose.result import NumberOfClusters
from odsymnmf.choose.search import n_clusters

__all__ = ["NumberOfClusters", "agreement", "description_length", "n_clusters"]
