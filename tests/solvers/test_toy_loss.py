"""A loss written in NumPy, with what CONTRIBUTING describes, works in every part of a fit."""

from typing import ClassVar

import numpy as np
import pytest

import odsymnmf as od
from odsymnmf.solvers import losses
from odsymnmf.solvers.base import GramSums, PairwiseLoss
from odsymnmf.solvers.objective import Scales, error


class Toy(PairwiseLoss):
    """2 f_2 for equal weights."""

    name = "toy"
    restarts, refresh_every, relative_tol = 1, 1, False
    explained_name = "squared similarities"
    scales: ClassVar[Scales] = Scales(0.0, 2.0)
    l1_ratio = 0.0

    def refresh(self):
        self.gram = GramSums(self.A, self.H)

    def _row(self, k, H):
        others = np.arange(self.n) != k
        B, a, x = H[others], self.A.dense_rows(np.array([k]))[0][others], H[k].copy()
        for l, b in enumerate(B.T):
            if b @ b > 0:
                x[l] = np.clip(x[l] + b @ (a - B @ x) / (b @ b), 0.0, self.upper)
        return x

    def _solve(self, items, rows, new, empty=0.0):
        old, decrease, squares = self.H.copy(), 0.0, 0.0
        for p, k in enumerate(items):
            H = self.H if new is None else old.copy()
            before = error(self.A, H, 2)
            H[k] = self._row(k, H)
            decrease += before - error(self.A, H, 2)
            if new is not None:
                new.rows[p], new.moved[p] = H[k], (H[k] != old[k]).any()
                E = np.outer(H[k], H[k]) - np.outer(old[k], old[k])
                new.D[:] += E
                squares += np.sum(E**2)
        result, D = (self.H[items], np.zeros(1)) if new is None else (new.rows, new.D)
        violation = np.abs(result - old[items]).max()
        return (0.0, decrease), violation, (0.0, np.sum(D**2) - squares)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_new_loss_is_one_class_and_one_line(monkeypatch, n_jobs):
    monkeypatch.setitem(losses.LOSSES, ("toy", "ignore"), Toy)
    A = np.kron(np.eye(3), np.ones((6, 6)))
    f = od.factorize(A, 3, loss="toy", init="greedy", n_jobs=n_jobs)
    assert f.objective == pytest.approx(2 * od.objective(A, f.H), abs=1e-9)
    assert f.objective < 1e-6
    assert (np.diff(f.history) <= 1e-9).all()
