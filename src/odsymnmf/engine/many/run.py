"""A run over sparse memberships: sweeps until nothing moves, with the rules of every run."""

from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Step
from odsymnmf.engine.many.losses import SparseFit
from odsymnmf.engine.many.memberships import Memberships
from odsymnmf.engine.run import LONG, Callback, Keep, Run, Sweep
from odsymnmf.signals import held

# What a step through two sorted lists takes, in multiply-adds of a row of numbers.
MERGED = 8


class SparseRun(Run):
    """A fit under way whose H is stored by its non-zeros.

    Its history is that of the objective with the price of the memberships. It adds up decreases
    from the end, so that prices that are set anew (in the third sweep) do not show in it.

    Parameters
    ----------
    fit : SparseL2 or SparseL1
        With its items in the order of ``order``.
    order : ndarray of n items
        Which item each row of the fit is.
    max_iter, tol, callback
        As for `odsymnmf.factorize`.
    keep : callable, optional
        As for `Run`.
    """

    def __init__(
        self,
        fit: SparseFit,
        order: Array,
        *,
        max_iter: int,
        tol: float,
        callback: Callback | None,
        keep: Keep | None = None,
    ):
        # Sparse fits keep H and its sums themselves; of a loss, a run asks them for nothing else.
        loss: Any = fit
        super().__init__(loss, fit.H, max_iter=max_iter, tol=tol, callback=callback, keep=keep)
        self.fit, self.order = fit, order
        self.places = np.empty_like(order)
        self.places[order] = np.arange(len(order))
        self._shown: Any = None
        self.unpriced: float | None = None  # f(H) without the price, once somebody has asked
        self.hurried = False  # Ctrl-C was pressed, and the objective would take long
        self.end = np.nan  # f(H) of the result, without the price, as far as it is known
        self._swept = 0.0  # by how much the last sweep has lowered f, without the price

    @property
    def objective(self) -> float:
        """f(H) after the last complete sweep, without the price."""
        if self.unpriced is None:
            self.unpriced = self.fit.objective(self.state.complete)
        return self.unpriced

    def resume(self, state: Any, sums: Any) -> None:
        """Go on from what a `SparseCheckpoint` has read; H is that already."""
        self.fit.load(state.sums)
        mine = self.state
        mine.decreases, mine.n_iter, mine.converged = state.decreases, state.n_iter, state.converged
        mine.first_violation, self.unpriced = state.first_violation, state.objective

    def complete(self) -> Memberships:
        """Run to the end and return the memberships of the last complete sweep."""
        super().complete()
        found: Memberships = self.state.complete
        return found

    def as_given(self, H: Memberships) -> sparse.csr_array:
        """Return memberships as a CSR array, items in the order in which they were given."""
        return H.csr()[self.places]

    def _advance(self) -> Step:
        swept = self.fit.sweep(None if self.callback is None else self._rows_done)
        self._swept = swept.decrease
        return Step(swept.priced, swept.violation)

    def _take(self, decrease: float) -> None:
        self.state.complete = self.fit.H.copy()
        if self.unpriced is not None:
            self.unpriced = max(0.0, self.unpriced - self._swept)

    def _finish(self, at_once: bool = False) -> None:
        if self.state.n_iter > 0:
            with held():
                self.fit.tidy(self.state.complete)
        self.hurried = at_once and self._long()
        if not self.hurried:
            self.end_at(self.state.complete)
            return
        self.end = np.nan if self.unpriced is None else self.unpriced
        self.history = self._history(self.end + self.fit.price_of(self.state.complete))

    def _long(self) -> bool:
        H = self.state.complete
        return MERGED * len(self.fit.A.indices) * (1 + len(H.csr().data) / H.n) > LONG

    def end_at(self, H: Memberships) -> None:
        """Let the run end with f(H), and its history with the price of H added."""
        self.end = self.fit.objective(H)
        self.history = self._history(self.end + self.fit.price_of(H))

    def _rows_done(self, done: int) -> None:
        """Show the callback that a sweep over many items is on its way."""
        if done < self.fit.H.n:
            self._show(done)

    def _report(self, column: int | None = None) -> None:
        if self.callback is not None:
            self._shown = self.as_given(self.state.complete)
            self._show(None)

    def _show(self, rows: int | None) -> None:
        assert self.callback is not None
        if self._shown is None:
            self._shown = self.as_given(self.state.complete)
        seen = Sweep(self.state.n_iter, self.objective, self._shown, None, self._violation, rows)
        # Said in the middle of a sweep, stop means after it.
        self._stopped = bool(self.callback(seen)) or self._stopped
