"""A round over sparse memberships: rows computed against H and D as they are, then put in place.

Any number of threads may share a round: a row reads H and the sums and writes to the log of its
chunk only, and the chunks are put in place in their order. So the result depends on the rounds
alone.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odsymnmf.engine.many.memberships import empty_log
from odsymnmf.engine.many.pair_sums import with_room
from odsymnmf.engine.many.sweep import SparseL2
from odsymnmf.kernels import sparse_l2
from odsymnmf.kernels.sparse_arrays import Rows

Array = NDArray[Any]

# Rows that one task computes; fixed, so that the sums do not depend on the number of threads.
CHUNK = 2**12


def round_of(fit: SparseL2, items: Array, n_jobs: int = 1) -> tuple[float, float]:
    """Compute the rows of the items against H and D as they are, then put all of them in place.

    Return the sum of what each row alone would lower f by, which is the decrease of f but for
    pairs inside the round, and the violation. The caller must compare objectives, and go back
    to a copy of H where f has risen.
    """
    chunks = [items[b : b + CHUNK] for b in range(0, len(items), CHUNK)]
    np.maximum(fit.D.peak, fit.D.diagonal, out=fit.D.peak)
    with ThreadPoolExecutor(max(n_jobs, 1)) as pool:
        solved = list(pool.map(lambda chunk: _solved(fit, chunk), chunks))
    for chunk, (out, _, _) in zip(chunks, solved, strict=True):
        _put(fit, chunk, out)
    return sum(s[1] for s in solved), sum(s[2] for s in solved)


def _solved(fit: SparseL2, items: Array) -> tuple[Rows, float, float]:
    """Return the new rows of the items in a log of their own, their decrease and violation."""
    r = fit.H.r
    cap = r if fit.cap is None else fit.cap
    span = fit.H.rows.span[items]
    most = np.maximum(span[:, 1] - span[:, 0], min(cap, r))
    out = empty_log(len(items), 0, int(most.sum()) + 1, fit.H.dtype)
    _, _, decrease, _, violation, _ = sparse_l2.rows(
        items, fit.A, fit.w0, fit.E, fit.H.rows, fit.D, out,
        fit.price, fit.share, fit.upper, cap, False,
    )  # fmt: skip
    return out, float(decrease), float(violation)


def _put(fit: SparseL2, items: Array, out: Rows) -> None:
    done = 0
    while done < len(items):
        done, need = sparse_l2.put_rows(done, items, out, fit.H.rows, fit.D)
        if done < len(items):
            fit.H.reserve(need)
            fit.D = with_room(fit.D, need * (need - 1) // 2)
