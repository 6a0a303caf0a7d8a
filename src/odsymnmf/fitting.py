"""One fit, from checked similarities to a result: which storage, start, loss and run it takes."""

import warnings
from functools import partial
from typing import Any, Literal

import numpy as np

import odsymnmf
from odsymnmf.blas import one_thread, threads_for
from odsymnmf.defaults import usual_start
from odsymnmf.engine.checkpoint import complete, seed_of
from odsymnmf.engine.how import How
from odsymnmf.engine.losses import make_loss
from odsymnmf.engine.magnitude import Magnitude, within_reason
from odsymnmf.engine.many.choice import sparse_is_chosen
from odsymnmf.engine.memory import require_memory
from odsymnmf.engine.run import Run
from odsymnmf.engine.starts import named_or_array, start
from odsymnmf.engine.sweeps import Rounds
from odsymnmf.engine.team import Team
from odsymnmf.inputs import is_elsewhere
from odsymnmf.options import bound, number, threads, whole_number
from odsymnmf.problem import Similarity, fingerprint
from odsymnmf.random_state import as_random
from odsymnmf.result import Factorization, of_run
from odsymnmf.signals import held


class InterruptedWarning(UserWarning):
    """Ctrl-C ended a fit; what it returned is the last complete sweep."""


class Fit(How):
    """One fit.

    Calling it with similarities and the number of clusters fits them, and warns of nothing: a
    filter for warnings belongs to the whole process, so fits in threads of their own could not
    silence them one by one. `warn_of` says what there is to say.
    """

    def __call__(self, A: Similarity, r: int | Literal["auto"]) -> Factorization:
        """Return the memberships of r clusters of the items of A."""
        if is_elsewhere(A):
            return self.elsewhere(A, r)
        columns = None if isinstance(r, str) and r == "auto" else whole_number("r", r, 1)
        if sparse_is_chosen(
            self.memberships, A, columns, loss=self.loss, diagonal=self.diagonal, init=self.init
        ):
            return self._sparse(A, columns)
        assert columns is not None
        return self._full(A, columns)

    def elsewhere(
        self, A: Any, r: Any, weights: Any = None, zero_weight: float = 1.0
    ) -> Factorization:
        """Fit similarities that the workers of a cluster hold."""
        from odsymnmf.distributed.fit import fit

        return fit(A, r, self, weights, zero_weight)

    def warn_of(self, found: Factorization, stacklevel: int) -> None:
        """Warn if the sweeps were too few, or Ctrl-C cut them short."""
        if found.status == "max_iter" and self.max_iter > 0:
            warn_unconverged(self.tol, self.max_iter, stacklevel + 1)
        if found.status == "interrupted":
            warn_interrupted(found.n_iter, stacklevel + 1)

    def _sparse(self, A: Similarity, r: int | None) -> Factorization:
        """Fit memberships that are stored by their non-zeros."""
        _refuse_with_sparse(A, self.restarts)
        jobs = threads(self.n_jobs)
        with held():  # this imports Numba, which Ctrl-C must not cut in two
            from odsymnmf.engine.many.checkpoint import SparseCheckpoint, start_of
            from odsymnmf.engine.many.fit import fit
        limits: Any = {
            "loss": self.loss,
            "upper": sparse_bound(A, self.upper, self.loss),
            "max_iter": self.max_iter,
            "tol": self.tol,
        }
        kept = None
        if self.checkpoint is not None:
            identity = {
                "version": odsymnmf.__version__,
                "memberships": "sparse",
                "data": fingerprint(A, False),
                "init": self.init if isinstance(self.init, str) else "given",
                "start": start_of(self.init, A.n, r),
                "random_state": seed_of(self.random_state),
                "r": "auto" if r is None else r,
                "rounds": jobs is not None,
                **limits,
            }
            every = number("checkpoint_every", self.checkpoint_every, 0)
            kept = SparseCheckpoint(self.checkpoint, every, identity)
        found = fit(
            A,
            r,
            self.init,
            as_random(self.random_state),
            **limits,
            callback=self.callback,
            n_jobs=jobs,
            checkpoint=kept,
        )
        none = np.empty(0, dtype=np.intp)
        return Factorization(*found, none, None, make_loss(self.loss, A, np.inf).scales)

    def _full(self, A: Similarity, r: int) -> Factorization:
        """Fit memberships that are stored in full."""
        jobs, rng = threads(self.n_jobs), as_random(self.random_state)
        require_memory(A, r, self.init)
        magnitude = Magnitude.of(A)
        scaled = magnitude.similarity(A)
        limit = within_reason(
            scaled, float(magnitude.down(bound(self.upper))), self.diagonal, A.weights.lighter
        )
        work, ratio = scaled.blas_work(r), self.l1_ratio
        with threads_for(work, Team):
            loss = make_loss(self.loss, scaled, limit, diagonal=self.diagonal, l1_ratio=ratio)
        restarts = loss.restarts
        if self.restarts is not None:
            restarts = whole_number("restarts", self.restarts, 0)
        init: Any = self.init
        if isinstance(init, str) and init == "auto":
            init = usual_start(A, loss)
        first = named_or_array(init, scaled, r, magnitude.down)
        data = partial(fingerprint, A, self.diagonal == "fit")
        kept = self.kept(data, r, init, first, restarts=restarts, rounds=jobs is not None)
        with threads_for(work, Team):
            saved = kept and kept.read((scaled.n, r), scaled.dtype)
            H = saved[0].H if saved else start(loss, r, first, rng)
        # Where threads share a sweep, BLAS should not ask for the cores too.
        with threads_for(work, Team) if jobs is None else one_thread(), Team(jobs or 1) as team:
            run = Run(
                loss,
                H,
                max_iter=self.max_iter,
                tol=self.tol,
                restarts=restarts,
                callback=magnitude.callback(loss, self.callback),
                keep=None if kept is None else kept.keep,
                rounds=None if jobs is None else Rounds(loss, team),
            )
            H = complete(run, kept, saved)
        return of_run(run, H, magnitude)


