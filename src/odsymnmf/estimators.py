"""The scikit-learn estimators ODSymNMF and SymNMF."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin

from odsymnmf.affinity import Affinity, make_affinity
from odsymnmf.choose import n_clusters
from odsymnmf.defaults import LABELS, remarks
from odsymnmf.fit import (
    OPTION_NAMES,
    FitOptions,
    LossName,
    SparseMembership,
    fit,
    fit_best,
    prepare,
    warn_of,
)
from odsymnmf.fitted_model import FittedModelMixin
from odsymnmf.inputs import Dataset, features_and_names, kind_of, to_similarity_matrix
from odsymnmf.memberships import canonical_order, labels, refine_labels
from odsymnmf.similarity import Similarity, as_similarity
from odsymnmf.utils import RandomState, blocks, plain_signature, user_stacklevel, whole_number


class ODSymNMF(FittedModelMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Clustering by off-diagonal symmetric nonnegative matrix factorization.

    Find memberships H >= 0 (n_samples x n_clusters) that minimize
    sum_{i != j} w_ij |A_ij - h_i . h_j|^p, p = 2 or 1, for symmetric similarities A. The diagonal
    of A is ignored. An item may belong to several clusters, or to none.

    Parameters
    ----------
    n_clusters : int, "auto" or sequence of int, default=8
        Number of clusters, the columns of H. "auto" chooses it with `odsymnmf.choose.n_clusters`,
        a sequence such as ``range(2, 31)`` chooses the best of these.
    resolution : float, default=None
        For graphs with ``n_clusters="auto"``: the resolution of modularity, as for Leiden, which
        determines the number of clusters. None searches for the most stable resolution.
    loss : {"l2", "l1", "mixed", "robust"}, default="l2"
        Squared errors; absolute errors, for binary A with wrong or missing links whose clusters
        are nearly complete; both, each relative to its value without memberships, in the ratio
        ``l1_ratio``; or the larger of these two. l2 is the better choice for sparse graphs.
    l1_ratio : float, default=0.5
        The share of l1 in ``loss="mixed"``, from 0 (l2) to 1 (l1).
    affinity : str or callable, default="precomputed"
        How the similarities are computed:

        - "precomputed": X is A, dense or sparse.
        - "cosine": cosines of the rows of X, for documents; A is never formed.
        - "rbf": exp(-gamma |x_i - x_j|^2), dense.
        - "nearest_neighbors": 1 where i is among the ``n_neighbors`` nearest of j or j among
          those of i, else 0; sparse.
        - callable: ``affinity(X, Y)`` returns the similarities of the rows of X to those of Y.
    init : str, array of shape (n_samples, n_clusters), labels, or list of sets, default="auto"
        The first initialization, as for `odsymnmf.factorize`. "auto" is "multilevel" for squared
        errors of normalized graphs without ``weights``, "spectral" for squared errors of other
        normalized similarities, else as for `odsymnmf.factorize`. "multilevel" partitions the graph
        into ``n_clusters`` groups, one column each. "greedy" is that of the paper; "spectral" is
        cheaper for large n.
    n_init : int, default=1
        Number of initializations; the fit with the lowest objective is returned. The first is
        ``init``, the others are random, seeded by ``random_state``.
    max_iter : int, default=200
        Maximum number of iterations per initialization; an iteration (a sweep) updates every entry
        of H once.
    tol : float, default=1e-4
        Tolerance of the stopping criterion, as for `odsymnmf.factorize`.
    upper : float, "auto" or None, default="auto"
        Upper bound on the entries of H, for new items too. "auto" is, for squared errors of
        normalized similarities, 1 / sqrt(max(6, n / (5 r))): enough for groups of at least six
        items (or n / r, if that is less) and of a fifth of the mean size; else None, no bound.
    restarts : int, default=None
        Maximum number of rounds of column restarts: every column is rebuilt from scratch, and the
        new one is kept if the objective decreases. None means 10 for the losses "l1" and "mixed"
        (rounds end when one changes nothing), else 0.
    sparse_membership : bool or "auto", default="auto"
        Whether ``membership_`` is a CSR array; needs a sparse A and ``n_init=1``. "auto" is True
        for ``init="multilevel"`` if ``n_clusters`` > 64 and n_samples x ``n_clusters`` > 2^24; the
        fit is then the same but for at most 64 clusters that a sweep adds to a row. With True and
        another ``init``, for thousands of overlapping clusters, l2 penalizes memberships as in
        `odsymnmf.factorize`, and "auto" means: for ``n_clusters`` as many as the initialization
        finds, for ``init`` "ego", for ``normalize`` None, for ``upper`` (squared errors) the root
        of the largest similarity. Labels are then not refined.
    normalize : {"auto", "degree", None}, default="auto"
        "degree" clusters A_ij / sqrt(d_i d_j), d_i = sum_{j != i} A_ij, so that items with large
        degrees do not dominate the fit. "auto" does so for squared errors, with
        d_i = sum_{j != i} |A_ij| plus a quarter of their mean (for products of features >= 0: plus
        their mean), and refines labels, see ``labels_``. None clusters A itself, as the paper does.
    zero_weight : float, default=1.0
        Weight of the pairs that a sparse A does not store. Below 1, fewer items of a sparse graph
        are unassigned.
    gamma : float, default=None
        For ``affinity="rbf"``; None means 1 / n_features.
    n_neighbors : int, default=10
        For ``affinity="nearest_neighbors"``.
    n_jobs : int, default=None
        Number of threads, -1 for all cores. min(n_init, n_jobs) initializations run at a time, each
        with n_jobs // min(n_init, n_jobs) threads that share its sweeps, which are then done in
        rounds (see `odsymnmf.factorize`). The result is bit-identical for every number. None sweeps
        row by row, in one thread, which may lead to another local minimum.
    random_state : int, RandomState instance, Generator or None, default=None
        Random seed; pass an int for reproducible results.
    checkpoint : path, default=None
        A file in which the state of the fit is saved at intervals, and from which a killed fit
        resumes with a bit-identical result, as for `odsymnmf.factorize`. Further initializations
        use files next to it, with .1, .2, ... after the name. The files are not removed.
    checkpoint_every : float, default=60.0
        Minimum number of seconds between two checkpoints of an initialization.
    verbose : int, default=0
        1 shows a progress bar with the lowest objective so far (needs tqdm), 2 prints a log line
        every few seconds.

    Attributes
    ----------
    membership_ : ndarray or csr_array of shape (n_samples, n_clusters)
        H. The column with the largest total comes first. A CSR array if ``sparse_membership``.
    labels_ : ndarray of shape (n_samples,)
        The cluster with the largest membership; -1 for an item that belongs to none. With
        ``normalize="auto"``, those of graphs (at most half of the pairs linked, none below zero),
        of documents and of similarities of both signs are then refined:
        `odsymnmf.memberships.refine_labels`. With ``init="multilevel"`` they are the initial
        partition if it has more groups or a larger modularity. Label l is column l of
        ``membership_``.
    n_clusters_ : int
        Number of columns of ``membership_``. If fewer groups are found, a warning is issued and the
        last columns are zero.
    n_unassigned_ : int
        Number of items without a cluster: they have no similar items, or no cluster explains these
        similarities; `odsymnmf.memberships.assign_unassigned` assigns them to the clusters of their
        neighbors.
    settings_ : dict
        The kind of input, and the values chosen for "auto": normalize and its regularization,
        upper, init, and how labels are derived; the reasons why items are unassigned, if some are;
        in some cases a hint.
    n_clusters_search_ : NumberOfClusters
        How ``n_clusters`` was chosen, unless it was a number: the evidence for it, and a table of
        coarser and finer partitions.
    similarity_ : Dense, Sparse or Gram of `odsymnmf.similarity`
        The fitted similarities, after ``affinity`` and ``normalize``; not in pickles, and in files
        only with ``save(path, similarities=True)``. They may share memory with X: do not modify X.
    objective_ : float
        The loss at ``membership_``.
    history_ : ndarray of shape (1 + n_iter_ + len(restart_steps_),)
        The objective of the best fit: before the first sweep, after each sweep, and after each
        accepted restart of a column.
    loss_terms_ : dict or None
        For the losses "mixed" and "robust": the share of l1, and both relative losses.
    restart_steps_ : ndarray of int
        Which entries of ``history_`` follow an accepted restart.
    n_iter_ : int
        Number of iterations of the best fit.
    status_ : {"converged", "max_iter", "stopped", "interrupted"}
        Why the best fit ended; "interrupted" if Ctrl-C was pressed during any fit.
    converged_ : bool
        Whether the status is "converged": the best fit reached ``tol``.
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
    Two triangles that share item 2, which has a membership in both clusters:

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

    @plain_signature
    def __init__(
        self,
        n_clusters: int | str | Sequence[int] = 8,
        *,
        resolution: float | None = None,
        loss: LossName = "l2",
        l1_ratio: float = 0.5,
        affinity: Affinity = "precomputed",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        upper: float | str | None = "auto",
        restarts: int | None = None,
        sparse_membership: SparseMembership = "auto",
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
        self.resolution = resolution
        self.loss = loss
        self.l1_ratio = l1_ratio
        self.affinity = affinity
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.upper = upper
        self.restarts = restarts
        self.sparse_membership = sparse_membership
        self.normalize = normalize
        self.zero_weight = zero_weight
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, weights: Any = None, edge_weight: str | None = "auto"
    ) -> Self:
        """Find the memberships of the items.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_samples) or (n_samples, n_features)
            Symmetric similarities if ``affinity="precomputed"``, else one row of features per item.
            NaN off the diagonal of similarities is an unknown pair, which is left out. Similarities
            may also be a networkx or igraph graph, a DataFrame or AnnData, as
            `odsymnmf.inputs.to_similarity_matrix` explains; the names of the items are kept, and
            those of a `Dataset`, as `odsymnmf.io.read` returns. A dask
            array (of features for "cosine") is fitted by the workers of the current Dask client,
            with the options of `odsymnmf.distributed`.
        y : Ignored
            Not used, present for API consistency by convention.
        weights : {array-like, sparse matrix} of shape (n_samples, n_samples), default=None
            Weights of the pairs, symmetric and >= 0; 0 marks an unknown pair. A pair that sparse
            weights do not store keeps its ordinary weight.
        edge_weight : str or None, default="auto"
            The edge attribute with the similarities, if X is a networkx or igraph graph. With None,
            every edge has the similarity 1; "auto" is "weight", or None if no edge has it.

        Returns
        -------
        self
        """
        options, names = self._options(), None
        self._affinity = make_affinity(self)
        self._terms = self._idf = None
        if kind_of(X) == "dask":
            from odsymnmf import distributed

            names, client = getattr(X, "names", None), distributed.current_client()
            if client is not None:
                return self._fit_on_workers(client, X, weights, options)
            X = distributed.gathered(X)
            options = replace(options, n_jobs=-1 if self.n_jobs is None else self.n_jobs)
        if self.affinity == "precomputed":
            data = to_similarity_matrix(X, edge_weight=edge_weight)
            # scikit-learn stores the names of a DataFrame's columns itself.
            A = self._validated(X if kind_of(X) == "pandas" else data.matrix, reset=True)
            input_names = data.names
        else:
            X, input_names = features_and_names(X)
            A = self._affinity.fit(self._validated(X, reset=True))
        names = names or input_names
        raw = as_similarity(Dataset(A, names), weights, self.zero_weight)
        if isinstance(self.n_clusters, str | Sequence | np.ndarray):
            r = self._choose_n_clusters(raw)
        else:
            r = whole_number("n_clusters", self.n_clusters, 1)
        self._fit(raw, r, options)
        self.item_names_ = names
        return self

    def _fit_on_workers(self, client: Any, X: Any, weights: Any, options: FitOptions) -> Self:
        """Fit a Dask array on the workers of a client."""
        from odsymnmf.distributed.fit import LOCAL, RemoteSimilarity, check_options

        if self.affinity not in ("precomputed", "cosine"):
            raise ValueError(
                f'affinity={self.affinity!r} is not available on a cluster; use "precomputed" or '
                f'"cosine", or {LOCAL}.'
            )
        if self.n_init > 1:
            raise ValueError(f"n_init={self.n_init} is not available on a cluster; use n_init=1.")
        r: Any = self.n_clusters
        options = check_options(options, r, weights, self.zero_weight, name="n_clusters")
        with RemoteSimilarity(client, X, r, self.loss, self.affinity) as raw:
            self.n_features_in_ = raw.n_features or raw.n
            self._fit(raw, r, options)
        del self.similarity_
        self.item_names_ = getattr(X, "names", None)
        return self

    def _fit(self, raw: Any, r: int | None, options: FitOptions) -> None:
        """Fit ``raw`` similarities, which are not normalized yet, and set the fitted attributes."""
        kind = raw.summary.kind  # before `prepare`, which scales similarities on Dask in place
        problem = prepare(raw, r, options)
        settings = problem.settings
        self._affinity.normalization = settings.normalization
        self.settings_ = {
            "kind": kind,
            "normalize": None if settings.normalization is None else "degree",
            "regularization": settings.regularization,
            "upper": settings.upper,
            "init": settings.init if isinstance(settings.init, str) else "given",
            "labels": LABELS[settings.refine],
        }
        if self.n_init == 1 and not self.verbose:
            best = fit(problem.A, r, problem.options)
        else:
            title = type(self).__name__
            best = fit_best(problem, self.n_init, title=title, verbose=self.verbose)
        if best.status != "converged":
            warn_of(best, problem.options)
        order, rule = canonical_order(best.H), settings.refine
        H = best.H
        if sparse.issparse(H):
            H = H[:, order].sorted_indices()
        else:  # in place, because a copy may not fit into memory
            for b in blocks(len(H), width=len(order)):
                H[b] = H[b][:, order]
        graph, partition = problem.graph, problem.partition
        if rule is None:
            self.labels_ = labels(H)
        elif graph is None or partition is None:
            self.labels_ = refine_labels(H, raw, rule=rule)
        else:
            # The better of the initial partition and the labels of H, refined.
            initial = np.where(partition.labels < 0, -1, np.argsort(order)[partition.labels])
            refined = graph.refine(replace(partition, labels=labels(H)))
            best_partition = max(replace(partition, labels=initial), refined, key=graph.quality)
            self.labels_ = best_partition.labels.astype(np.intp)
        self.membership_, self.n_clusters_ = H, int(H.shape[1])
        self.n_unassigned_ = int((self.labels_ < 0).sum())
        self.objective_, self.history_, self.n_iter_ = best.objective, best.history, best.n_iter
        self.restart_steps_, self.loss_terms_ = best.restart_steps, best.loss_terms
        self.status_, self.converged_ = best.status, best.status == "converged"
        self._scales, self.similarity_ = best.scales, problem.A
        if isinstance(raw, Similarity):
            may_suit_l1 = best.scales.l1 == 0 and not settings.sparse
            self.settings_ |= remarks(raw, self.labels_, may_suit_l1=may_suit_l1)
            if self.n_unassigned_ == raw.n and raw.max_value > 0:
                warnings.warn(
                    "every item is unassigned, because no cluster has two items; use fewer "
                    "clusters, or another init",
                    stacklevel=user_stacklevel(),
                )

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity == "precomputed"
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _options(self) -> FitOptions:
        """Return the options of a fit; check the parameters that `factorize` does not have."""
        if self.resolution is not None and not (
            isinstance(self.n_clusters, str) and self.n_clusters == "auto"
        ):
            raise ValueError(
                f"resolution={self.resolution} determines the number of clusters, but "
                f'n_clusters={self.n_clusters!r}; use n_clusters="auto", or leave resolution out.'
            )
        whole_number("n_init", self.n_init, 1)
        whole_number("n_neighbors", self.n_neighbors, 1)
        if self.checkpoint is not None and self.n_init > 1 and self.random_state is None:
            raise ValueError(
                "a checkpoint with n_init > 1 needs an int as random_state: without it, a resumed "
                "fit would have other initializations."
            )
        if self.n_init > 1 and self._has_sparse_init():
            raise ValueError(
                f"n_init={self.n_init}, but sparse memberships have no random initialization; "
                "use n_init=1."
            )
        names = sorted(OPTION_NAMES & vars(self).keys())
        given = dict(zip(names, attrgetter(*names)(self), strict=True))
        options = FitOptions(**given, diagonal=self._diagonal)
        if self.n_init > 1 and options.sparse_membership == "auto":
            options = replace(options, sparse_membership=False)
        return options

    def _has_sparse_init(self) -> bool:
        """Return whether memberships are sparse by request, or initialized by ego networks."""
        is_ego = isinstance(self.init, str) and self.init == "ego"
        return self.sparse_membership is True or is_ego

    def _choose_n_clusters(self, A: Similarity) -> int | None:
        """Choose the number of clusters.

        None: the initialization of sparse memberships determines it.
        """
        r: Any = self.n_clusters
        if isinstance(r, str):
            if r != "auto":
                raise ValueError(f'n_clusters={r!r} is not known; use a number >= 1 or "auto".')
            if self._has_sparse_init():
                return None
        self.n_clusters_search_ = n_clusters(
            A,
            None if isinstance(r, str) else r,
            resolution=self.resolution,
            loss=self.loss,
            l1_ratio=self.l1_ratio,
            normalize=self.normalize,
            upper=self.upper,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        return self.n_clusters_search_.n_clusters


class SymNMF(ODSymNMF):
    """Clustering by symmetric nonnegative matrix factorization, diagonal included.

    Find memberships H >= 0 (n_samples x n_clusters) that minimize
    sum_ij w_ij (A_ij - h_i . h_j)^2 for symmetric similarities A. It is the baseline of `ODSymNMF`,
    which leaves out the terms i = j.

    Parameters, attributes and methods are those of `ODSymNMF`. The only loss is "l2", and
    memberships are dense.

    See Also
    --------
    ODSymNMF : The same without the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from odsymnmf import SymNMF
    >>> A = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 4, 4], [0, 0, 4, 4]])
    >>> SymNMF(n_clusters=2, normalize=None).fit_transform(A).round(3)
    array([[0., 1.], [0., 1.], [2., 0.], [2., 0.]])
    """

    _diagonal: Literal["ignore", "fit"] = "fit"
