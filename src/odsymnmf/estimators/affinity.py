"""Where similarities come from: of the items to each other, and of new items to them."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors

from odsymnmf.defaults import Normalization, Settings, normalization
from odsymnmf.problem import Outline, Similarity, as_similarity, cosine

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

    def stored(self, reference: Any) -> tuple[dict[str, Any], Any]:
        """Return the reference as JSON and an array, or None."""
        return {}, reference

    def restored(self, header: dict[str, Any], array: Any) -> Any:
        """Return the reference that was stored; ValueError if it is unsound."""
        return array


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

    def stored(self, reference: Any) -> tuple[dict[str, Any], Any]:
        """Return the reference as JSON and an array."""
        return {"n_neighbors": int(reference.n_neighbors)}, reference._fit_X

    def restored(self, header: dict[str, Any], array: Any) -> Any:
        """Return the reference that was stored; ValueError if it is unsound."""
        most = header["n_neighbors"]
        if type(most) is not int or not 1 <= most < array.shape[0]:
            raise ValueError("its number of neighbours is none")
        return self._nearest(most, array)

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

    def normalized(self, A: Similarity, settings: Settings, seen: Outline) -> Similarity:
        """Return what is to be fitted; similarities of new items will be scaled as it is."""
        how = self.normalization = normalization(A, settings, seen)
        return A if how is None else A.scaled_by(how.roots)

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

    def taken_apart(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what new items need of the fitted ones, as JSON and as arrays."""
        header, reference = self.kind.stored(self.reference)
        arrays = {} if reference is None else {"reference": reference}
        if self.normalization is not None:
            arrays["roots"] = self.normalization.roots
            header |= {"more": self.normalization.more, "absolute": self.normalization.absolute}
        return header, arrays

    @classmethod
    def put_together(
        cls, estimator: Any, header: dict[str, Any], arrays: dict[str, Any], n: int
    ) -> "Affinities":
        """Return what was taken apart; ValueError if it is unsound."""
        reference, roots = arrays.get("reference"), arrays.get("roots")
        affinity = estimator.affinity
        if affinity not in AFFINITIES or (affinity == "precomputed") != (reference is None):
            raise ValueError("its affinity does not fit its data")
        if reference is not None:
            values = reference.data if sparse.issparse(reference) else reference
            shape = (n, estimator.n_features_in_)
            if reference.shape != shape or values.dtype not in (np.float32, np.float64):
                raise ValueError("its data are not those of its items")
            if not np.isfinite(values).all():
                raise ValueError("its data hold infinite values")
        elif estimator.n_features_in_ != n:
            raise ValueError("its items are not those of its similarities")
        how = None if roots is None else _stored_normalization(roots, header, n)
        return cls(estimator, _kind(estimator).restored(header, reference), how)


def _stored_normalization(roots: Any, header: dict[str, Any], n: int) -> Normalization:
    """Return a normalization that was taken apart; ValueError if it is unsound."""
    more, absolute = header["more"], header["absolute"]
    sound = not sparse.issparse(roots) and roots.shape == (n,) and roots.dtype.kind == "f"
    if not sound or type(more) is not float or not more >= 0 or type(absolute) is not bool:
        raise ValueError("its degrees are not those of its items")
    return Normalization(roots, more, absolute)


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
