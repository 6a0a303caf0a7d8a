"""What the sweeps may ask of A: its size, its rows, its products. Never its diagonal.

`as_similarity` turns an array or a sparse matrix into `Dense` or `Sparse`; `cosine` and `gram`
make a `Gram` of documents, whose n x n matrix is never formed.
"""

from odsymnmf.similarity.checks import as_similarity, refuse_other_kinds
from odsymnmf.similarity.kinds import (
    BLOCK,
    BLOCK_ENTRIES,
    Dense,
    Gram,
    Similarity,
    Sparse,
    blocks,
    pair_squares,
)
from odsymnmf.similarity.made import (
    cosine,
    degree_normalized,
    gram,
    inverse_root_degrees,
    inverse_roots,
    scaled,
)

__all__ = [
    "BLOCK",
    "BLOCK_ENTRIES",
    "Dense",
    "Gram",
    "Similarity",
    "Sparse",
    "as_similarity",
    "blocks",
    "cosine",
    "degree_normalized",
    "gram",
    "inverse_root_degrees",
    "inverse_roots",
    "pair_squares",
    "refuse_other_kinds",
    "scaled",
]
