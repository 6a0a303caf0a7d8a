"""Where similarities come from: of the items to each other, and of new items to them."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors

from odsymnmf.defaults import Scaling, Settings, scaling
from odsymnmf.problem import Outline, Similarity, as_similarity, cosine, outline

Affinity = Literal["precomputed", "cosine", "rbf", "nearest_neighbors"] | Callable[..., Any]

AFFINITIES = ("precomputed", "cosine", "rbf", "nearest_neighbors")


class Affinities:
    """The similarities of fitted items; knows those of new items to them.

    Attributes
    ----------
    similarity : Dense, Sparse or Gram
        Of the fitted items, after the affinity; `normalized` gives what is fitted.
    seen : Outline
        What it looks like.
    """

    def __init__(self, estimator: Any, X: Any, weights: Any):
        self.affinity, self.gamma = estimator.affinity, estimator.gamma
        # What the similarities of new items need of the fitted ones.
        self.reference: Any = None
        self.scaling: Scaling | None = None
        A = as_similarity(self._of_items(estimator, X), weights, estimator.zero_weight)
        self.similarity: Similarity = A
        self.seen: Outline = outline(A)

    @classmethod
    def of_elsewhere(cls, estimator: Any, scaling: Scaling | None) -> "Affinities":
        """Return what new items need of items that are on the workers of a cluster."""
        made = cls.__new__(cls)
        made.affinity, made.gamma = estimator.affinity, estimator.gamma
        made.reference, made.scaling = None, scaling
        return made

    def normalized(self, settings: Settings) -> Similarity:
        """Return what is to be fitted; similarities of new items will be scaled as it is."""
        self.scaling = scaling(self.similarity, settings, self.seen)
        return (
            self.similarity
            if self.scaling is None
            else self.similarity.scaled_by(self.scaling.roots)
        )

    def forget(self) -> None:
        """Let go of what only a fit needs."""
        del self.similarity, self.seen

    def to_fitted(self, X: Any) -> Any:
        """Return the similarities of new items to the fitted ones, scaled as those are."""
        if self.affinity == "precomputed":
            S = X
        elif self.reference is None:
            raise ValueError(
                "the documents that were fitted are on a cluster, so that new ones cannot be "
                "compared with them here; fit with X.compute() to be able to."
            )
        elif self.affinity == "cosine":
            S = cosine(X).X @ self.reference.T
        elif self.affinity == "nearest_neighbors":
            S = self.reference.kneighbors_graph(X)
        else:
            S = self._kernel(X, self.reference)
        S = sparse.csr_array(S) if sparse.issparse(S) else np.asarray(S)
        return S if self.scaling is None else _scaled_by_degree(S, self.scaling)

    def taken_apart(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what new items need of the fitted ones, as JSON and as arrays."""
        header: dict[str, Any] = {}
        arrays: dict[str, Any] = {}
        if self.scaling is not None:
            arrays["roots"] = self.scaling.roots
            header |= {"more": self.scaling.more, "absolute": self.scaling.absolute}
        if self.affinity == "nearest_neighbors":
            header["n_neighbors"] = int(self.reference.n_neighbors)
            arrays["reference"] = self.reference._fit_X
        elif self.reference is not None:
            arrays["reference"] = self.reference
        return header, arrays

    @classmethod
    def put_together(
        cls, estimator: Any, header: dict[str, Any], arrays: dict[str, Any], n: int
    ) -> "Affinities":
        """Return what was taken apart, without the similarities; ValueError if it is unsound."""
        made = cls.__new__(cls)
        made.affinity, made.gamma = estimator.affinity, estimator.gamma
        made.reference, roots = arrays.get("reference"), arrays.get("roots")
        if made.affinity not in AFFINITIES or (made.affinity == "precomputed") != (
            made.reference is None
        ):
            raise ValueError("its affinity does not fit its data")
        shape = (n, estimator.n_features_in_)
        if made.reference is not None:
            values = made.reference.data if sparse.issparse(made.reference) else made.reference
            if made.reference.shape != shape or values.dtype not in (np.float32, np.float64):
                raise ValueError("its data are not those of its items")
            if not np.isfinite(values).all():
                raise ValueError("its data hold infinite values")
        elif shape[1] != n:
            raise ValueError("its items are not those of its similarities")
        made.scaling = None if roots is None else _stored_scaling(roots, header, n)
        if made.affinity == "nearest_neighbors":
            most = header["n_neighbors"]
            if type(most) is not int or not 1 <= most < n:
                raise ValueError("its number of neighbours is none")
            neighbours = NearestNeighbors(n_neighbors=most, n_jobs=estimator.n_jobs)
            made.reference = neighbours.fit(made.reference)
        return made

    def _of_items(self, estimator: Any, X: Any) -> Any:
        if self.affinity == "precomputed":
            return X
        if self.affinity == "cosine":
            A = cosine(X)
            self.reference = A.X
            return A
        if self.affinity == "nearest_neighbors":
            most = min(estimator.n_neighbors, X.shape[0] - 1)
            neighbours = NearestNeighbors(n_neighbors=most, n_jobs=estimator.n_jobs)
            self.reference = neighbours.fit(X.copy())
            links = self.reference.kneighbors_graph()
            return links.maximum(links.T)
        self.reference = X.copy()  # so that new items are compared with what was fitted
        return self._kernel(X, X)

    def _kernel(self, X: Any, Y: Any) -> Any:
        if callable(self.affinity):
            return self.affinity(X, Y)
        return rbf_kernel(X, Y, gamma=self.gamma)


def _stored_scaling(roots: Any, header: dict[str, Any], n: int) -> Scaling:
    """Return a scaling that was taken apart; ValueError if it is unsound."""
    more, absolute = header["more"], header["absolute"]
    sound = not sparse.issparse(roots) and roots.shape == (n,) and roots.dtype.kind == "f"
    if not sound or type(more) is not float or not more >= 0 or type(absolute) is not bool:
        raise ValueError("its degrees are not those of its items")
    return Scaling(roots, more, absolute)


def _scaled_by_degree(S: Any, scaling: Scaling) -> Any:
    """Return s_p S_pj s_j; s_p is made of the sum of the similarities that are known."""
    values = np.nan_to_num(S.data if sparse.issparse(S) else S)
    values = np.abs(values) if scaling.absolute else values
    if sparse.issparse(S):
        known = sparse.csr_array((values, S.indices, S.indptr), shape=S.shape)
        own = scaling.of_new(np.asarray(known.sum(axis=1), dtype=np.float64).ravel())
        data = S.data * np.repeat(own, np.diff(S.indptr)) * scaling.roots[S.indices]
        return sparse.csr_array((data.astype(S.dtype), S.indices, S.indptr), shape=S.shape)
    own = scaling.of_new(values.sum(axis=1, dtype=np.float64))
    return (S * own[:, None] * scaling.roots).astype(S.dtype)
