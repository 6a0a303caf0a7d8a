"""What an estimator decides for its user, and what it tells."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.choose import n_clusters
from odsymnmf.engine.losses import Scales
from odsymnmf.engine.many.choice import STARTS, sparse_is_chosen
from odsymnmf.options import whole_number
from odsymnmf.problem import Outline, Similarity

# Of the pairs inside clusters, so many are linked where groups are nearly complete.
NEARLY_COMPLETE = 0.8


def is_sparse(estimator: Any, A: Similarity) -> bool:
    """Say whether memberships are kept by their non-zeros; ValueError if that is not possible."""
    r, how, init = estimator.n_clusters, estimator.memberships, estimator.init
    asked = how == "sparse" or (isinstance(init, str) and init in STARTS)
    several = estimator.n_init > 1
    if several and asked:
        raise ValueError(
            f"n_init={estimator.n_init}, but there are no random starts for sparse memberships; "
            "use n_init=1."
        )
    columns: int | None = 1
    if not isinstance(r, str | Sequence | np.ndarray):
        columns = whole_number("n_clusters", r, 1)
    elif asked and isinstance(r, str) and r == "auto":
        columns = None
    elif asked and not isinstance(r, str):
        raise ValueError(
            "sparse memberships are not compared for several numbers of clusters; use "
            'n_clusters="auto" or one number.'
        )
    how = "full" if several and how == "auto" else how
    options = {"loss": estimator.loss, "diagonal": estimator._diagonal, "init": init}
    return sparse_is_chosen(how, A, columns, **options)


def number_of_clusters(estimator: Any, A: Similarity) -> int:
    """Return the number of clusters, which is found first if it is not given."""
    r = estimator.n_clusters
    if not isinstance(r, str | Sequence | np.ndarray):
        return whole_number("n_clusters", r, 1)
    if isinstance(r, str) and r != "auto":
        raise ValueError(f'n_clusters={r!r} is not known; use a number >= 1 or "auto".')
    estimator.choice_ = n_clusters(
        A,
        None if isinstance(r, str) else r,
        loss=estimator.loss,
        l1_ratio=estimator.l1_ratio,
        normalize=estimator.normalize,
        upper=estimator.upper,
        n_jobs=estimator.n_jobs,
        random_state=estimator.random_state,
        verbose=estimator.verbose,
    )
    return int(estimator.choice_.n_clusters)


def without_cluster(seen: Outline | None, labels: Array) -> dict[str, str]:
    """Return why items are left without a cluster, under "unassigned", or nothing."""
    rest = labels < 0
    total = int(rest.sum())
    if total == 0 or seen is None:
        return {}
    alone = int((seen.degrees[rest] == 0).sum())
    reasons = [
        f"{alone} similar to no other item" if alone else "",
        f"{total - alone} whose similarities no cluster explains" if total > alone else "",
    ]
    return {"unassigned": ", ".join(filter(None, reasons))}


def hint(A: Similarity, seen: Outline, scales: Scales, labels: Array) -> dict[str, str]:
    """Return what the user may want to try instead, under "hint", or nothing.

    Absolute errors are at their best where A is binary and clusters are nearly complete.
    """
    if scales.l1 > 0 or not seen.binary or seen.filled == 1.0:
        return {}
    held = np.flatnonzero(labels >= 0)
    Z = sparse.csr_array((np.ones(len(held)), (held, labels[held])), (A.n, int(labels.max()) + 1))
    K = A.product(Z.toarray().astype(A.dtype))
    linked = K[held, labels[held]].sum(dtype=np.float64) / max(A.largest, np.finfo(float).tiny)
    sizes = np.bincount(labels[held]).astype(np.float64)
    pairs = float(np.sum(sizes * (sizes - 1)))
    if pairs == 0 or linked / pairs < NEARLY_COMPLETE:
        return {}
    return {
        "hint": f"similarities are 0 or one value, and {100 * linked / pairs:.0f} % of the pairs "
        'inside clusters have it: loss="l1" is made for such groups with some entries wrong'
    }
