"""A fit whose matrix is elsewhere: the same start, sweeps and end, made by a crew."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from odsymnmf.blas import one_thread
from odsymnmf.distributed.elsewhere import CrewRounds, Elsewhere
from odsymnmf.distributed.member import Fit
from odsymnmf.engine.checkpoint import complete
from odsymnmf.engine.how import How
from odsymnmf.engine.losses import Loss, loss_class, make_loss
from odsymnmf.engine.losses.measures import row_tiles
from odsymnmf.engine.magnitude import Magnitude, within_reason
from odsymnmf.engine.run import Run
from odsymnmf.engine.starts import named_or_array, start
from odsymnmf.engine.sweeps import NO_RISE
from odsymnmf.options import bound, whole_number
from odsymnmf.problem.rounds import tiles
from odsymnmf.random_state import as_random
from odsymnmf.result import Factorization, of_run

# Starts that need products with A and nothing else.
STARTS = ("random", "spectral", "nndsvd")
HERE = "fit it on one machine, with factorize(A.compute(), ...)"


def fit(
    A: Elsewhere, r: Any, how: How, weights: Any = None, zero_weight: float = 1.0
) -> Factorization:
    """Find H, as `odsymnmf.factorize` does with ``n_jobs``; its parameters have the same meaning.

    Returns
    -------
    Factorization
    """
    r = _checked(A, r, how, weights, zero_weight)
    rng, diagonal, l1_ratio = as_random(how.random_state), how.diagonal, how.l1_ratio
    init = "spectral" if isinstance(how.init, str) and how.init == "auto" else how.init
    by_products = loss_class(how.loss, diagonal, l1_ratio).by_products
    with one_thread(), _loaded(A, r, by_products) as (magnitude, scaled):
        lighter = scaled.seen.unknown > 0
        limit = within_reason(scaled, float(magnitude.down(bound(how.upper))), diagonal, lighter)
        measure = make_loss(how.loss, scaled, limit, diagonal=diagonal, l1_ratio=l1_ratio)
        _tell(scaled, measure)
        first = named_or_array(init, scaled, r, magnitude.down)
        kept = how.kept(lambda: scaled.fingerprint, r, init, first, restarts=0, rounds=True)
        saved = kept and kept.read((A.n, r), A.dtype)
        H = saved[0].H if saved else start(measure, r, first, rng)
        run = Run(
            measure,
            H,
            max_iter=how.max_iter,
            tol=how.tol,
            callback=magnitude.callback(measure, how.callback),
            keep=None if kept is None else kept.keep,
            rounds=CrewRounds(measure, scaled.crew),
        )
        H = complete(run, kept, saved)
    return of_run(run, H, magnitude)


@contextmanager
def _loaded(A: Any, r: int, by_products: bool) -> Iterator[tuple[Magnitude, Any]]:
    """Have the rows loaded, and brought into the range of floating point if need be."""
    cut = tiles(A.n, r, A.entries) if by_products else row_tiles(A, r)
    try:
        A.load(cut)
        magnitude = Magnitude.of(A)
        if magnitude.e:
            A.close()
            A = A.scaled_by(np.full(A.n, 2.0 ** (-magnitude.e // 2)))
            A.load(cut)
        yield magnitude, A
    finally:
        A.close()


def _tell(A: Elsewhere, measure: Loss) -> None:
    """Tell the members what is to be minimised."""
    allowed = NO_RISE * measure.objective(np.zeros((A.n, 1), dtype=A.dtype))
    A.crew.set_fit(Fit(measure.for_parts(), allowed))


def _checked(A: Elsewhere, r: Any, how: How, weights: Any, zero_weight: float) -> int:
    """Refuse what needs the matrix in one place, with a remedy."""
    init, loss = how.init, how.loss
    if isinstance(init, str) and init not in ("auto", *STARTS):
        offered = ", ".join(repr(name) for name in STARTS)
        raise ValueError(
            f"init={init!r} needs the matrix in one place, and this one is on the workers of a "
            f"cluster; use {offered}, an array (n x r), labels or sets, or {HERE}."
        )
    if how.memberships == "sparse" or isinstance(r, str):
        raise ValueError(
            "on a cluster H is stored in full, with a number of clusters that is given; give r and "
            f'leave memberships="sparse" out, or {HERE}.'
        )
    if weights is not None or zero_weight != 1.0:
        raise ValueError(
            "weights and zero_weight are not known on a cluster; leave them out (NaN marks an "
            f"unknown pair there, too), or {HERE}."
        )
    if how.restarts:
        raise ValueError(
            f"restarts={how.restarts}, but columns are rebuilt from a matrix in one place; "
            f"leave restarts out, or {HERE}."
        )
    if A.blocks.m and not loss_class(loss, how.diagonal, how.l1_ratio).by_products:
        raise ValueError(
            f'loss="{loss}" needs the similarities of documents one by one, of which a cluster has '
            f'but their products; use loss="l2", or {HERE}.'
        )
    return whole_number("r", r, 1)
