"""A loss written in NumPy, with what CONTRIBUTING describes, works in every part of a fit."""

from typing import ClassVar

import numpy as np
import pytest

import odsymnmf as od
from odsymnmf.solvers import losses
from odsymnmf.solvers.base import PairwiseLoss
from odsymnmf.solvers.objective import Scales, objective
from odsymnmf.solvers.rounds import RowUpdates


class Toy(PairwiseLoss):
    """2 f_2 for equal weights."""

    name = "toy"
    restarts, refresh_every, degree = 1, 1, 2
    relative_tol, needs_rows, auto_normalize, supports_sparse_h = False, True, False, False
    explained_name = "squared similarities"
    scales: ClassVar[Scales] = Scales(0.0, 2.0)
    l1_ratio = 0.0

    def refresh(self):
        self._since_refresh = 0

    def _solve(self, k, H):
        others = np.arange(self.n) != k
        B, a, x = H[others], self.A.dense_rows(np.array([k]))[0][others], H[k].copy()
        for l, b in enumerate(B.T):
            if b @ b > 0:
                x[l] = np.clip(x[l] + b @ (a - B @ x) / (b @ b), 0.0, self.upper)
        return x

    def _update_rows(self, items, empty):
        before, start = objective(self.A, self.H, Scales(0.0, 1.0)), self.H.copy()
        for k in items:
            self.H[k] = self._solve(k, self.H)
        after = objective(self.A, self.H, Scales(0.0, 1.0))
        return np.array([0.0, before - after]), np.abs(self.H - start).max()

    def solve_rows(self, items, place):
        New, moved = self._new_rows(place)
        before, decrease, changes = objective(self.A, self.H, Scales(0.0, 1.0)), 0.0, []
        for p, k in enumerate(items):
            H = self.H.copy()
            New[p] = H[k] = self._solve(k, self.H)
            decrease += before - objective(self.A, H, Scales(0.0, 1.0))
            changes.append(np.outer(H[k], H[k]) - np.outer(self.H[k], self.H[k]))
        moved[:] = (New != self.H[items]).any(axis=1)
        change = sum(changes)
        decrease -= np.sum(change**2) - sum(np.sum(E**2) for E in changes)
        violation = np.abs(New - self.H[items]).max()
        return RowUpdates(New, moved, np.array([0.0, decrease]), violation, (None, change))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_new_loss_is_one_class_and_one_line(monkeypatch, n_jobs):
    monkeypatch.setitem(losses.LOSSES, ("toy", "ignore"), Toy)
    A = np.kron(np.eye(3), np.ones((6, 6)))
    found = od.factorize(A, 3, loss="toy", init="greedy", n_jobs=n_jobs)
    assert found.objective == pytest.approx(2 * od.objective(A, found.H), abs=1e-9)
    assert found.objective < 1e-6
    assert (np.diff(found.history) <= 1e-9).all()
