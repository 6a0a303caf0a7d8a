"""From a problem to sparse memberships: a start, mergers, sweeps, and the result."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, as_csr
from odsymnmf.engine.many import peers, starts
from odsymnmf.engine.many.checkpoint import SparseCheckpoint
from odsymnmf.engine.many.find import merged
from odsymnmf.engine.many.losses import KINDS, SparseFit
from odsymnmf.engine.many.memberships import Memberships
from odsymnmf.engine.many.rounds import SparseRounds
from odsymnmf.engine.many.run import SparseRun
from odsymnmf.engine.many.sweep import CAP, links
from odsymnmf.engine.run import Callback, Status
from odsymnmf.engine.sets import as_sets
from odsymnmf.engine.team import Team
from odsymnmf.kernels.sparse_arrays import Links
from odsymnmf.problem import Similarity
from odsymnmf.problem.weights import reordered_weights
from odsymnmf.random_state import RandomSource


class Found(NamedTuple):
    """Memberships as a CSR array, f there, its history with the price, and how it ended."""

    H: sparse.csr_array
    objective: float
    history: Array
    n_iter: int
    status: Status


def fit(
    A: Similarity,
    r: int | None,
    init: Any,
    rng: RandomSource,
    *,
    loss: str,
    upper: float,
    max_iter: int,
    tol: float,
    callback: Callback | None,
    n_jobs: int | None = None,
    checkpoint: SparseCheckpoint | None = None,
) -> Found:
    """Return sparse memberships of r clusters, or of as many as the start finds.

    Items are swept in the order of their strongest cluster: neighbours in the graph are then
    neighbours in memory.

    Parameters
    ----------
    A : Sparse
        Whose pairs are stored.
    r : int or None
        Number of columns; None for what the start finds, without those that end empty or
        nearly repeat another.
    init : str, labels, list of sets, CSR array or array
        See `odsymnmf.factorize`.
    rng : source of random numbers
    loss : {"l2", "l1"}
    upper, max_iter, tol, callback, n_jobs
        As for `odsymnmf.factorize`.
    checkpoint : SparseCheckpoint, optional
        Where the fit is written down, and goes on from.
    """
    saved = checkpoint and checkpoint.read((A.n, r or 0), A.dtype)
    stored = links(A.links())
    if saved:
        order = saved.order
    else:
        H, grown = _start(stored, r, init, rng)
        H.data = np.minimum(H.data, upper)
        order = starts.order_by_strongest(H)
    there, weights = starts.reordered(stored, order), reordered_weights(A.weights, order)
    del stored
    with Team(n_jobs or 1) as team:
        rounds = None if n_jobs is None else SparseRounds(team)

        def make(M: Memberships) -> SparseFit:
            return KINDS[loss](there, M, weights, upper=upper, rounds=rounds)

        if saved:
            M = Memberships(saved.H, A.dtype)
        else:
            M = Memberships(H[order], A.dtype)
            if grown:
                M = _best(merged(there, M, make), r)
            elif r is None:
                _without_repeats(M, upper)
        keep = None if checkpoint is None else checkpoint.keep
        run = SparseRun(make(M), order, max_iter=max_iter, tol=tol, callback=callback, keep=keep)
        if checkpoint and saved:
            checkpoint.resume(run, saved, None)
        M = run.complete()
    if checkpoint and run.status != "interrupted":
        checkpoint.end(run)
    if r is None and not run.hurried:
        if _without_repeats(M, upper):
            run.end_at(M)
        M.drop_empty()
    H = run.as_given(M)
    _tell_of_hubs(H)
    # Where there is no cluster at all, one that is empty.
    H.resize(A.n, max(1, H.shape[1]) if r is None else r)
    return Found(H, run.end, run.history, run.state.n_iter, run.status)


def sparse_objective(A: Similarity, H: Any, loss: str) -> float:
    """Return f(H) for sparse memberships, without a price, at the cost of what A and H store."""
    if H.shape[0] != A.n:
        raise ValueError(f"H has shape {H.shape}; it must have n = {A.n} rows.")
    return KINDS[loss](links(A.links()), Memberships(H, A.dtype), A.weights).objective()


def _start(A: Links, r: int | None, init: Any, rng: RandomSource) -> tuple[sparse.csr_array, bool]:
    """Return memberships to begin with, and whether they were found here: then parts may merge."""
    n = len(A.indptr) - 1
    if isinstance(init, str):
        if init in ("auto", "ego"):
            sets = starts.ego_networks(A)
        elif init == "leiden":
            sets = peers.leiden_sets(A, seed=int(2**32 * rng.uniform()))
        else:
            sets = peers.label_propagation_sets(A, seed=int(2**32 * rng.uniform()))
        return starts.memberships_of(A, sets), True
    given = as_sets(init, n, r)
    if given is not None:
        return starts.memberships_of(A, given), False
    H = as_csr(init, "init").copy() if sparse.issparse(init) else sparse.csr_array(init)
    if H.shape[0] != n or (r is not None and H.shape[1] != r):
        raise ValueError(f"init has shape {H.shape}; it must be (n, r) = ({n}, {r or 'any'}).")
    if H.dtype.kind not in "biuf":
        raise ValueError(f"init must hold real numbers; got dtype {H.dtype}.")
    return Memberships(H.astype(np.float64)).csr(), False


def _without_repeats(M: Memberships, upper: float) -> bool:
    """Make one column of those that are nearly the same; say if there were any."""
    merged = M.merge_repeated() > 0
    if merged:
        np.minimum(M.rows.value, upper, out=M.rows.value)
    return merged


def _tell_of_hubs(H: sparse.csr_array) -> None:
    """Warn of items with as many memberships as the rule for hubs lets them take up."""
    hubs = np.flatnonzero(np.diff(H.indptr) >= CAP)
    if len(hubs):
        warnings.warn(
            f"items with {CAP} memberships or more: {len(hubs)}, the first is {hubs[0]}. A sweep "
            f"tries no more than {CAP} clusters that are new to an item, so such hubs may belong "
            'to others, too; leave them out of A, or use memberships="full".',
            stacklevel=4,
        )


def _best(M: Memberships, r: int | None) -> Memberships:
    """Keep the r columns that alone explain most, where there are more."""
    if r is None or M.r == r:
        return M
    if M.r < r:
        warnings.warn(
            f"the start finds {M.r} clusters, fewer than r={r}: the other columns stay empty. Use "
            'r="auto", give more sets with init=, or use memberships="full".',
            stacklevel=4,
        )
        return M
    H = M.csr()
    squares = np.bincount(H.indices, weights=H.data.astype(np.float64) ** 2, minlength=M.r)
    fourths = np.bincount(H.indices, weights=H.data.astype(np.float64) ** 4, minlength=M.r)
    best = np.argsort(-(squares**2 - fourths), kind="stable")[:r]
    M.keep_columns(np.sort(best))
    return M
