"""The three kinds of similarities: stored in full, sparse, or products of features.

All have the same methods, so that nobody else asks which it is. A pair that is not known holds a
zero here, and its weight says the rest (`Weights`).
"""

from odsymnmf.problem.dense import Dense
from odsymnmf.problem.features import Gram
from odsymnmf.problem.sparse import Sparse

__all__ = ["Dense", "Gram", "Similarity", "Sparse"]

Similarity = Dense | Sparse | Gram
