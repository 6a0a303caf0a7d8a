"""What both estimators do: options, similarities, starts, new items."""

import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from odsymnmf.blas import LARGE, threads_for
from odsymnmf.factorize import Factorization, factorize, whole_number
from odsymnmf.memberships import canonical_order, labels
from odsymnmf.observers import CallbackSupportMixin, Starts, progress, with_callbacks
from odsymnmf.random_state import RandomState, as_random
from odsymnmf.rows import solve_rows
from odsymnmf.similarity import (
    BLOCK_ENTRIES,
    Similarity,
    as_similarity,
    blocks,
    cosine,
    inverse_root_degrees,
    inverse_roots,
    refuse_other_kinds,
    scaled,
)
from odsymnmf.solver import Sweep, warn_unconverged

Array = NDArray[Any]
Affinity = Literal["precomputed", "cosine", "rbf", "nearest_neighbors"] | Callable[..., Any]

AFFINITIES = ("precomputed", "cosine", "rbf", "nearest_neighbors")


class Estimator(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """What both estimators do; they differ in their parameters and in the diagonal."""

    n_clusters: int
    affinity: Affinity
    init: Any
    n_init: int
    max_iter: int
    tol: float
    upper: float | None
    restarts: int | None
    normalize: Literal["degree"] | None
    gamma: float | None
    n_neighbors: int
    n_jobs: int | None
    random_state: RandomState
    verbose: int
    loss: Literal["l2", "l1"] = "l2"
    _diagonal: Literal["ignore", "fit"] = "ignore"

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the memberships of the items.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_samples) or (n_samples, n_features)
            Symmetric similarities if ``affinity="precomputed"``, else one row of features per item.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self
        """
        self._check_options()
        X = self._validated(X, reset=True)
        A = self._similarity(X)
        starts = Starts(self, X, self.n_init, self.max_iter)
        best = self._best_of(A, starts)
        for name, value in self._fitted(best.H).items():
            setattr(self, name, value)
        self.similarity_ = A
        self.objective_ = best.objective
        self.history_ = best.history
        self.n_iter_ = best.n_iter
        self.converged_ = best.converged
        self.restarts_ = best.restarts
        starts.end()
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Find the memberships of the items and return them.

        Parameters
        ----------
        X : {array-like, sparse matrix}
            As for `fit`.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        membership : ndarray of shape (n_samples, n_clusters)
        """
        return self.fit(X).membership_

    def predict_membership(self, X: Any) -> Array:
        """Find memberships of new items, with those of the fitted items held fixed.

        Row x minimises sum_j |S_j - x . h_j|^p over 0 <= x <= upper, where S_j is the similarity
        of the new item to the fitted item j. This is a convex problem, solved to optimality for
        l2; for l1, until no single entry of x can be improved.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_samples) or (n_new, n_features)
            Similarities of the new items to the fitted ones if ``affinity="precomputed"``, else
            one row of features per new item. NaN marks a similarity that is not known: the pair
            is left out. So row k of the fitted matrix, with NaN in place k, asks where item k
            belongs as far as the others can tell: at convergence, that is row k of
            ``membership_`` (with l1, if coordinate descent gets there; not with `SymNMF`, which
            fits the diagonal too).

        Returns
        -------
        membership : ndarray of shape (n_new, n_clusters)
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        upper = np.inf if self.upper is None else float(self.upper)
        size = max(1, BLOCK_ENTRIES // len(self.membership_))
        pieces = [
            solve_rows(self._similarity_to_fitted(X[b]), self.membership_, self.loss, upper)
            for b in blocks(X.shape[0], size)
        ]
        return np.concatenate(pieces)

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Find the clusters of new items: the largest entry of `predict_membership`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_samples) or (n_new, n_features)
            As for `predict_membership`.

        Returns
        -------
        labels : ndarray of shape (n_new,)
            -1 for an item that belongs to no cluster.
        """
        return labels(self.predict_membership(X))

    @property
    def _n_features_out(self) -> int:
        return int(self.membership_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.affinity, str) and self.affinity == "precomputed"

    def _check_options(self) -> None:
        """Check what `factorize` does not know of."""
        if not (callable(self.affinity) or self.affinity in AFFINITIES):
            known = ", ".join(repr(name) for name in AFFINITIES)
            raise ValueError(f"affinity={self.affinity!r} is not known; use {known} or a callable.")
        if self.normalize not in (None, "degree"):
            raise ValueError(f'normalize={self.normalize!r} is not known; use "degree" or None.')
        limits = {"n_clusters": 1, "n_init": 1, "max_iter": 0, "n_neighbors": 1}
        for name, least in limits.items():
            whole_number(name, getattr(self, name), least)

    def _validated(self, X: Any, reset: bool) -> Any:
        # Similarities are checked by `as_similarity`, which does not look at the diagonal. New
        # ones may be unknown.
        finite: Any = True
        if self._precomputed:
            refuse_other_kinds(X)
            finite = "allow-nan" if not reset else self._diagonal == "fit"
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=finite,
            ensure_min_samples=2 if reset else 1,
        )
        if reset and self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"X must be a square matrix of similarities, but has shape {X.shape}. For a table "
                'of items x features, choose an affinity such as "cosine" or "nearest_neighbors".'
            )
        return X

    def _similarity(self, X: Any) -> Similarity:
        """Return what to factorize, and keep what the similarities of new items need."""
        self._reference: Any = None
        A = X
        if self.affinity == "cosine":
            A = cosine(X)
            self._reference = A.X
        elif self.affinity == "nearest_neighbors":
            most = min(self.n_neighbors, X.shape[0] - 1)
            self._reference = NearestNeighbors(n_neighbors=most, n_jobs=self.n_jobs).fit(X)
            links = self._reference.kneighbors_graph()
            A = links.maximum(links.T)
        elif not self._precomputed:
            A = self._kernel(X, X)
            self._reference = X
        A = as_similarity(A)
        self._scale = inverse_root_degrees(A) if self.normalize == "degree" else None
        return A if self._scale is None else scaled(A, self._scale)

    def _similarity_to_fitted(self, X: Any) -> Any:
        """Return the similarities of new items to the fitted ones, scaled as those are."""
        if self._precomputed:
            S = X
        elif self.affinity == "cosine":
            S = cosine(X).X @ self._reference.T
        elif self.affinity == "nearest_neighbors":
            S = self._reference.kneighbors_graph(X)
        else:
            S = self._kernel(X, self._reference)
        S = sparse.csr_array(S) if sparse.issparse(S) else np.asarray(S)
        return S if self._scale is None else _scaled_by_degree(S, self._scale)

    def _kernel(self, X: Any, Y: Any) -> Any:
        if callable(self.affinity):
            return self.affinity(X, Y)
        return rbf_kernel(X, Y, gamma=self.gamma)

    def _best_of(self, A: Similarity, starts: Starts) -> Factorization:
        """Run all starts; of those with the lowest objective, return the first."""
        # Drawn before anything runs, so that n_jobs changes nothing.
        draws = as_random(self.random_state).uniform(size=self.n_init - 1)
        inits = [self.init, *["random"] * (self.n_init - 1)]
        seeds = [self.random_state, *(int(2**32 * draw) for draw in draws)]
        title = type(self).__name__
        interrupted = False
        found: list[Factorization | None] = [None] * self.n_init
        with progress(title, self.n_init * self.max_iter, self.verbose) as show:

            def run(start: int) -> None:
                nonlocal interrupted
                if interrupted:
                    return
                told = False

                def callback(sweep: Sweep) -> bool:
                    nonlocal told
                    show(sweep)
                    told = after(sweep)
                    return told

                with starts.watch(start, self._fitted) as after:
                    f = factorize(
                        A,
                        self.n_clusters,
                        loss=self.loss,
                        init=inits[start],
                        diagonal=self._diagonal,
                        max_iter=self.max_iter,
                        tol=self.tol,
                        upper=self.upper,
                        restarts=self.restarts,
                        random_state=seeds[start],
                        callback=callback,
                    )
                # Ctrl-C ends a start early; who pressed it does not want the others either.
                interrupted |= not (f.converged or told) and f.n_iter < self.max_iter
                found[start] = f

            # Where starts share the cores, BLAS should not ask for them too.
            with threads_for(LARGE if self.n_jobs in (None, 1) else 0), warnings.catch_warnings():
                # Only whether the best start has converged is of interest.
                warnings.simplefilter("ignore", ConvergenceWarning)
                try:
                    Parallel(n_jobs=self.n_jobs, require="sharedmem")(
                        delayed(run)(start) for start in range(self.n_init)
                    )
                except KeyboardInterrupt:  # before the first sweep of a start
                    if all(f is None for f in found):
                        raise
        best = min((f for f in found if f is not None), key=lambda f: f.objective)
        if not best.converged and best.n_iter == self.max_iter > 0:
            warn_unconverged(self.tol, self.max_iter, stacklevel=5)
        return best

    def _fitted(self, H: Array) -> dict[str, Any]:
        """Return the fitted attributes that follow from H."""
        H = np.ascontiguousarray(H[:, canonical_order(H)])
        return {"membership_": H, "labels_": labels(H)}


def _scaled_by_degree(S: Any, scale: Array) -> Any:
    """Return S_pj / sqrt(d_p d_j), d_p = sum_j S_pj over the similarities that are known."""
    if sparse.issparse(S):
        known = sparse.csr_array((np.nan_to_num(S.data), S.indices, S.indptr), shape=S.shape)
        own = inverse_roots(np.asarray(known.sum(axis=1), dtype=np.float64).ravel())
        data = S.data * np.repeat(own, np.diff(S.indptr)) * scale[S.indices]
        return sparse.csr_array((data.astype(S.dtype), S.indices, S.indptr), shape=S.shape)
    own = inverse_roots(np.nan_to_num(S).sum(axis=1, dtype=np.float64))
    return (S * own[:, None] * scale).astype(S.dtype)
