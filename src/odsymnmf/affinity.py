"""Affinities: similarities of the items to each other, and of new items to the fitted ones."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from scipy import sparse

from odsymnmf.defaults import Normalization
from odsymnmf.similarity import cosine
from odsymnmf.similarity.weights import entry_rows, with_data

Affinity = Literal["precomputed", "cosine", "rbf", "nearest_neighbors"] | Callable[..., Any]


class Precomputed:
    """X is A. The base class of the other affinities, which have `fit`.

    ``reference`` has the features of the fitted items, for similarities of new items;
    ``normalization`` is that of the fit, None without one.
    """

    reference: Any = None
    normalization: Normalization | None = None

    def compare(self, X: Any) -> Any:
        """Return the similarities of new items to the fitted ones, not normalized."""
        return X

    def to_fitted(self, X: Any) -> Any:
        """Return the similarities of new items to the fitted ones."""
        raw = self.compare(X)
        S: Any = sparse.csr_array(raw) if sparse.issparse(raw) else np.asarray(raw)
        if self.normalization is None:
            return S
        # s_p S_pj s_j; s_p depends on the sum of the known similarities.
        values, roots = np.nan_to_num(S.data if sparse.issparse(S) else S), self.normalization.roots
        values = np.abs(values) if self.normalization.absolute else values
        if not sparse.issparse(S):
            new_roots = self.normalization.of_new(values.sum(axis=1, dtype=np.float64))
            return (S * new_roots[:, None] * roots).astype(S.dtype)
        degrees = with_data(S, values).sum(axis=1).astype(np.float64)
        new_roots = self.normalization.of_new(degrees)
        return with_data(S, (S.data * new_roots[entry_rows(S)] * roots[S.indices]).astype(S.dtype))

    def to_arrays(self) -> dict[str, Any]:
        """Return the arrays that similarities of new items depend on."""
        arrays = {} if self.reference is None else {"reference": self.reference}
        return arrays | (vars(self.normalization) if self.normalization else {})

    def load(self, arrays: dict[str, Any]) -> None:
        """Set the reference and the normalization from the arrays of `to_arrays`."""
        self.reference = arrays.get("reference")
        if "roots" in arrays:
            added, absolute = float(arrays["added"]), bool(arrays["absolute"])
            self.normalization = Normalization(arrays["roots"], added, absolute)


class Cosine(Precomputed):
    """Cosines of the rows of X."""

    def fit(self, X: Any) -> Any:
        """Return the similarities of the items to each other."""
        A = cosine(X)
        self.reference = A.X
        return A

    def compare(self, X: Any) -> Any:
        if self.reference is None:
            raise ValueError(
                "the fitted documents are on a cluster, so that new ones cannot be compared with "
                "them here; fit X.compute() instead."
            )
        return cosine(X).X @ self.reference.T


class Kernel(Precomputed):
    """A function of the rows of X and of those of Y."""

    def __init__(self, kernel: Callable[..., Any]):
        self.kernel = kernel

    def fit(self, X: Any) -> Any:
        self.reference = X.copy()  # X may be modified after the fit
        return self.kernel(X, X)

    def compare(self, X: Any) -> Any:
        return self.kernel(X, self.reference)


class NearestNeighborGraph(Precomputed):
    """1 where one of two items is among the nearest neighbors of the other."""

    def __init__(self, n_neighbors: int, n_jobs: int | None):
        self.n_neighbors, self.n_jobs = n_neighbors, n_jobs

    @cached_property
    def neighbors(self) -> Any:
        """The fitted search tree of the items."""
        from sklearn.neighbors import NearestNeighbors  # takes a while to import

        k = min(self.n_neighbors, self.reference.shape[0] - 1)
        return NearestNeighbors(n_neighbors=k, n_jobs=self.n_jobs).fit(self.reference)

    def fit(self, X: Any) -> Any:
        self.reference = X.copy()
        links = self.neighbors.kneighbors_graph()
        return links.maximum(links.T).astype(X.dtype)

    def compare(self, X: Any) -> Any:
        return self.neighbors.kneighbors_graph(X)


AFFINITIES = ("precomputed", "cosine", "rbf", "nearest_neighbors")


def make_affinity(options: Any) -> Any:
    """Return the affinity of an estimator; ValueError if it is not known."""
    affinity = options.affinity
    if callable(affinity):
        return Kernel(affinity)
    if affinity == "precomputed":
        return Precomputed()
    if affinity == "cosine":
        return Cosine()
    if affinity == "rbf":
        from sklearn.metrics.pairwise import rbf_kernel  # takes a while to import

        return Kernel(partial(rbf_kernel, gamma=options.gamma))
    if affinity == "nearest_neighbors":
        return NearestNeighborGraph(options.n_neighbors, options.n_jobs)
    known = ", ".join(repr(name) for name in AFFINITIES)
    raise ValueError(f"affinity={affinity!r} is not known; use {known} or a callable.")
