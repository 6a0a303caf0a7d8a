"""Several starts of one estimator, and the best of what they find."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from math import isnan
from typing import Any

from odsymnmf.blas import one_thread
from odsymnmf.defaults import Settings
from odsymnmf.engine.run import Sweep
from odsymnmf.estimators.side_by_side import run_all
from odsymnmf.fitting import Fit, warn_interrupted, warn_unconverged
from odsymnmf.observers import progress
from odsymnmf.options import threads
from odsymnmf.problem import Similarity
from odsymnmf.random_state import as_random
from odsymnmf.result import Factorization

# Of a start, what is called after each of its sweeps.
Watch = Callable[[int], AbstractContextManager[Callable[[Sweep], bool]]]


def best_of(
    model: Any, A: Similarity, r: Any, settings: Settings, watch: Watch
) -> tuple[Factorization, bool]:
    """Run all starts of an estimator; of those with the lowest objective, return the first.

    And whether Ctrl-C was pressed. Warns if it was, or if the best start has not converged; the
    others' convergence is of no interest.
    """
    # Drawn before anything runs, so that n_jobs changes nothing.
    draws = as_random(model.random_state).uniform(size=model.n_init - 1)
    inits = [settings.init, *["random"] * (model.n_init - 1)]
    seeds = [model.random_state, *(int(2**32 * draw) for draw in draws)]
    # Starts first; the threads that these leave over share their sweeps.
    jobs = threads(model._threads)
    together = min(jobs or 1, model.n_init)
    each = None if jobs is None else jobs // together
    interrupted = False
    found: list[Factorization | None] = [None] * model.n_init
    title = type(model).__name__
    with progress(title, model.max_iter, model.verbose, model.n_init, model.tol) as show:

        def run(start: int) -> None:
            nonlocal interrupted
            if interrupted:
                return

            def callback(sweep: Sweep) -> bool:
                show(sweep, start)
                return after(sweep)

            with watch(start) as after:
                fit = Fit(
                    loss=model.loss,
                    l1_ratio=model.l1_ratio,
                    init=inits[start],
                    diagonal=model._diagonal,
                    max_iter=model.max_iter,
                    tol=model.tol,
                    upper=settings.upper,
                    restarts=model.restarts,
                    memberships="sparse" if settings.sparse else "full",
                    n_jobs=each,
                    random_state=seeds[start],
                    callback=callback,
                    checkpoint=_checkpoint_of(model.checkpoint, start),
                    checkpoint_every=model.checkpoint_every,
                )
                f = fit(A, r)
            # Ctrl-C ends a start early; who pressed it does not want the others either.
            interrupted |= f.status == "interrupted"
            found[start] = f
            show(None, start)

        # Where starts share the cores, BLAS should not ask for them too.
        with nullcontext() if together == 1 else one_thread():
            try:
                run_all(run, model.n_init, together)
            except KeyboardInterrupt:
                interrupted = True
                if all(f is None for f in found):  # before the first sweep of a start
                    raise
    # Where Ctrl-C came before it was known, the objective is NaN.
    best = min((f for f in found if f is not None), key=lambda f: (isnan(f.objective), f.objective))
    if interrupted:
        warn_interrupted(best.n_iter, stacklevel=4)
    elif best.status == "max_iter" and model.max_iter > 0:
        warn_unconverged(model.tol, model.max_iter, stacklevel=4)
    return best, interrupted


def _checkpoint_of(path: Any, start: int) -> str | None:
    """Return the checkpoint of a start: the first at the path, the others next to it."""
    if path is None:
        return None
    return f"{path}.{start}" if start else f"{path}"
