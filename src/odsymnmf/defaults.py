"""What "auto" stands for: decided from the kind of input. docs/choices.md has the measurements.

Absolute errors are for binary similarities whose groups are nearly complete, as they are: there
"auto" is what the paper does. For squared errors A is divided by regularised degrees, memberships
are bounded by what a group of a fifth of the mean size would need, and the start is spectral.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from odsymnmf.init.arrays import as_sets
from odsymnmf.similarity import Dense, Similarity, Sparse
from odsymnmf.similarity.base import SimilaritySummary, inverse_sqrt
from odsymnmf.solvers.base import PairwiseLoss
from odsymnmf.solvers.losses import loss_class, names
from odsymnmf.solvers.objective import Scales
from odsymnmf.utils import Array, available_memory, bound

Kind = Literal["graph", "kernel", "documents", "signed"]

# t in d_i + t mean(d).
REGULAR: dict[Kind, float] = {"graph": 0.25, "kernel": 0.25, "signed": 0.25, "documents": 1.0}
# The rule of refine_labels.
REFINE: dict[Kind, Literal["links", "mean", "centroid"]] = {
    "graph": "links",
    "documents": "centroid",
    "signed": "mean",
}
LABELS = {
    "links": "refined",
    "mean": "refined by mean similarity",
    "centroid": "refined by mean similarity, then by cosine to the centroid",
    None: "largest membership",
}
# Similarities of which a larger share is not zero are no graph, however they are stored.
FULL = 0.5
# No group is smaller than six items (than n / r, where these are few), or a fifth of n / r.
FEWEST, SHARE = 6.0, 5.0
# Without normalisation, the greedy start is left to problems of so many items at most.
SMALL = 500
# Initializations of a sparse H, besides "multilevel", labels, sets and arrays.
SPARSE_INITIALIZATIONS = ("ego",)
# A dense H is slower by far beyond this number of clusters and entries. Multilevel initializations
# have one membership per item, so that a sparse H pays sooner.
MAX_DENSE_CLUSTERS, MAX_DENSE_MULTILEVEL, MAX_DENSE_ENTRIES = 500, 64, 2**24
# Copies of a dense H during a fit.
N_COPIES = 3


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
    refine : {"links", "mean", "centroid"} or None
        The rule by which the labels are refined, if they are.
    sparse : bool
        Whether memberships are kept by their non-zeros.
    """

    kind: Kind
    normalize: str | None
    regular: float | None
    upper: float | None
    init: Any
    refine: Literal["links", "mean", "centroid"] | None
    sparse: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as they can be written down."""
        return {
            "kind": self.kind,
            "normalize": self.normalize,
            "regularization": self.regular,
            "upper": self.upper,
            "init": self.init if isinstance(self.init, str) else "given",
            "labels": LABELS[self.refine],
        }


def kind_of(A: Similarity, seen: SimilaritySummary) -> Kind:
    """Say what kind of input A is; how it is stored does not matter, but for features."""
    if seen.has_negative:
        return "signed"
    if A.n_features is not None:
        return "documents"
    return "graph" if seen.density <= FULL else "kernel"


def suits_multilevel(
    A: Similarity, loss: type[PairwiseLoss], seen: SimilaritySummary | None = None
) -> bool:
    """Return whether "auto" is a multilevel initialization: l2 on graphs without weights."""
    if not (loss.auto_normalize and loss.supports_sparse_h) or A.weights.excess is not None:
        return False
    return A.max_value > 0 and kind_of(A, A.summary() if seen is None else seen) == "graph"


def decide(
    A: Similarity,
    r: int,
    *,
    loss: type[PairwiseLoss],
    normalize: Any,
    upper: Any,
    init: Any,
    seen: SimilaritySummary | None,
    sparse: bool = False,
) -> Settings:
    """Return the settings of a fit of r clusters to A, which is not yet scaled.

    Sparse memberships without a multilevel initialization have rules of their own: "auto" is A as
    it is, the bound that `factorize` chooses, and ego networks as initialization.
    """
    if normalize not in (None, "degree", "auto"):
        raise ValueError(f'normalize={normalize!r} is not known; use "auto", "degree" or None.')
    kind = kind_of(A, A.summary() if seen is None else seen)
    multilevel = isinstance(init, str) and init == "multilevel"
    scaled = loss.auto_normalize and (multilevel or not sparse)
    regular = REGULAR[kind] if scaled and normalize == "auto" else None
    if normalize == "auto":
        normalize = "degree" if scaled else None
    if isinstance(upper, str) and upper == "auto":
        upper = usual_upper(A.n, r) if scaled and normalize else None
    bound(upper)
    if isinstance(init, str) and init == "auto":
        init = "spectral" if scaled and normalize else usual_start(A, loss)
        init = "ego" if sparse else init
    refine = REFINE.get(kind) if regular is not None else None
    return Settings(kind, normalize, regular, upper, init, refine, sparse)


def usual_upper(n: int, r: int) -> float:
    """Return what "auto" bounds memberships in normalised similarities by."""
    size = n / r
    return float(1 / np.sqrt(max(min(FEWEST, size), size / SHARE)))


def usual_start(A: Similarity, loss: PairwiseLoss | type[PairwiseLoss]) -> str:
    """Return the start of a fit to similarities that are not normalised.

    The greedy one is the paper's, and absolute errors need it; its cost grows with the square of r,
    and on full matrices it is many sweeps' worth.
    """
    return "spectral" if loss.auto_normalize and A.n > SMALL else "greedy"


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
        return inverse_sqrt(sums + self.more)


def normalization(
    A: Similarity, settings: Settings, seen: SimilaritySummary | None
) -> Normalization | None:
    """Return how A is to be scaled, None if it is not."""
    if settings.normalize is None:
        return None
    if settings.regular is None:
        return Normalization(A.inverse_sqrt_degrees(), 0.0, absolute=False)
    d = (A.summary() if seen is None else seen).degrees
    more = settings.regular * float(d.mean())
    return Normalization(inverse_sqrt(d + more), more, absolute=True)


# Of the pairs inside clusters, so many are linked where groups are nearly complete.
NEARLY_COMPLETE = 0.8


def without_cluster(seen: SimilaritySummary | None, labels: Array) -> dict[str, str]:
    """Return why items are left without a cluster, under "unassigned", or nothing."""
    rest = labels < 0
    total = int(rest.sum())
    if total == 0 or seen is None:
        return {}
    alone = int((seen.degrees[rest] == 0).sum())
    reasons = [
        f"{alone} similar to no other item" if alone else "",
        f"{total - alone} whose similarities no cluster explains" if total > alone else "",
    ]
    return {"unassigned": ", ".join(filter(None, reasons))}


def hint(A: Similarity, seen: SimilaritySummary, scales: Scales, labels: Array) -> dict[str, str]:
    """Return what the user may want to try instead, under "hint", or nothing.

    Absolute errors are at their best where A is binary and clusters are nearly complete.
    """
    if scales.l1 > 0 or not seen.is_binary or seen.density == 1.0:
        return {}
    links, labels = A.to_csr(), labels.astype(np.int32)
    own = np.repeat(labels, np.diff(links.indptr))
    linked = float(np.count_nonzero((own >= 0) & (own == labels[links.indices])))
    sizes = np.bincount(labels[labels >= 0]).astype(np.float64)
    pairs = float(np.sum(sizes * (sizes - 1)))
    if pairs == 0 or linked / pairs < NEARLY_COMPLETE:
        return {}
    return {
        "hint": f"similarities are 0 or one value, and {100 * linked / pairs:.0f} % of the pairs "
        'inside clusters have it: loss="l1" is made for such groups with some entries wrong'
    }


# Items of a sample in which the triangle inequality is checked.
SAMPLE = 100


def warn_about_input(A: Similarity, r: Any) -> None:
    """Warn if no cluster can be found in A, if items are fewer than clusters, and of distances."""
    message = ""
    if A.weights.default == 0 and A.weights.excess is None:
        message = "every pair of items is unknown (NaN or weight 0): every item is unassigned"
    elif A.max_abs == 0:
        message = "all similarities of different items are 0: every item is unassigned"
    elif A.max_value <= 0:
        message = (
            "no similarity of different items is positive: every item is unassigned. Similar items "
            "need large similarities; of distances D, use exp(-D**2 / (2 * scale**2))"
        )
    elif isinstance(A, Dense) and _are_distances(A.A):
        message = (
            "A looks like distances (zero diagonal, triangle inequality), but similar items need "
            'large entries: use exp(-A**2 / (2 * scale**2)), or affinity="rbf" with the features'
        )
    elif isinstance(r, int | np.integer) and r > A.n:
        message = f"{r} clusters for {A.n} items: at least {r - A.n} clusters are empty"
    if message:
        warnings.warn(message, stacklevel=3)


def _are_distances(A: Array) -> bool:
    """Return whether the diagonal is zero and a sample satisfies the triangle inequality."""
    D = np.asarray(A[:SAMPLE, :SAMPLE], dtype=np.float64)
    off = D[~np.eye(len(D), dtype=bool)]
    # Where no entry exceeds twice another, the triangle inequality says nothing.
    if len(D) < 5 or np.diagonal(A).any() or not 0 < 2 * off.min() < off.max():
        return False
    shortest = np.min([D[:, [k]] + D[k] for k in range(len(D))], axis=0)
    return bool((shortest >= (1 - 1e-6) * D).all())


def resolve_sparse_membership(
    sparse_membership: Any, A: Similarity, r: int | None, *, loss: str, diagonal: str, init: Any
) -> bool:
    """Return whether H is to be sparse; ValueError where that is not possible.

    Parameters
    ----------
    sparse_membership : bool or "auto"
        "auto" is dense wherever possible: r is given, and is at most 500 (64 with
        ``init="multilevel"``) or n r at most 2^24, and the arrays fit into the memory that is
        available.
    A : Dense, Sparse or Gram
    r : int or None
        None for as many as the initialization finds.
    loss, diagonal, init
        As for `odsymnmf.factorize`.
    """
    if not (isinstance(sparse_membership, bool) or sparse_membership == "auto"):
        raise ValueError(
            f'sparse_membership={sparse_membership!r} is not known; use True, False or "auto".'
        )
    named = isinstance(init, str) and init in SPARSE_INITIALIZATIONS
    if sparse_membership is False:
        if r is None:
            raise ValueError(
                'r="auto" takes the number that an initialization of sparse memberships finds; '
                "give r, or leave sparse_membership=False out."
            )
        if named:
            raise ValueError(f'init="{init}" is for sparse_membership=True only.')
        return False
    reason = _refusal(A, loss, diagonal, init)
    if sparse_membership is True or r is None or named:
        if reason is not None:
            why = "sparse_membership=True" if sparse_membership is True else 'r="auto"'
            raise ValueError(f"{f'init={init!r}' if named else why} {reason}")
        return True
    # A dense array given as init fits into memory.
    full = not (isinstance(init, str) or issparse(init)) and as_sets(init, A.n, r) is None
    multilevel = isinstance(init, str) and init == "multilevel"
    return (
        reason is None
        and not full
        and _too_large(A, r, MAX_DENSE_MULTILEVEL if multilevel else MAX_DENSE_CLUSTERS)
    )


def _refusal(A: Similarity, loss: str, diagonal: str, init: Any) -> str | None:
    """Return why memberships cannot be sparse, None if they can."""
    if not isinstance(A, Sparse):
        remedy = "scipy.sparse.csr_array(A), if most similarities are zero"
        if A.n_features is not None:
            remedy = 'a graph of nearest neighbors, affinity="nearest_neighbors"'
        return f"needs similarities that are stored as a sparse matrix: pass {remedy}."
    if diagonal != "ignore":
        return "cannot fit the diagonal, which every column of H has a part in."
    if not loss_class(loss).supports_sparse_h:
        able = " and ".join(
            f'loss="{name}"' for name in names() if loss_class(name).supports_sparse_h
        )
        return f"is for {able}, not for loss={loss!r}."
    if isinstance(init, str) and init not in ("auto", "multilevel", *SPARSE_INITIALIZATIONS):
        known = ", ".join(repr(name) for name in ("multilevel", *SPARSE_INITIALIZATIONS))
        return f"cannot start from init={init!r}; use {known}, labels, sets or a CSR array."
    return None


def _too_large(A: Similarity, r: int, many: int) -> bool:
    if r > many and A.n * r > MAX_DENSE_ENTRIES:
        return True
    needed = N_COPIES * A.n * r * A.dtype.itemsize
    if needed < MAX_DENSE_ENTRIES:
        return False
    left = available_memory()
    return left is not None and needed > left
