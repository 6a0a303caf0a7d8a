"""Clustering without self-similarities."""

import warnings
from contextlib import nullcontext
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from odsymnmf.arrays import Array, blocks
from odsymnmf.blas import one_thread
from odsymnmf.engine.new_items import solve_rows
from odsymnmf.engine.run import Sweep
from odsymnmf.estimators.affinity import AFFINITIES, Affinities, Affinity
from odsymnmf.estimators.named import NamedItems
from odsymnmf.factorization import Factorization, LossName, factorize, warn_unconverged
from odsymnmf.inputs import weights_for
from odsymnmf.memberships import canonical_order, labels
from odsymnmf.observers import CallbackSupportMixin, Starts, progress, with_callbacks
from odsymnmf.options import bound, whole_number
from odsymnmf.problem import Similarity
from odsymnmf.random_state import RandomState, as_random

# Similarities of new items that are held at a time.
BLOCK_ENTRIES = 2**22


class ODSymNMF(
    NamedItems,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Cluster the items behind similarities, leaving every self-similarity out.

    Find memberships H >= 0 (n_samples x n_clusters) that minimise
    sum_{i != j} w_ij |A_ij - h_i . h_j|^p, p = 2 or 1, for symmetric similarities A. The diagonal
    of A is never looked at. An item may belong to several clusters, or to none.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, the columns of H.
    loss : {"l2", "l1", "mixed", "robust"}, default="l2"
        Squared errors; absolute errors, for binary A with wrong or missing links whose clusters
        are nearly complete; both, each relative to its value without memberships, in the ratio
        ``l1_ratio``; or the larger of these two. l2 is the better choice for sparse graphs.
    l1_ratio : float, default=0.5
        The share of l1 in ``loss="mixed"``, from 0 (l2) to 1 (l1).
    affinity : {"precomputed", "cosine", "rbf", "nearest_neighbors"} or callable, \
            default="precomputed"
        Where the similarities come from:

        - "precomputed": X is A, dense or sparse.
        - "cosine": cosines of the rows of X, for documents; A is never formed.
        - "rbf": exp(-gamma |x_i - x_j|^2), dense.
        - "nearest_neighbors": 1 where i is among the ``n_neighbors`` nearest of j or j among
          those of i, else 0; sparse.
        - callable: ``affinity(X, Y)`` returns the similarities of the rows of X to those of Y.
    init : {"greedy", "spectral", "nndsvd", "random", "zero", "l2", "mixed"} or array of shape \
            (n_samples, n_clusters), default="greedy"
        The first start. "greedy" is the paper's; "spectral" costs less where n is large; "l2"
        and "mixed" are the fits of these losses from the greedy start, for another loss.
    n_init : int, default=1
        Number of starts, of which the one with the lowest objective is kept. The first is
        ``init``, the others are random, seeded by ``random_state``.
    max_iter : int, default=200
        Largest number of sweeps of a start; a sweep updates every entry of H once.
    tol : float, default=1e-4
        When to stop, as for `odsymnmf.factorize`.
    upper : float, default=None
        Upper bound on the entries of H, for new items too.
    restarts : int, default=None
        Largest number of rounds in which every column is built anew, and kept if that lowers the
        objective.
        None means 10 for the losses "l1" and "mixed" (it ends when a round changes nothing), else
        0.
    normalize : {"degree"}, default=None
        "degree" clusters A_ij / sqrt(d_i d_j), d_i = sum_{j != i} A_ij: well-connected items
        no longer count more than others.
    zero_weight : float, default=1.0
        What a pair weighs that a sparse A does not store; less than 1 leaves fewer items of a
        sparse graph unassigned.
    gamma : float, default=None
        For ``affinity="rbf"``; None means 1 / n_features.
    n_neighbors : int, default=10
        For ``affinity="nearest_neighbors"``.
    n_jobs : int, default=None
        Number of threads that run the starts; the result does not depend on it.
    random_state : int, RandomState instance, Generator or None, default=None
        Seeds what is random; pass an int for reproducible results.
    verbose : int, default=0
        1 shows a progress bar with the lowest objective so far (needs tqdm), 2 prints a line now
        and then, for logs.

    Attributes
    ----------
    membership_ : ndarray of shape (n_samples, n_clusters)
        H. The column with the largest total comes first.
    labels_ : ndarray of shape (n_samples,)
        The cluster with the largest membership; -1 for an item that belongs to none.
    similarity_ : Dense, Sparse or Gram of `odsymnmf.similarity`
        What was fitted, after ``affinity`` and ``normalize``; not copied where X is that.
    objective_ : float
        The loss at ``membership_``.
    history_ : ndarray of shape (1 + n_iter_ + len(restarts_),)
        The objective of the best start: before the first sweep, after each, and after each
        accepted restart of a column.
    mix_ : dict or None
        For the losses "mixed" and "robust": the share of l1, and both relative losses.
    restarts_ : ndarray of int
        Which entries of ``history_`` follow an accepted restart.
    n_iter_ : int
        Number of sweeps of the best start.
    status_ : {"converged", "max_iter", "stopped", "interrupted"}
        Why the best start ended.
    converged_ : bool
        Whether the best start reached ``tol``.
    item_names_ : list or None
        What the items are called: the nodes of a graph, the index of a DataFrame, the
        ``obs_names`` of AnnData. None if X has no names.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, where those are all strings.

    See Also
    --------
    SymNMF : The same with the diagonal.
    odsymnmf.memberships : Overlapping clusters, and the reasons for a membership.

    Examples
    --------
    Two triangles that share item 2; its clusters are both there in H:

    >>> import numpy as np
    >>> from odsymnmf import ODSymNMF
    >>> A = np.array([[0, 1, 1, 0, 0],
    ...               [1, 0, 1, 0, 0],
    ...               [1, 1, 0, 1, 1],
    ...               [0, 0, 1, 0, 1],
    ...               [0, 0, 1, 1, 0]])
    >>> model = ODSymNMF(n_clusters=2, loss="l1").fit(A)
    >>> model.membership_
    array([[1., 0.], [1., 0.], [1., 1.], [0., 1.], [0., 1.]])
    >>> model.labels_
    array([0, 0, 0, 1, 1])

    A new item, known to be linked to items 3 and 4:

    >>> model.predict_membership([[0, 0, 0, 1, 1]])
    array([[0., 1.]])
    """

    _diagonal: Literal["ignore", "fit"] = "ignore"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        loss: LossName = "l2",
        l1_ratio: float = 0.5,
        affinity: Affinity = "precomputed",
        init: Any = "greedy",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        upper: float | None = None,
        restarts: int | None = None,
        normalize: Literal["degree"] | None = None,
        zero_weight: float = 1.0,
        gamma: float | None = None,
        n_neighbors: int = 10,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.loss = loss
        self.l1_ratio = l1_ratio
        self.affinity = affinity
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.upper = upper
        self.restarts = restarts
        self.normalize = normalize
        self.zero_weight = zero_weight
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any = None, weights: Any = None) -> Self:
        """Find the memberships of the items.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_samples) or (n_samples, n_features)
            Symmetric similarities if ``affinity="precomputed"``, else one row of features per item.
            NaN off the diagonal of similarities is an unknown pair, which is left out. Similarities
            may also be a networkx or igraph graph, a DataFrame or AnnData, as
            `odsymnmf.inputs.similarities` explains; the names of the items are kept.
        y : Ignored
            Not used, present for API consistency by convention.
        weights : {array-like, sparse matrix} of shape (n_samples, n_samples), default=None
            What every pair weighs, symmetric and >= 0; 0 is an unknown pair. A pair that sparse
            weights do not store keeps its ordinary weight.

        Returns
        -------
        self
        """
        self._check_options()
        X, names = self._named(X)
        X = self._validated(X, reset=True)
        self._affinities = Affinities(self, X, weights_for(weights, names))
        A = self._affinities.similarity
        starts = Starts(self, X, self.n_init, self.max_iter)
        best = self._best_of(A, starts)
        for name, value in self._fitted(best.H).items():
            setattr(self, name, value)
        self.similarity_ = A
        self.objective_ = best.objective
        self.history_ = best.history
        self.n_iter_ = best.n_iter
        self.status_ = best.status
        self.converged_ = best.converged
        self.mix_ = best.mix
        self._scales = best.scales
        self.restarts_ = best.restarts
        self.item_names_ = names
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
        H, solve = (
            self.membership_,
            partial(
                solve_rows,
                scales=self._scales,
                upper=bound(self.upper),
                zero_weight=self.zero_weight,
            ),
        )
        pieces = blocks(X.shape[0], max(1, BLOCK_ENTRIES // len(H)))
        return np.concatenate([solve(self._affinities.to_fitted(X[b]), H) for b in pieces])

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
            finite = "allow-nan" if not reset else False
            if not reset:
                X = self._to_the_fitted(X)
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

    def _best_of(self, A: Similarity, starts: Starts) -> Factorization:
        """Run all starts; of those with the lowest objective, return the first."""
        # Drawn before anything runs, so that n_jobs changes nothing.
        draws = as_random(self.random_state).uniform(size=self.n_init - 1)
        inits = [self.init, *["random"] * (self.n_init - 1)]
        seeds = [self.random_state, *(int(2**32 * draw) for draw in draws)]
        title = type(self).__name__
        interrupted = False
        found: list[Factorization | None] = [None] * self.n_init
        with progress(title, self.max_iter, self.verbose, self.n_init, self.tol) as show:

            def run(start: int) -> None:
                nonlocal interrupted
                if interrupted:
                    return

                def callback(sweep: Sweep) -> bool:
                    show(sweep, start)
                    return after(sweep)

                with starts.watch(start, self._fitted) as after:
                    f = factorize(
                        A,
                        self.n_clusters,
                        loss=self.loss,
                        l1_ratio=self.l1_ratio,
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
                interrupted |= f.status == "interrupted"
                found[start] = f
                show(None, start)

            # Where starts share the cores, BLAS should not ask for them too.
            alone = self.n_jobs in (None, 1)
            with nullcontext() if alone else one_thread(), warnings.catch_warnings():
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
        if best.status == "max_iter" and self.max_iter > 0:
            warn_unconverged(self.tol, self.max_iter, stacklevel=4)
        return best

    def _fitted(self, H: Array) -> dict[str, Any]:
        """Return the fitted attributes that follow from H."""
        H = np.ascontiguousarray(H[:, canonical_order(H)])
        return {"membership_": H, "labels_": labels(H)}
