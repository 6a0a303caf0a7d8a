"""What is to be explained: similarities behind one protocol, and what every pair weighs.

`as_similarity` turns an array or a sparse matrix into `Dense` or `Sparse`; `cosine` and `gram`
make a `Gram` of documents, whose n x n matrix is never formed. No other room asks how A is stored:
they ask for its size, its products, its rows and who must learn of a change. Never its diagonal.
"""

from odsymnmf.problem.checks import as_similarity
from odsymnmf.problem.closed_forms import pair_squares, weighted_product
from odsymnmf.problem.kinds import Dense, Gram, Similarity, Sparse
from odsymnmf.problem.looks import Outline, outline
from odsymnmf.problem.made import (
    cosine,
    degree_normalized,
    degrees,
    gram,
    inverse_root_degrees,
    inverse_roots,
)
from odsymnmf.problem.parts import subset
from odsymnmf.problem.stored import copied, fingerprint, put_together, taken_apart
from odsymnmf.problem.weights import without_diagonal_entries

__all__ = [
    "Dense",
    "Gram",
    "Outline",
    "Similarity",
    "Sparse",
    "as_similarity",
    "copied",
    "cosine",
    "degree_normalized",
    "degrees",
    "fingerprint",
    "gram",
    "inverse_root_degrees",
    "inverse_roots",
    "outline",
    "pair_squares",
    "put_together",
    "subset",
    "taken_apart",
    "weighted_product",
    "without_diagonal_entries",
]
