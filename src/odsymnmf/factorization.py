"""factorize(A, r), whose result is a `fit.Factorization`, and the objective of a given H."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from odsymnmf.defaults import why_not_sparse
from odsymnmf.fit import (
    OPTION_NAMES,
    Factorization,
    FitOptions,
    LossName,
    SparseMembership,
    fit,
    prepare,
    warn_of,
)
from odsymnmf.init.arrays import from_array
from odsymnmf.inputs import Dataset, kind_of, to_similarity_matrix
from odsymnmf.similarity import as_similarity
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.run import Callback
from odsymnmf.utils import RandomState, limit_blas_threads, plain_signature, whole_number


@plain_signature
def factorize(
    A: Any,
    r: int | Literal["auto"],
    *,
    loss: LossName = "l2",
    l1_ratio: float = 0.5,
    init: Any = "auto",
    diagonal: Literal["ignore", "fit"] = "ignore",
    weights: Any = None,
    zero_weight: float = 1.0,
    max_iter: int = 200,
    tol: float = 1e-4,
    upper: float | Literal["auto"] | None = "auto",
    restarts: int | None = None,
    sparse_membership: SparseMembership = "auto",
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callback: Callback | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 60.0,
) -> Factorization:
    """Find H >= 0 with A_ij ~ (H H^T)_ij for every pair i != j.

    Minimize sum_{i != j} w_ij |A_ij - h_i . h_j|^p over H >= 0 (n x r), p = 2 or 1, by exact
    coordinate descent, row by row. The diagonal of A is ignored.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Symmetric similarities; `odsymnmf.similarity.cosine(X)` for documents. A networkx or igraph
        graph, a DataFrame or AnnData is accepted too (`odsymnmf.inputs.to_similarity_matrix`), and
        a dask array in blocks of rows, which the workers of the current Dask client share
        (`odsymnmf.distributed`). Negative similarities keep items in different clusters. float32
        and float64 are preserved. NaN off the diagonal (or a masked entry) marks an unknown pair,
        which is left out.
    r : int or "auto"
        Number of columns of H, the clusters. "auto", with sparse memberships: the number that the
        initialization finds, perhaps thousands (for dense memberships, see
        `odsymnmf.choose.n_clusters`).
    loss : {"l2", "l1", "mixed", "robust"}
        Squared errors; absolute errors, better for binary A with wrong or missing links; a
        weighted sum of both, each relative to its value at H = 0, with weight ``l1_ratio`` on
        l1; or the larger of these two.
    l1_ratio : float
        Weight of l1 in ``loss="mixed"``, from 0 (l2) to 1 (l1).
    init : str, array (n x r), labels, or list of sets
        Initial memberships. "auto" is "greedy"; for l2 and more than 500 items it is "multilevel"
        if A is a graph (nonnegative, at most half of the pairs nonzero, no weights), else
        "spectral". With ``sparse_membership=True`` it is "ego". Labels are one integer per item, -1
        for none; sets hold the indices of items and may overlap. "multilevel" partitions the graph
        of the positive similarities into r groups, by local moving on coarse graphs. For sparse
        memberships: "multilevel", "ego" (sets of neighbors, which need no number of clusters),
        labels, sets, or a sparse array (n x r). For dense ones: "multilevel", "greedy", "spectral",
        "random", "zero", an array, labels or sets. "greedy" is that of the paper, "spectral" the
        fastest on large graphs.
    diagonal : {"ignore", "fit"}
        "fit" includes the diagonal: symNMF, for l2 only.
    weights : array-like or sparse of shape (n, n), optional
        Weight of every pair, symmetric and >= 0; 0 marks an unknown pair. Pairs that are not
        stored in sparse weights keep their default weight.
    zero_weight : float
        Weight of the pairs that a sparse A does not store. Below 1, l1 and l2 explain more of the
        links of a sparse graph, at the expense of pairs that are not linked.
    max_iter : int
        Maximum number of sweeps; a sweep updates every entry of H once. Sweeps over a few items
        after a restart are not counted.
    tol : float
        Stop when the violation of the optimality conditions has decreased to this fraction of
        its value in the first sweep (l2), or no entry changes by more than this fraction of the
        largest one (l1). With ``init="multilevel"`` and l2, also stop when a sweep adds at most
        10 tol of the explained part of the objective.
    upper : float, "auto" or None
        Upper bound on the entries of H. "auto" and None mean no bound; with sparse memberships and
        l2, the square root of the largest similarity. Entries of hubs can grow without bound: a
        limit of 10,000 times the square root of the largest similarity applies (32 times if
        some pairs have a smaller weight than others). For binary A, ``upper=1`` gives memberships
        between 0 and 1.
    restarts : int, optional
        Maximum number of rounds of column restarts. When a sweep changes little, every column in
        turn is removed and rebuilt greedily on the residual of the others; the new column is
        kept if it lowers the objective. Restarts end after a round without a change, or when they
        have taken as much work as 50 sweeps per round. None means 10 for l1, which
        otherwise depends strongly on its initialization, and 0 for l2 and for sparse memberships.
    sparse_membership : bool or "auto"
        Whether H is a CSR array, at a cost that depends on the number of memberships and not on r;
        for a sparse A, l2 and l1. l1 is the same problem either way. In l2, memberships are then
        penalized, because H would fill with small entries: one is kept if it lowers the objective
        by more than 0.05 of the decrease that the item's best cluster alone would give; with
        ``init="multilevel"`` there is no penalty, and a cluster is added to a row if it alone would
        give 0.003 of that decrease. A sweep adds at most 64 clusters to a row. "auto" is False,
        unless r is above 500 (64 with "multilevel") and n r above 2^24, H does not fit into memory,
        or r or init require sparse memberships.
    n_jobs : int, optional
        Number of threads that share a sweep, -1 for all cores. A sweep is then done in rounds,
        see the notes. The result is bit-identical for every number. None sweeps row by
        row, in one thread, and may end in another local minimum.
    random_state : int, Generator, RandomState or None
        Seed of the random initializations. The same input and seed give a bit-identical result.
    callback : callable, optional
        Called after every sweep with an object that has ``n_iter``, ``objective`` and ``H``,
        and after every attempt to rebuild a column, whose number is then in ``column`` (else
        None). Returning True stops the fit. With sparse memberships of many items, it is also
        called during a sweep; ``rows`` is then the number of rows done (else None).
    checkpoint : path, optional
        A file to which the state of the fit is saved after the initialization, then every
        ``checkpoint_every`` seconds, and at the end. If it exists, the fit resumes from it, with a
        result that is bit-identical to that of an uninterrupted fit; a complete fit is not
        repeated. A file of other data, parameters or another version raises an error. The file is
        not removed.
    checkpoint_every : float
        Minimum number of seconds between two writes; 0 writes after every step.

    Returns
    -------
    Factorization

    Warns
    -----
    ConvergenceWarning
        If ``max_iter`` sweeps do not reach ``tol``, and labels changed in the second half of them.
    InterruptedWarning
        If Ctrl-C ended the fit.

    Notes
    -----
    Ctrl-C returns the state after the last complete sweep or accepted restart, with status
    "interrupted" and a warning; during the initialization, and at a second Ctrl-C,
    KeyboardInterrupt is raised.
    The largest |A_ij| must be from 1e-60 to 1e60 (float32: 1e-12 to 1e12), or zero, because fourth
    powers of entries of H are computed.

    With ``n_jobs``, a sweep has 16 rounds. In a round, a sixteenth of the rows is updated at the
    same time, each given H at the beginning of the round; the round is split if the objective would
    increase. The initialization and column restarts use one thread.

    Examples
    --------
    Two clusters that share an item; with the diagonal, A has no exact factorization:

    >>> import odsymnmf as od
    >>> f = od.factorize([[1, 1, 0], [1, 1, 1], [0, 1, 1]], 2, loss="l1")
    >>> f.H
    array([[1., 0.],
           [1., 1.],
           [0., 1.]])
    >>> f.objective
    0.0
    """
    options = FitOptions(
        **{name: value for name, value in locals().items() if name in OPTION_NAMES}
    )
    names, client = None, None
    if kind_of(A) == "dask":
        from odsymnmf import distributed

        names, client = getattr(A, "names", None), distributed.current_client()
        if client is None:
            A = distributed.gathered(A)
            options = replace(options, n_jobs=-1 if n_jobs is None else n_jobs)
    if client is not None:
        from odsymnmf.distributed.fit import RemoteSimilarity, check_options

        options = check_options(options, r, weights, zero_weight)
        with RemoteSimilarity(client, A, int(r), loss) as remote:
            problem = prepare(remote, int(r), options)  # type: ignore[arg-type]
            result = fit(problem.A, problem.r, problem.options)
    else:
        data = to_similarity_matrix(A)
        names = names or data.names
        similarity = as_similarity(Dataset(data.matrix, names), weights, zero_weight)
        count = None if isinstance(r, str) and r == "auto" else whole_number("r", r, 1)
        problem = prepare(similarity, count, options)
        result = fit(problem.A, problem.r, problem.options)
    warn_of(result, options)
    return replace(result, names=names)


def objective(
    A: Any,
    H: Any,
    loss: LossName = "l2",
    diagonal: Literal["ignore", "fit"] = "ignore",
    *,
    l1_ratio: float = 0.5,
    weights: Any = None,
    zero_weight: float = 1.0,
) -> float:
    """Return sum_{i != j} w_ij |A_ij - h_i . h_j|^p, p = 2 or 1.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Symmetric similarities.
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    loss : {"l2", "l1", "mixed", "robust"}
        p = 2, p = 1, or both, as for `factorize`.
    diagonal : {"ignore", "fit"}
        "fit" adds the terms i = j (l2 only).
    l1_ratio : float
        Weight of l1 in ``loss="mixed"``.
    weights, zero_weight
        Weights of the pairs, as for `factorize`.

    Returns
    -------
    float

    Examples
    --------
    >>> import odsymnmf as od
    >>> od.objective([[0, 1], [1, 0]], [[1], [3]], loss="l1")
    4.0
    """
    similarity = as_similarity(A, weights, zero_weight)
    if sparse.issparse(H):
        reason = why_not_sparse(similarity, loss, diagonal)
        if reason is not None:
            raise ValueError(f"the objective of a sparse H {reason}")
        from odsymnmf.solvers.sparse_h import SparseH, links
        from odsymnmf.solvers.sparse_losses import SPARSE_LOSSES

        if H.shape[0] != similarity.n:
            raise ValueError(f"H has shape {H.shape}; it must have n = {similarity.n} rows.")
        M, stored = SparseH(H, similarity.dtype), links(similarity.to_csr())
        return SPARSE_LOSSES[loss](stored, M, similarity.weights).objective()
    H = np.atleast_2d(np.asarray(H))
    H = from_array(similarity, H.shape[1], H, "H")
    with limit_blas_threads(), np.errstate(over="ignore"):
        solver = make_solver(loss, similarity, np.inf, diagonal=diagonal, l1_ratio=l1_ratio)
        return float(solver.objective(H))
