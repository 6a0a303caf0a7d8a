"""Similarities, checked and ready to be factorized.

`cosine` and `gram` compare documents without forming the n x n matrix, `degree_normalized` takes
the advantage from well-connected items, and `as_similarity` checks what `factorize` would check,
once for many fits, and says what every pair weighs.
"""

from odsymnmf.problem import (
    Dense,
    Gram,
    Similarity,
    Sparse,
    as_similarity,
    cosine,
    degree_normalized,
    gram,
)

__all__ = [
    "Dense",
    "Gram",
    "Similarity",
    "Sparse",
    "as_similarity",
    "cosine",
    "degree_normalized",
    "gram",
]
