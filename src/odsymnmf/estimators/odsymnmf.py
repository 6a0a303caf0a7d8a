"""Clustering without self-similarities."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from odsymnmf.arrays import as_csr
from odsymnmf.defaults import Settings, decide
from odsymnmf.engine.how import LossName, Memberships
from odsymnmf.engine.losses import loss_class, make_loss
from odsymnmf.estimators.affinity import AFFINITIES, Affinities, Affinity
from odsymnmf.estimators.auto import hint, is_sparse, number_of_clusters, without_cluster
from odsymnmf.estimators.best_of import best_of
from odsymnmf.estimators.judging import JudgingMixin
from odsymnmf.estimators.keeping import KeepsSimilarity, Kept
from odsymnmf.estimators.named import NamedItems
from odsymnmf.fitting import sparse_bound
from odsymnmf.inputs import is_dask, weights_for
from odsymnmf.memberships import canonical_order, labels, settled_labels
from odsymnmf.observers import CallbackSupportMixin, Starts, with_callbacks
from odsymnmf.options import whole_number
from odsymnmf.problem import Similarity, outline
from odsymnmf.random_state import RandomState
from odsymnmf.result import Factorization


class ODSymNMF(
    NamedItems,
    CallbackSupportMixin,
    JudgingMixin,
    KeepsSimilarity,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Cluster the items behind similarities, leaving every self-similarity out.

    Find memberships H >= 0 (n_samples x n_clusters) that minimise
    sum_{i != j} w_ij |A_ij - h_i . h_j|^p, p = 2 or 1, for symmetric similarities A. The diagonal
    of A is ignored. An item may belong to several clusters, or to none.

    Parameters
    ----------
    n_clusters : int, "auto" or sequence of int, default=8
        Number of clusters, the columns of H. "auto" chooses it with `odsymnmf.choose.n_clusters`,
        a sequence such as ``range(2, 31)`` chooses the best of these.
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
    init : str, array of shape (n_samples, n_clusters), labels, or list of sets, default="auto"
        The first start, as for `odsymnmf.factorize`. "auto" is "spectral" for squared errors of
        normalised similarities, else as there. "greedy" is the start of the paper; "spectral" is
        cheaper for large n; "l2" and "mixed" first fit these losses from the greedy start, as a
        start for another loss.
    n_init : int, default=1
        Number of starts, of which the one with the lowest objective is kept. The first is
        ``init``, the others are random, seeded by ``random_state``.
    max_iter : int, default=200
        Maximum number of iterations per start; an iteration (a sweep) updates every entry of H
        once.
    tol : float, default=1e-4
        When to stop, as for `odsymnmf.factorize`.
    upper : float, "auto" or None, default="auto"
        Upper bound on the entries of H, for new items too. "auto" is, for squared errors of
        normalised similarities, 1 / sqrt(max(6, n / (5 r))): enough for groups of at least six
        items (or n / r, if that is less) and of a fifth of the mean size; else None, no bound.
    restarts : int, default=None
        Maximum number of rounds of column restarts: every column is rebuilt from scratch, and the
        new one is kept if the objective decreases. None means 10 for the losses "l1" and "mixed"
        (rounds end when one changes nothing), else 0.
    memberships : {"auto", "sparse", "full"}, default="auto"
        How H is stored, as for `odsymnmf.factorize`: "sparse" is for thousands of clusters, and
        needs sparse similarities and one start. ``membership_`` is then a CSR array, and "auto"
        means: for ``n_clusters`` as many as the start finds, for ``init`` "ego", for ``normalize``
        None, for ``upper`` (squared errors) the root of the largest similarity. Labels are then
        not settled.
    normalize : {"auto", "degree", None}, default="auto"
        "degree" clusters A_ij / sqrt(d_i d_j), d_i = sum_{j != i} A_ij: well-connected items
        no longer count more than others. "auto" does so for squared errors, with
        d_i = sum_{j != i} |A_ij| plus a quarter of their mean (for products of features >= 0: plus
        their mean), and settles labels, see ``labels_``. None clusters A itself, as the paper does.
    zero_weight : float, default=1.0
        Weight of the pairs that a sparse A does not store; with less than 1, fewer items of a
        sparse graph stay unassigned.
    gamma : float, default=None
        For ``affinity="rbf"``; None means 1 / n_features.
    n_neighbors : int, default=10
        For ``affinity="nearest_neighbors"``.
    n_jobs : int, default=None
        Number of threads, -1 for all cores. Starts come first: min(n_init, n_jobs) of them run at
        a time, and each has n_jobs // min(n_init, n_jobs) threads to share its sweeps, which then
        go in rounds (see `odsymnmf.factorize`). The result is the same for every number, to the
        bit. None sweeps row by row, in one thread, which may lead to another local minimum.
    random_state : int, RandomState instance, Generator or None, default=None
        Random seed; pass an int for reproducible results.
    checkpoint : path, default=None
        A file in which the state of the fit is saved at intervals, and from which a killed fit
        resumes, with the same result to the bit, as for `odsymnmf.factorize`; further starts use
        files next to it, with .1, .2, ... after the name. They are not removed.
    checkpoint_every : float, default=60.0
        Minimum number of seconds between two checkpoints of a start.
    verbose : int, default=0
        1 shows a progress bar with the lowest objective so far (needs tqdm), 2 prints a line every
        few seconds, for logs.

    Attributes
    ----------
    membership_ : ndarray of shape (n_samples, n_clusters)
        H. The column with the largest total comes first.
    labels_ : ndarray of shape (n_samples,)
        The cluster with the largest membership; -1 for an item that belongs to none. With
        ``normalize="auto"``, those of graphs (at most half of the pairs linked, none below zero),
        of documents and of similarities of both signs are then settled:
        `odsymnmf.memberships.settled_labels`.
    n_clusters_ : int
        Number of clusters.
    n_unassigned_ : int
        Number of items without a cluster: they have no similar items, or no cluster explains these
        similarities; `odsymnmf.memberships.assign_rest` assigns them to the clusters of their
        neighbours.
    settings_ : dict
        The kind of input, and the values chosen for "auto": normalize and its regularization,
        upper, init, how labels are read; where items are left without a cluster, why; in some
        cases a hint.
    choice_ : NumberOfClusters
        How ``n_clusters`` was chosen, unless it was a number.
    similarity_ : Dense, Sparse or Gram of `odsymnmf.similarity`
        What was fitted, after ``affinity`` and ``normalize``; not in pickles, and in files only
        with ``save(path, similarities=True)``. Up to 32 MB are copied. More is not: if that was X
        itself, and X has been changed since, to ask for it is an error.
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
        Number of iterations of the best start.
    status_ : {"converged", "max_iter", "stopped", "interrupted"}
        Why the best start ended; "interrupted" if Ctrl-C was pressed in any.
    converged_ : bool
        Whether the best start reached ``tol``.
    item_names_ : list or None
        The names of the items: the nodes of a graph, the index of a DataFrame, the ``obs_names`` of
        AnnData. None if X has no names.
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
        n_clusters: int | str | Sequence[int] = 8,
        *,
        loss: LossName = "l2",
        l1_ratio: float = 0.5,
        affinity: Affinity = "precomputed",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        upper: float | str | None = "auto",
        restarts: int | None = None,
        memberships: Memberships = "auto",
        normalize: Literal["auto", "degree"] | None = "auto",
        zero_weight: float = 1.0,
        gamma: float | None = None,
        n_neighbors: int = 10,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 60.0,
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
        self.memberships = memberships
        self.normalize = normalize
        self.zero_weight = zero_weight
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
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
            `odsymnmf.inputs.similarities` explains; the names of the items are kept. A dask array
            (of features for "cosine") is fitted by the workers of the current Dask client, with
            what `odsymnmf.distributed` offers.
        y : Ignored
            Not used, present for API consistency by convention.
        weights : {array-like, sparse matrix} of shape (n_samples, n_samples), default=None
            Weights of the pairs, symmetric and >= 0; 0 marks an unknown pair. A pair that sparse
            weights do not store keeps its ordinary weight.

        Returns
        -------
        self
        """
        self._check_options()
        self._threads = self.n_jobs
        if is_dask(X):
            from odsymnmf import distributed

            client = distributed.current_client()
            if client is not None:
                from odsymnmf.estimators.elsewhere import fit_elsewhere

                fit_elsewhere(self, client, X, weights)
                return self
            given_names = getattr(X, "names", None)
            X = distributed.gathered(X)
            self._threads = -1 if self.n_jobs is None else self.n_jobs
        else:
            given_names = None
        X, names = self._named(X)
        names = given_names or names
        X = self._validated(X, reset=True)
        self._affinities, raw = Affinities.of_items(self, X, weights_for(weights, names))
        seen = outline(raw)
        kept_sparse = is_sparse(self, raw)
        r: Any = self.n_clusters if kept_sparse else number_of_clusters(self, raw)
        settings = decide(
            raw,
            r,
            loss=loss_class(self.loss, self._diagonal, self.l1_ratio),
            normalize=self.normalize,
            upper=self.upper,
            init=self.init,
            seen=seen,
            sparse=kept_sparse,
        )
        A = self._affinities.normalized(raw, settings, seen)
        if kept_sparse:  # the bound that the fit will use holds for new items, too
            limit = sparse_bound(A, settings.upper, self.loss)
            settings = replace(settings, upper=limit if limit < np.inf else None)
        self.settings_ = settings.as_dict()
        # Callbacks may ask a fit under way for new items.
        measure = make_loss(self.loss, A, np.inf, diagonal=self._diagonal, l1_ratio=self.l1_ratio)
        self._scales = measure.scales
        kept = Kept(A, self._diagonal == "fit")
        starts = Starts(self, X, self.n_init, self.max_iter)
        reconstruct = partial(self._fitted, raw=raw, settings=settings)
        best, interrupted = best_of(
            self, A, r, settings, partial(starts.watch, reconstruct=reconstruct)
        )
        for name, value in reconstruct(best.H).items():
            setattr(self, name, value)
        if not kept_sparse:
            self.settings_ |= hint(raw, seen, best.scales, self.labels_)
        self.settings_ |= without_cluster(seen, self.labels_)
        self._keep(best, interrupted)
        self._kept, self.item_names_ = kept, names
        starts.end()
        return self

    def _keep(self, best: Factorization, interrupted: bool) -> None:
        """Keep how the best start went."""
        self.objective_, self.history_, self.restarts_ = best.objective, best.history, best.restarts
        self.status_ = "interrupted" if interrupted else best.status
        self.n_iter_, self.converged_, self.mix_ = best.n_iter, best.converged, best.mix
        self._scales = best.scales

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find the memberships of the items and return them.

        Parameters
        ----------
        X : {array-like, sparse matrix}
            As for `fit`.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        membership : ndarray or scipy.sparse.csr_array of shape (n_samples, n_clusters)
        """
        return self.fit(X).membership_

    def save(
        self, path: str | Path, *, similarities: bool = False, names: list[str] | None = None
    ) -> None:
        """Write the fitted model into one file, which `odsymnmf.load` reads.

        The file holds the parameters, the memberships and what `predict` needs; it is complete or
        not there, and reading it runs no code. A generator as ``random_state`` is left out.

        Parameters
        ----------
        path : path
            A regular file there is replaced.
        similarities : bool, default=False
            Whether ``similarity_`` is written, too: what was fitted, which may be large.
        names : list of str, default=None
            The names of the fitted items, kept as ``item_names_``.

        Raises
        ------
        ValueError
            If ``affinity`` is a callable: the file would have to hold code.
        OSError
            If it cannot be written.
        """
        from odsymnmf.estimators.saving import save

        check_is_fitted(self)
        if similarities and not hasattr(self, "similarity_"):
            raise ValueError(
                "the model was loaded without its similarities, so they cannot be saved; leave "
                "similarities=True out."
            )
        save(self, path, similarities=similarities, names=names or self._known_names())

    def _known_names(self) -> list[str] | None:
        return getattr(self, "item_names_", None)

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
        limits = {"n_init": 1, "max_iter": 0, "n_neighbors": 1}
        for name, least in limits.items():
            whole_number(name, getattr(self, name), least)
        if self.checkpoint is not None and self.n_init > 1 and self.random_state is None:
            raise ValueError(
                "a checkpoint of several starts needs random_state, an int: without it, the starts "
                "would be others when the fit goes on."
            )

    def _validated(self, X: Any, reset: bool) -> Any:
        # Similarities are checked by `as_similarity`, which does not look at the diagonal. New
        # ones may be unknown.
        finite: Any = True
        if self._precomputed:
            finite = "allow-nan" if not reset else False
            if not reset:
                X = self._to_the_fitted(X)
        if sparse.issparse(X):
            X = as_csr(X, "X")
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
                'of items x features, choose an affinity such as "cosine" or "nearest_neighbors"; '
                "of a list of edges, make a graph: networkx.Graph(edges)."
            )
        return X

    def _fitted(self, H: Any, raw: Similarity, settings: Settings) -> dict[str, Any]:
        """Return the fitted attributes that follow from H."""
        H = H[:, canonical_order(H)]
        H = H.sorted_indices() if sparse.issparse(H) else np.ascontiguousarray(H)
        how = settings.settled
        found = labels(H) if how is None else settled_labels(H, raw, rule=how)
        return {
            "membership_": H,
            "labels_": found,
            "n_clusters_": int(H.shape[1]),
            "n_unassigned_": int((found < 0).sum()),
        }
