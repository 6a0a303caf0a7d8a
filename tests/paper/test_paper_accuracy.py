"""Equation (accuracy), and the label accuracy of the document table."""

import numpy as np
import pytest

from odsymnmf.paper.accuracy import accuracy, label_accuracy


@pytest.mark.parametrize(
    ("H", "H_star", "value"),
    [
        ([[1, 0], [0, 1]], [[1, 0], [0, 1]], 1),
        ([[0, 1], [1, 0]], [[1, 0], [0, 1]], 1),
        ([[0, 0], [0, 0]], [[1, 0], [0, 1]], 1 - np.sqrt(2 / 4)),
        ([[1, 0], [1, 0]], [[1, 0], [0, 1]], 1 - np.sqrt(2 / 4)),
        ([[0.5], [1]], [[1], [1]], 1 - np.sqrt(0.25 / 2)),
        # Columns are compared as they are, not scaled.
        ([[2], [2]], [[1], [1]], 0),
        ([[0, 3, 0, 0], [0, 0, 1, 0]], [[0, 0, 1, 0], [0, 1, 0, 0]], 1 - np.sqrt(4 / 8)),
    ],
)
def test_accuracy_by_hand(H, H_star, value):
    assert accuracy(H, H_star) == pytest.approx(value)


@pytest.mark.parametrize(("r", "percent"), [(2, 29), (5, 55), (10, 68)])
def test_a_zero_h_has_the_accuracy_of_the_papers_zero_start(r, percent):
    # Table 2 for OD-l2 from zero: the algorithm never left its start. Ten columns are too many
    # permutations to try, but all permutations of a zero H are one.
    H_star = np.repeat(np.eye(r), 10, axis=0)
    value = accuracy(0 * H_star, H_star) if r <= 8 else 1 - np.sqrt(np.mean(H_star**2))
    assert value == pytest.approx(1 - 1 / np.sqrt(r))
    assert round(100 * value) == percent


@pytest.mark.parametrize(
    ("labels", "truth", "value"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], 1),
        ([0, 0, 0, 0], [0, 0, 1, 1], 0.5),
        ([0, 1, 2, 3], [0, 0, 1, 1], 0.5),  # one to one: spare clusters match nothing
        ([0, 0, 1, 1, 2], [2, 2, 2, 0, 1], 0.8),
        ([0], [5], 1),
    ],
)
def test_label_accuracy_by_hand(labels, truth, value):
    assert label_accuracy(labels, truth) == pytest.approx(value)
