"""What "auto" stands for: decided from the kind of input. docs/choices.md has the measurements.

Absolute errors are for binary similarities whose groups are nearly complete, as they are: there
"auto" is what the paper does. For squared errors A is divided by regularised degrees, memberships
are bounded by what a group of a fifth of the mean size would need, and the start is spectral.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Loss
from odsymnmf.options import bound
from odsymnmf.problem import (
    Outline,
    Similarity,
    inverse_root_degrees,
    inverse_roots,
    outline,
)

Kind = Literal["graph", "kernel", "documents", "signed"]

# t in d_i + t mean(d).
REGULAR: dict[Kind, float] = {"graph": 0.25, "kernel": 0.25, "signed": 0.25, "documents": 1.0}
# How labels settle.
SETTLED: dict[Kind, Literal["links", "mean"]] = {
    "graph": "links",
    "documents": "mean",
    "signed": "mean",
}
LABELS = {
    "links": "settled",
    "mean": "settled by mean similarity",
    None: "largest membership",
}
# Similarities of which a larger share is not zero are no graph, however they are stored.
FULL = 0.5
# No group is smaller than six items (than n / r, where these are few), or a fifth of n / r.
FEWEST, SHARE = 6.0, 5.0
# Without normalisation, the greedy start is left to problems of so many items at most.
SMALL = 500


@dataclass(frozen=True)
class Settings:
    """What a fit uses.

    Attributes
    ----------
    kind : {"graph", "kernel", "documents", "signed"}
        A sparse graph; similarities of most pairs; products of features that are >= 0;
        similarities of both signs.
    normalize : {"degree", None}
        Whether A_ij is divided by the roots of the degrees of i and j.
    regular : float or None
        t, if the degrees are sums of absolute values plus t times their mean.
    upper : float or None
        Upper bound on the entries of H.
    init : str or array
        The first start.
    settled : {"links", "mean"} or None
        How the labels that are read off H settle, if they do.
    sparse : bool
        Whether memberships are kept by their non-zeros.
    """

    kind: Kind
    normalize: str | None
    regular: float | None
    upper: float | None
    init: Any
    settled: Literal["links", "mean"] | None
    sparse: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as they can be written down."""
        return {
            "kind": self.kind,
            "normalize": self.normalize,
            "regularization": self.regular,
            "upper": self.upper,
            "init": self.init if isinstance(self.init, str) else "given",
            "labels": LABELS[self.settled],
        }


def kind_of(A: Similarity, seen: Outline) -> Kind:
    """Say what kind of input A is; how it is stored does not matter, but for features."""
    if seen.negative:
        return "signed"
    if A.n_features is not None:
        return "documents"
    return "graph" if seen.filled <= FULL else "kernel"


def decide(
    A: Similarity,
    r: int,
    *,
    loss: type[Loss],
    normalize: Any,
    upper: Any,
    init: Any,
    seen: Outline | None,
    sparse: bool = False,
) -> Settings:
    """Return the settings of a fit of r clusters to A, which is not yet scaled.

    Sparse memberships have rules of their own: "auto" is A as it is, the bound that `factorize`
    chooses, and sets of neighbours to start from.
    """
    if normalize not in (None, "degree", "auto"):
        raise ValueError(f'normalize={normalize!r} is not known; use "auto", "degree" or None.')
    kind = kind_of(A, outline(A) if seen is None else seen)
    scaled = loss.normalized and not sparse
    regular = REGULAR[kind] if scaled and normalize == "auto" else None
    if normalize == "auto":
        normalize = "degree" if scaled else None
    if isinstance(upper, str) and upper == "auto":
        upper = usual_upper(A.n, r) if scaled and normalize else None
    bound(upper)
    if isinstance(init, str) and init == "auto":
        init = "spectral" if scaled and normalize else usual_start(A, loss)
        init = "ego" if sparse else init
    settled = SETTLED.get(kind) if regular is not None else None
    return Settings(kind, normalize, regular, upper, init, settled, sparse)


def usual_upper(n: int, r: int) -> float:
    """Return what "auto" bounds memberships in normalised similarities by."""
    size = n / r
    return float(1 / np.sqrt(max(min(FEWEST, size), size / SHARE)))


def usual_start(A: Similarity, loss: Loss | type[Loss]) -> str:
    """Return the start of a fit to similarities that are not normalised.

    The greedy one is the paper's, and absolute errors need it; its cost grows with the square of r,
    and on full matrices it is many sweeps' worth.
    """
    return "spectral" if loss.normalized and A.n > SMALL else "greedy"


@dataclass(frozen=True)
class Normalization:
    """How similarities are scaled to s_i A_ij s_j, those of new items too.

    Attributes
    ----------
    roots : ndarray of shape (n,)
        s_i = 1 / sqrt(d_i + more).
    more : float
        What is added to every degree.
    absolute : bool
        Whether degrees are sums of absolute values.
    """

    roots: Array
    more: float
    absolute: bool

    def of_new(self, sums: Array) -> Array:
        """Return s for new items, from the sums of their similarities to the fitted ones."""
        return inverse_roots(sums + self.more)


def normalization(A: Similarity, settings: Settings, seen: Outline | None) -> Normalization | None:
    """Return how A is to be scaled, None if it is not."""
    if settings.normalize is None:
        return None
    if settings.regular is None:
        return Normalization(inverse_root_degrees(A), 0.0, absolute=False)
    d = (outline(A) if seen is None else seen).degrees
    more = settings.regular * float(d.mean())
    return Normalization(inverse_roots(d + more), more, absolute=True)
