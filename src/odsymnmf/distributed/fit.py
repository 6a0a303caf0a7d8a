"""A fit whose matrix is elsewhere: the same start, sweeps and end, made by a crew."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import odsymnmf
from odsymnmf.arrays import Array
from odsymnmf.blas import one_thread
from odsymnmf.distributed.elsewhere import CrewRounds, Elsewhere
from odsymnmf.distributed.member import Fit
from odsymnmf.engine.checkpoint import Checkpoint, array_of, seed_of
from odsymnmf.engine.losses import Loss, Scales, make_loss, only_squares
from odsymnmf.engine.losses.measures import row_tiles
from odsymnmf.engine.run import Callback, Run, Status
from odsymnmf.engine.scale import Scale, within_reason
from odsymnmf.engine.sets import as_sets
from odsymnmf.engine.starts import of_sets, start
from odsymnmf.engine.sweeps import ROUNDING
from odsymnmf.options import bound, number, whole_number
from odsymnmf.problem.rounds import tiles
from odsymnmf.random_state import RandomState, as_random

# Starts that need products with A and nothing else.
STARTS = ("random", "spectral", "nndsvd")
HERE = "fit it on one machine, with factorize(A.compute(), ...)"


class Found(NamedTuple):
    """What a fit has come to, as `odsymnmf.Factorization` has it."""

    H: Array
    objective: float
    history: Array
    n_iter: int
    status: Status
    restarts: Array
    mix: dict[str, float] | None
    scales: Scales


def fit(
    A: Elsewhere,
    r: Any,
    *,
    loss: Any = "l2",
    l1_ratio: float = 0.5,
    init: Any = "auto",
    diagonal: Any = "ignore",
    weights: Any = None,
    zero_weight: float = 1.0,
    max_iter: int = 200,
    tol: float = 1e-4,
    upper: float | None = None,
    restarts: int | None = None,
    memberships: str = "auto",
    random_state: RandomState = None,
    callback: Callback | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 60.0,
) -> Found:
    """Find H, as `odsymnmf.factorize` does with ``n_jobs``; its parameters have the same meaning.

    Returns
    -------
    Found
    """
    r = _checked(
        A,
        r,
        loss=loss,
        init=init,
        weights=weights,
        zero_weight=zero_weight,
        restarts=restarts,
        memberships=memberships,
    )
    max_iter, tol = whole_number("max_iter", max_iter, 0), number("tol", tol, 0)
    rng = as_random(random_state)
    if isinstance(init, str) and init == "auto":
        init = "spectral"
    squares = loss == "mixed" and l1_ratio == 0
    with one_thread(), _loaded(A, r, "l2" if squares else loss) as (scale, scaled):
        lighter = scaled.seen.unknown > 0
        limit = within_reason(scaled, float(scale.down(bound(upper))), diagonal, lighter)
        measure = make_loss(loss, scaled, limit, diagonal=diagonal, l1_ratio=l1_ratio)
        _tell(scaled, measure, limit)
        first = _first(init, scaled, r, scale)
        kept = None
        if checkpoint is not None:
            every = number("checkpoint_every", checkpoint_every, 0)
            identity = {
                "version": odsymnmf.__version__,
                "memberships": "full",
                "data": scaled.fingerprint,
                "init": init if isinstance(init, str) else "array",
                "start": array_of(first),
                "random_state": seed_of(random_state),
                **{"r": r, "loss": loss, "diagonal": diagonal, "l1_ratio": float(l1_ratio)},
                **{"max_iter": max_iter, "tol": tol, "upper": bound(upper), "restarts": 0},
                "rounds": True,
            }
            kept = Checkpoint(checkpoint, every, identity)
        saved = kept and kept.read((A.n, r), A.dtype)
        H = saved[0].H if saved else start(measure, r, first, rng)
        run = Run(
            measure,
            H,
            max_iter=max_iter,
            tol=tol,
            callback=scale.callback(measure, callback),
            keep=None if kept is None else kept.keep,
            sweeps=CrewRounds(measure, scaled.crew),
        )
        if kept and saved:
            kept.resume(run, *saved)
        H = run.complete()
        if kept and run.status != "interrupted":
            kept.end(run)
    history = scale.value(measure, run.history)
    return Found(
        scale.up(H),
        float(history[-1]),
        history,
        run.state.n_iter,
        run.status,
        np.empty(0, dtype=np.intp),
        run.mix,
        scale.scales(measure),
    )


@contextmanager
def _loaded(A: Any, r: int, loss: str) -> Iterator[tuple[Scale, Any]]:
    """Have the rows loaded, and brought into the range of floating point if need be."""
    cut = tiles(A.n, r, A.entries) if only_squares(loss) else row_tiles(A, r)
    try:
        A.load(cut)
        scale = Scale.of(A)
        if scale.e:
            A.close()
            A = A.scaled_by(np.full(A.n, 2.0 ** (-scale.e // 2)))
            A.load(cut)
        yield scale, A
    finally:
        A.close()


def _tell(A: Elsewhere, measure: Loss, limit: float) -> None:
    """Tell the members what is to be minimised."""
    name = {"symnmf": "l2", "robust": "mixed"}.get(measure.name, measure.name)
    diagonal = "fit" if measure.name == "symnmf" else "ignore"
    allowed = ROUNDING * measure.objective(np.zeros((A.n, 1), dtype=A.dtype))
    A.crew.set_fit(Fit(name, diagonal, limit, getattr(measure, "zero", None), allowed))


def _first(init: Any, A: Any, r: int, scale: Scale) -> Any:
    """Return the start by name, or as an array (n x r) for A, which is scaled."""
    if isinstance(init, str):
        return init
    sets = as_sets(init, A.n, r)
    if sets is not None:
        return of_sets(A, r, sets)
    return scale.down(init.toarray() if sparse.issparse(init) else init)


def _checked(A: Elsewhere, r: Any, **asked: Any) -> int:
    """Refuse what needs the matrix in one place, with a remedy."""
    init, loss = asked["init"], asked["loss"]
    if isinstance(init, str) and init not in ("auto", *STARTS):
        offered = ", ".join(repr(name) for name in STARTS)
        raise ValueError(
            f"init={init!r} needs the matrix in one place, and this one is on the workers of a "
            f"cluster; use {offered}, an array (n x r), labels or sets, or {HERE}."
        )
    if asked["memberships"] == "sparse" or isinstance(r, str):
        raise ValueError(
            "on a cluster H is stored in full, with a number of clusters that is given; give r and "
            f'leave memberships="sparse" out, or {HERE}.'
        )
    if asked["weights"] is not None or asked["zero_weight"] != 1.0:
        raise ValueError(
            "weights and zero_weight are not known on a cluster; leave them out (NaN marks an "
            f"unknown pair there, too), or {HERE}."
        )
    if asked["restarts"]:
        raise ValueError(
            f"restarts={asked['restarts']}, but columns are rebuilt from a matrix in one place; "
            f"leave restarts out, or {HERE}."
        )
    if A.blocks.m and not only_squares(loss):
        raise ValueError(
            f'loss="{loss}" needs the similarities of documents one by one, of which a cluster has '
            f'but their products; use loss="l2", or {HERE}.'
        )
    return whole_number("r", r, 1)
