"""Values of "auto", decided from the kind of input; docs/choices.md has the measurements.

Absolute errors are for binary similarities whose groups are nearly complete: there, "auto" is the
method of the paper. For squared errors, A is divided by regularized degrees, memberships are at
most those in a group of a fifth of the mean size, and the initialization is a partition (graphs)
or spectral.
"""

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.sparse import issparse

from odsymnmf.init.arrays import as_sets
from odsymnmf.similarity import Dense, Similarity, Sparse
from odsymnmf.similarity.base import Kind, inverse_sqrt
from odsymnmf.solvers.losses import loss_class, names
from odsymnmf.utils import Array, available_memory, user_stacklevel

if TYPE_CHECKING:
    from odsymnmf.fit import FitOptions

# t in d_i + t mean(d).
ADDED_DEGREE: dict[Kind, float] = {"graph": 0.25, "kernel": 0.25, "signed": 0.25, "documents": 1.0}
# The rule of refine_labels.
REFINEMENT: dict[Kind, Literal["links", "mean", "centroid"]] = {
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
# The bound on H allows groups of at least six items (n / r if less), and of a fifth of n / r.
MIN_GROUP_SIZE, MEAN_PER_MIN_SIZE = 6.0, 5.0
# Without normalization, "auto" is the paper's greedy initialization up to this number of items, and
# for absolute errors; its cost grows with r^2, and for dense A it takes as long as many sweeps.
MAX_GREEDY = 500
# With more clusters and more entries, a dense H is much slower. Multilevel initializations have one
# membership per item, so that a sparse H is faster for fewer clusters already.
MAX_DENSE_CLUSTERS, MAX_DENSE_MULTILEVEL, MAX_DENSE_ENTRIES = 500, 64, 2**24
# Copies of a dense H during a fit.
N_COPIES = 3
# Clusters count as nearly complete if at least this fraction of the pairs inside are linked.
NEARLY_COMPLETE = 0.8


@dataclass(frozen=True)
class Normalization:
    """Scaling of similarities to s_i A_ij s_j, for new items, too.

    Attributes
    ----------
    roots : ndarray of shape (n,)
        s_i = 1 / sqrt(d_i + added).
    added : float
        The constant that is added to every degree.
    absolute : bool
        Whether degrees are sums of absolute values.
    """

    roots: Array
    added: float
    absolute: bool

    def of_new(self, sums: Array) -> Array:
        """Return s for new items, from the sums of their similarities to the fitted ones."""
        return inverse_sqrt(sums + self.added)


@dataclass(frozen=True)
class Settings:
    """The options that "auto" stands for.

    Attributes
    ----------
    normalization : Normalization or None
        The scaling by degrees, None if A itself is fitted.
    regularization : float or None
        t, if the degrees are sums of absolute values plus t times their mean.
    upper : float or None
        Upper bound on the entries of H.
    init : str or array
        The initialization.
    refine : {"links", "mean", "centroid"} or None
        The rule by which labels are refined, None if they are not.
    sparse : bool
        Whether H is stored sparse.
    """

    normalization: Normalization | None
    regularization: float | None
    upper: float | None
    init: Any
    refine: Literal["links", "mean", "centroid"] | None
    sparse: bool = False


def decide(A: Similarity, r: int | None, options: "FitOptions") -> Settings:
    """Return the settings of a fit of r clusters to A, before it is normalized.

    For sparse memberships without a multilevel initialization, "auto" means no normalization, the
    bound of `factorize`, and ego networks as initialization. Labels of a fit on Dask are not
    refined.
    """
    loss, init = options.loss_class, options.init
    normalize, upper = options.normalize, options.upper
    auto = isinstance(init, str) and init == "auto"
    kind = A.summary.kind if auto or normalize is not None else None
    large = normalize is not None or A.n > MAX_GREEDY
    if auto and large and r is not None and options.sparse_membership is not True:
        unweighted_l2 = loss.auto_normalize and loss.supports_sparse_h and A.weights.excess is None
        if unweighted_l2 and kind == "graph" and A.max_value > 0:
            init = "multilevel"
    multilevel = isinstance(init, str) and init == "multilevel"
    if multilevel and r is None:
        raise ValueError('init="multilevel" needs the number of clusters; give r.')
    is_sparse = stores_sparse(A, r, replace(options, init=init))
    scaled = loss.auto_normalize and (multilevel or not is_sparse)
    regularization = ADDED_DEGREE[kind] if scaled and kind and normalize == "auto" else None
    scaling = None
    if regularization is not None:
        d = A.summary.degrees
        added = regularization * float(d.mean())
        scaling = Normalization(inverse_sqrt(d + added), added, absolute=True)
    elif normalize == "degree":
        scaling = Normalization(A.inverse_sqrt_degrees(), 0.0, absolute=False)
    if isinstance(upper, str):
        upper = None
        if scaled and scaling and r:
            size = A.n / r
            smallest = max(min(MIN_GROUP_SIZE, size), size / MEAN_PER_MIN_SIZE)
            upper = float(1 / np.sqrt(smallest))
    if auto and not multilevel:
        init = "spectral" if loss.auto_normalize and (scaling or A.n > MAX_GREEDY) else "greedy"
        init = "ego" if is_sparse else init
    refine = None
    if kind is not None and regularization is not None and isinstance(A, Similarity):
        refine = REFINEMENT.get(kind)
    return Settings(scaling, regularization, upper, init, refine, is_sparse)


def remarks(A: Similarity, labels: Array, *, may_suit_l1: bool) -> dict[str, str]:
    """Return why items have no cluster, under "unassigned"; a hint to use l1, under "hint".

    l1 suits a binary A whose clusters are nearly complete.
    """
    notes, n_unassigned, summary = {}, int(np.count_nonzero(labels < 0)), A.summary
    if may_suit_l1 and summary.is_binary and summary.density < 1.0:
        links, labels = A.to_csr(), labels.astype(np.int32)
        group = np.repeat(labels, np.diff(links.indptr))
        linked = float(np.count_nonzero((group >= 0) & (group == labels[links.indices])))
        sizes = np.bincount(labels[labels >= 0]).astype(np.float64)
        pairs = float(np.sum(sizes * (sizes - 1)))
        if pairs > 0 and linked / pairs >= NEARLY_COMPLETE:
            notes["hint"] = (
                f"similarities are 0 or one value, and {100 * linked / pairs:.0f} % of the pairs "
                'inside clusters have it: loss="l1" suits such groups'
            )
    if n_unassigned > 0:
        n_isolated = int((summary.degrees[labels < 0] == 0).sum())
        reasons = [f"{n_isolated} similar to no other item"] if n_isolated else []
        if n_unassigned > n_isolated:
            reasons.append(f"{n_unassigned - n_isolated} whose similarities no cluster explains")
        notes["unassigned"] = ", ".join(reasons)
    return notes


# Items of a sample in which the triangle inequality is checked.
N_DISTANCE_ITEMS = 100


def warn_about_input(A: Similarity, r: Any) -> None:
    """Warn if A has no clusters or looks like distances, or if r exceeds the number of items."""
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
        warnings.warn(message, stacklevel=user_stacklevel())


def _are_distances(A: Array) -> bool:
    """Return whether the diagonal is zero and roots of a sample satisfy the triangle inequality.

    Those of distances do, and those of squared Euclidean and of cosine distances.
    """
    D = np.sqrt(np.maximum(A[:N_DISTANCE_ITEMS, :N_DISTANCE_ITEMS], 0), dtype=np.float64)
    off = D[~np.eye(len(D), dtype=bool)]
    # If no entry exceeds twice another, the triangle inequality always holds.
    if len(D) < 5 or np.diagonal(A).any() or not 0 < 2 * off.min() < off.max():
        return False
    shortest = np.min([D[:, [k]] + D[k] for k in range(len(D))], axis=0)
    return bool((shortest >= (1 - 1e-6) * D).all())


def stores_sparse(A: Similarity, r: int | None, options: "FitOptions") -> bool:
    """Return whether H is stored sparse; ValueError where that is not possible.

    ``sparse_membership="auto"`` is dense wherever possible: r is given, and is at most 500 (64 with
    ``init="multilevel"``) or n r at most 2^24, and the arrays fit into the memory available.
    """
    name = options.init if isinstance(options.init, str) else None
    if options.sparse_membership is False:
        if r is None:
            raise ValueError(
                'r="auto" takes the number that an initialization of sparse memberships finds; '
                "give r, or leave sparse_membership=False out."
            )
        if name == "ego":
            raise ValueError('init="ego" is for sparse_membership=True only.')
        return False
    if options.sparse_membership is True or r is None or name == "ego":
        reason = why_not_sparse(A, options.loss, options.diagonal, options.init)
        if reason is not None:
            why = "sparse_membership=True" if options.sparse_membership is True else 'r="auto"'
            raise ValueError(f"{'init=' + repr(name) if name == 'ego' else why} {reason}")
        return True
    max_clusters = MAX_DENSE_MULTILEVEL if name == "multilevel" else MAX_DENSE_CLUSTERS
    if r <= max_clusters or A.n * r <= MAX_DENSE_ENTRIES:
        size = N_COPIES * A.n * r * A.dtype.itemsize
        available = available_memory() if size >= MAX_DENSE_ENTRIES else None
        if available is None or size <= available:
            return False
    if name is None and not issparse(options.init) and as_sets(options.init, A.n, r) is None:
        return False  # an array given as init fits into memory
    return why_not_sparse(A, options.loss, options.diagonal, options.init) is None


def why_not_sparse(A: Similarity, loss: str, diagonal: str, init: Any = "auto") -> str | None:
    """Return why memberships cannot be sparse, None if they can."""
    if not isinstance(A, Sparse):
        remedy = "scipy.sparse.csr_array(A), if most similarities are zero"
        if A.n_features is not None:
            remedy = 'a graph of nearest neighbors, affinity="nearest_neighbors"'
        return f"needs similarities that are stored as a sparse matrix: pass {remedy}."
    if diagonal != "ignore":
        return "cannot fit the diagonal, to which all columns of H contribute."
    if not loss_class(loss).supports_sparse_h:
        supported = [f'loss="{name}"' for name in names() if loss_class(name).supports_sparse_h]
        return f"is for {' and '.join(supported)}, not for loss={loss!r}."
    if isinstance(init, str) and init not in ("auto", "multilevel", "ego"):
        return (
            f"cannot start from init={init!r}; use 'multilevel', 'ego', labels, sets or a CSR "
            "array."
        )
    return None
