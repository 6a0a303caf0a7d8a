"""scikit-learn's own checks, for both estimators in several settings."""

import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from odsymnmf import ODSymNMF, SymNMF


class Rbf:
    """A callable affinity; unlike a function's, its repr is the same in every process."""

    def __call__(self, X, Y):
        return rbf_kernel(X, Y)

    def __repr__(self):
        return "Rbf()"


# Few sweeps: the checks are about behavior, not about convergence.
SHORT = {"n_clusters": 3, "max_iter": 10, "random_state": 0}

SETTINGS = [
    ODSymNMF(**SHORT),
    ODSymNMF(loss="l1", init="random", **SHORT),
    ODSymNMF(affinity="cosine", init="spectral", **SHORT),
    ODSymNMF(affinity="rbf", normalize="degree", n_init=2, **SHORT),
    ODSymNMF(affinity="nearest_neighbors", loss="l1", upper=1.0, **SHORT),
    SymNMF(**SHORT),
    SymNMF(affinity=Rbf(), normalize="degree", init="zero", **SHORT),
]

NO_FEATURES = "passes a table of features where affinity='precomputed' wants square similarities"
FAILURES = {
    "check_clustering": NO_FEATURES,
    "check_clustering(readonly_memmap=True)": NO_FEATURES,
    "check_estimators_nan_inf": "puts NaN on the diagonal, which is ignored; and to predict, "
    "NaN is an unknown similarity, which is left out",
}


def expected_failures(estimator):
    return FAILURES if estimator.affinity == "precomputed" else {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(SETTINGS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
