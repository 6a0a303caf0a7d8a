"""Where similarities come from: of the items to each other, and of new items to them."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors

from odsymnmf.defaults import Normalization, Settings, normalization
from odsymnmf.similarity import Similarity, as_similarity, cosine
from odsymnmf.similarity.base import SimilaritySummary

Affinity = Literal["precomputed", "cosine", "rbf", "nearest_neighbors"] | Callable[..., Any]


class Precomputed:
    """The similarities themselves are given.

    Other kinds differ in what is similar, and in their ``reference``: what the similarities of new
    items need of the fitted ones.
    """

    def among(self, X: Any) -> tuple[Any, Any]:
        """Return the similarities of the items to each other, and the reference."""
        return X, None

    def to(self, reference: Any, X: Any) -> Any:
        """Return the similarities of new items to the fitted ones."""
        return X

    def to_arrays(self, reference: Any) -> dict[str, Any]:
        """Return the reference as named arrays."""
        return {} if reference is None else {"reference": reference}

    def from_arrays(self, arrays: dict[str, Any]) -> Any:
        """Return the reference."""
        return arrays.get("reference")


class Cosine(Precomputed):
    """Cosines of rows."""

    def among(self, X: Any) -> tuple[Any, Any]:
        """Return the similarities of the items to each other, and the reference."""
        A = cosine(X)
        return A, A.X

    def to(self, reference: Any, X: Any) -> Any:
        """Return the similarities of new items to the fitted ones."""
        return cosine(X).X @ reference.T


class Kernel(Precomputed):
    """A function of the rows of X and of those of Y."""

    def __init__(self, kernel: Callable[..., Any]):
        self.kernel = kernel

    def among(self, X: Any) -> tuple[Any, Any]:
        """Return the similarities of the items to each other, and the reference."""
        return self.kernel(X, X), X.copy()  # so that new items are compared with what was fitted

    def to(self, reference: Any, X: Any) -> Any:
        """Return the similarities of new items to the fitted ones."""
        return self.kernel(X, reference)


class Nearest(Precomputed):
    """1 where one of two items is among the nearest of the other."""

    def __init__(self, most: int, n_jobs: int | None):
        self.most, self.n_jobs = most, n_jobs

    def among(self, X: Any) -> tuple[Any, Any]:
        """Return the similarities of the items to each other, and the reference."""
        reference = self._nearest(min(self.most, X.shape[0] - 1), X.copy())
        links = reference.kneighbors_graph()
        return links.maximum(links.T), reference

    def to(self, reference: Any, X: Any) -> Any:
        """Return the similarities of new items to the fitted ones."""
        return reference.kneighbors_graph(X)

    def to_arrays(self, reference: Any) -> dict[str, Any]:
        """Return the reference as named arrays."""
        return {"reference": reference._fit_X, "n_neighbors": reference.n_neighbors}

    def from_arrays(self, arrays: dict[str, Any]) -> Any:
        """Return the reference."""
        return self._nearest(int(arrays["n_neighbors"]), arrays["reference"])

    def _nearest(self, most: int, X: Any) -> NearestNeighbors:
        return NearestNeighbors(n_neighbors=most, n_jobs=self.n_jobs).fit(X)


# name: the kind, with the options of an estimator.
KINDS: dict[str, Callable[[Any], Precomputed]] = {
    "precomputed": lambda options: Precomputed(),
    "cosine": lambda options: Cosine(),
    "rbf": lambda options: Kernel(partial(rbf_kernel, gamma=options.gamma)),
    "nearest_neighbors": lambda options: Nearest(options.n_neighbors, options.n_jobs),
}
AFFINITIES = tuple(KINDS)


def _kind(options: Any) -> Precomputed:
    affinity = options.affinity
    return Kernel(affinity) if callable(affinity) else KINDS[affinity](options)


class Affinities:
    """What is known of fitted items, so that the similarities of new items to them can be told.

    Attributes
    ----------
    given : bool
        Whether similarities are given, not features.
    normalization : Normalization or None
        How those of new items are scaled.
    """

    def __init__(self, estimator: Any, reference: Any, normalization: Normalization | None):
        self.kind, self.reference = _kind(estimator), reference
        self.given = not callable(estimator.affinity) and estimator.affinity == "precomputed"
        self.normalization = normalization

    @classmethod
    def of_items(cls, estimator: Any, X: Any, weights: Any) -> tuple["Affinities", Similarity]:
        """Return what new items need, and the similarities of the items, after the affinity."""
        found, reference = _kind(estimator).among(X)
        return cls(estimator, reference, None), as_similarity(found, weights, estimator.zero_weight)

    def normalized(self, A: Similarity, settings: Settings, seen: SimilaritySummary) -> Similarity:
        """Return what is to be fitted; similarities of new items will be scaled as it is."""
        how = self.normalization = normalization(A, settings, seen)
        return A if how is None else A.scale(how.roots)

    def to_fitted(self, X: Any) -> Any:
        """Return the similarities of new items to the fitted ones, scaled as those are."""
        if self.reference is None and not self.given:
            raise ValueError(
                "the documents that were fitted are on a cluster, so that new ones cannot be "
                "compared with them here; fit with X.compute() to be able to."
            )
        S = self.kind.to(self.reference, X)
        S = sparse.csr_array(S) if sparse.issparse(S) else np.asarray(S)
        return S if self.normalization is None else _scaled_by_degree(S, self.normalization)

    def to_arrays(self) -> dict[str, Any]:
        """Return what similarities of new items depend on, as arrays."""
        arrays = self.kind.to_arrays(self.reference)
        if self.normalization is not None:
            arrays |= vars(self.normalization)
        return arrays

    @classmethod
    def from_arrays(cls, estimator: Any, arrays: dict[str, Any]) -> "Affinities":
        """Return what `to_arrays` was called on."""
        how = None
        if "roots" in arrays:
            more, absolute = float(arrays["more"]), bool(arrays["absolute"])
            how = Normalization(arrays["roots"], more, absolute)
        return cls(estimator, _kind(estimator).from_arrays(arrays), how)


def _scaled_by_degree(S: Any, normalization: Normalization) -> Any:
    """Return s_p S_pj s_j; s_p is made of the sum of the similarities that are known."""
    values = np.nan_to_num(S.data if sparse.issparse(S) else S)
    values = np.abs(values) if normalization.absolute else values
    if sparse.issparse(S):
        known = sparse.csr_array((values, S.indices, S.indptr), shape=S.shape)
        own = normalization.of_new(np.asarray(known.sum(axis=1), dtype=np.float64).ravel())
        data = S.data * np.repeat(own, np.diff(S.indptr)) * normalization.roots[S.indices]
        return sparse.csr_array((data.astype(S.dtype), S.indices, S.indptr), shape=S.shape)
    own = normalization.of_new(values.sum(axis=1, dtype=np.float64))
    return (S * own[:, None] * normalization.roots).astype(S.dtype)
