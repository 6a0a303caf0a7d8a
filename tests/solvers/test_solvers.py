"""Rounds contain every item once, also in several processes; rows of new items are optimal."""

import numpy as np
import pytest
from scipy import sparse

from odsymnmf.similarity import as_similarity
from odsymnmf.solvers import rounds
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.new_items import solve_new_rows
from odsymnmf.solvers.objective import Scales
from odsymnmf.solvers.rounds import Rounds, halves, partition


def items(seed, n=27, m=10):
    """Rows of features: n n nonnegative similarities, of which many are zero."""
    rng = np.random.default_rng(seed)
    return rng.random((n, m)) * (rng.random((n, m)) < 0.25)


@pytest.mark.parametrize("run", [1, 8])
@pytest.mark.parametrize("n", [1, 5, 16, 17, 100, 267])
def test_rounds_contain_every_item_once(n, run):
    parts = partition(n, run)
    assert sorted(np.concatenate(parts)) == list(range(n))
    for items_of_round in parts:
        todo = [items_of_round]
        while todo:
            part = todo.pop()
            if len(part) > 1:
                first, second = halves(part, run)
                assert len(first)
                assert len(second)
                assert sorted([*first, *second]) == list(part)
                todo += [first, second]


class Exchange:
    """Two processes in one: each solves its own pieces, and receives those of the other."""

    def __init__(self):
        self.results = []

    def __call__(self, own):
        self.results.append(own)
        return [own, []]


def test_exchanged_results_are_those_of_one_process(monkeypatch):
    monkeypatch.setattr(rounds, "MIN_WORK", 1)
    A, H = (
        as_similarity(items(1, n=80) @ items(1, n=80).T),
        np.random.default_rng(0).random((80, 3)),
    )
    alone, shared = (make_solver("l2", A, np.inf) for _ in range(2))
    alone.H, shared.H = H.copy(), H.copy()
    exchange = Exchange()
    sweep = Rounds(shared, exchange=exchange, owners=np.zeros(80, dtype=int), rank=0)
    assert sweep() == Rounds(alone)()
    np.testing.assert_array_equal(alone.H, shared.H)
    assert len(exchange.results) == 2 * 16


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scales", [Scales(0.0, 1.0), Scales(1.0, 0.0)])
def test_new_items_are_at_the_optimum_of_every_entry(storage, scales):
    rng = np.random.default_rng(2)
    H = rng.random((30, 4)) * (rng.random((30, 4)) < 0.6)
    S = rng.random((9, 30)) * (rng.random((9, 30)) < 0.7)
    X = solve_new_rows(S, storage(H), scales, upper=0.9, penalized=False)
    X = X.toarray() if sparse.issparse(X) else X

    def loss(x, s):
        e = s - H @ x
        return scales.l1 * np.sum(np.abs(e)) + scales.l2 * np.sum(e**2)

    for x, s in zip(X, S, strict=True):
        assert (x >= 0).all()
        assert (x <= 0.9).all()
        for l in range(4):
            for step in (-1e-4, 1e-4):
                other = x.copy()
                other[l] = min(max(other[l] + step, 0.0), 0.9)
                assert loss(x, s) <= loss(other, s) + 1e-12