def sparse_bound(A: Similarity, upper: Any, loss: str) -> float:
    """Return the bound on sparse memberships where the user has given ``upper``.

    Without one, some losses bound them by the root of the largest similarity.
    """
    with held():  # this imports Numba, which Ctrl-C must not cut in two
        from odsymnmf.engine.many.losses import KINDS
    if upper is None and KINDS[loss].bounded and A.largest > 0:
        upper = float(np.sqrt(A.largest))
    return within_reason(A, bound(upper), "ignore", A.weights.lighter)


def warn_unconverged(tol: float, max_iter: int, stacklevel: int) -> None:
    """Warn that the sweeps were too few."""
    # Imported here, because scikit-learn takes longer to import than most fits take.
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"no convergence to tol={tol} in max_iter={max_iter} sweeps; the result is usable: "
        "raise max_iter to come closer to a minimum, or raise tol to accept a less exact one",
        ConvergenceWarning,
        stacklevel=stacklevel + 1,
    )


def warn_interrupted(n_iter: int, stacklevel: int) -> None:
    """Warn that the result is what there was when Ctrl-C was pressed."""
    warnings.warn(
        f"interrupted: this is the result after {n_iter} complete sweeps, not a minimum",
        InterruptedWarning,
        stacklevel=stacklevel + 1,
    )


def _refuse_with_sparse(A: Similarity, restarts: Any) -> None:
    """Refuse what sparse memberships do not know, with a remedy."""
    if restarts:
        raise ValueError(
            f"restarts={restarts}, but columns of sparse memberships are not rebuilt; leave it "
            'out, or use memberships="full".'
        )
    if Magnitude.of(A).e:
        raise ValueError(
            f"the largest similarity, {A.peak:.3g}, is out of the range of sparse memberships; "
            'divide A by it, or use memberships="full".'
        )
