"""The paper's baseline: clustering with self-similarities."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from odsymnmf.estimators.affinity import Affinity
from odsymnmf.estimators.odsymnmf import ODSymNMF
from odsymnmf.random_state import RandomState


class SymNMF(ODSymNMF):
    """Cluster the items behind similarities, self-similarities included: symmetric NMF.

    Find memberships H >= 0 (n_samples x n_clusters) that minimise
    sum_ij w_ij (A_ij - h_i . h_j)^2 for symmetric similarities A. It is the baseline of `ODSymNMF`,
    which leaves out the terms i = j: self-similarities that mean nothing pull H away from the
    rest.

    Parameters
    ----------
    n_clusters : int, "auto" or sequence of int, default=8
        Number of clusters, the columns of H. "auto" chooses it with `odsymnmf.choose.n_clusters`,
        a sequence such as ``range(2, 31)`` chooses the best of these.
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
        upper, init, how labels are read; in some cases a hint.
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
    restarts_ : ndarray of int
        Which entries of ``history_`` follow an accepted restart.
    n_iter_ : int
        Number of iterations of the best start.
    status_ : {"converged", "max_iter", "stopped", "interrupted"}
        Why the best start ended; "interrupted" if Ctrl-C was pressed in any.
    converged_ : bool
        Whether the best start reached ``tol``.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, where those are all strings.

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

    def __init__(
        self,
        n_clusters: int | str | Sequence[int] = 8,
        *,
        affinity: Affinity = "precomputed",
        init: Any = "auto",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        upper: float | str | None = "auto",
        restarts: int | None = None,
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
        super().__init__(
            n_clusters,
            affinity=affinity,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            upper=upper,
            restarts=restarts,
            normalize=normalize,
            zero_weight=zero_weight,
            gamma=gamma,
            n_neighbors=n_neighbors,
            n_jobs=n_jobs,
            random_state=random_state,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            verbose=verbose,
        )
