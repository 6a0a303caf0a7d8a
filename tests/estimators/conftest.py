"""Data for the tests of the estimators."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs


@pytest.fixture
def groups():
    """Three groups, not in order: sweeps tend to give the first column to the first items."""
    return np.random.RandomState(1).permutation(np.repeat([0, 1, 2], [12, 9, 6]))


@pytest.fixture
def A(groups):
    """The groups, with a few wrong links."""
    rng = np.random.RandomState(0)
    A = (groups[:, None] == groups).astype(float)
    flips = np.triu(rng.uniform(size=A.shape) < 0.05, 1)
    A = np.abs(A - (flips | flips.T))
    np.fill_diagonal(A, 0)
    return A


@pytest.fixture
def blobs():
    return make_blobs(60, centers=3, cluster_std=0.5, random_state=0)
