"""Rounds contain every item once, also in several processes."""

import numpy as np
import pytest

from odsymnmf.similarity import as_similarity
from odsymnmf.solvers import rounds
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.rounds import Rounds, halves, partition


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


def test_exchanged_results_are_those_of_one_process(monkeypatch):
    monkeypatch.setattr(rounds, "MIN_WORK", 1)
    rng = np.random.default_rng(1)
    X, H = rng.random((80, 10)) * (rng.random((80, 10)) < 0.25), rng.random((80, 3))
    A = as_similarity(X @ X.T)
    single, shared = (make_solver("l2", A, np.inf) for _ in range(2))
    single.H, shared.H = H.copy(), H.copy()
    results = []

    def exchange(own):  # with a second process that has nothing to solve
        results.append(own)
        return [own, []]

    sweep = Rounds(shared, exchange=exchange, owners=np.zeros(80, dtype=int), rank=0)
    assert sweep() == Rounds(single)()
    np.testing.assert_array_equal(single.H, shared.H)
    assert len(results) == 2 * 16
