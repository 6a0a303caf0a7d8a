"""What the functions on memberships ask of their arguments, and how they give names back."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Scales, make_loss
from odsymnmf.inputs import is_frame
from odsymnmf.problem import Similarity, as_similarity


def as_memberships(H: ArrayLike) -> Array:
    """Return H as an array of two dimensions."""
    if hasattr(H, "membership_"):
        raise ValueError("H is a fitted model; pass its memberships, model.membership_.")
    H = np.asarray(H)
    if H.ndim != 2:
        raise ValueError(f"H must have shape (n, r); got {H.shape}.")
    return H


def refuse_sparse(H: Any, name: str) -> None:
    """Refuse sparse memberships where a function needs an array of n x r."""
    if sparse.issparse(H):
        raise ValueError(
            f"{name} makes arrays of n x r, which sparse memberships are there to avoid; use "
            "labels(H), or H.toarray() if that fits into memory."
        )


def similarity_of(A: Any, H: Any) -> Similarity:
    """Return A as a similarity of the items of H."""
    if A is None:
        raise ValueError("the similarities that H was fitted to are needed: pass A.")
    similarity = as_similarity(A)
    if similarity.n != H.shape[0]:
        raise ValueError(f"A is of {similarity.n} items, but H has {H.shape[0]} rows.")
    return similarity


def scales_of(loss: str | Scales, A: Similarity) -> Scales:
    """Return how much of l1 and l2 a loss has."""
    if isinstance(loss, Scales):
        return loss
    return make_loss(loss, A, np.inf).scales


def like(H: Any, values: Array) -> Any:
    """Return values of the items as a Series or DataFrame, where H is a DataFrame."""
    if not is_frame(H):
        return values
    if values.ndim == 2:
        return type(H)(values, index=H.index, columns=H.columns)
    return H.iloc[:, :0].assign(cluster=values)["cluster"]
