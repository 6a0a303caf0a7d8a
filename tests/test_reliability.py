"""Cases that once failed, each kept here; docs/reliability.md has the promises behind them."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf import ODSymNMF
from odsymnmf.signals import stoppable

JOBLIB = """
from joblib import Parallel, delayed
import odsymnmf as od

def f(k):
    return od.__version__, od.io.FORMATS

if __name__ == "__main__":
    found = Parallel(n_jobs=2)(delayed(f)(k) for k in range(2))
    assert found[0] == found[1] == f(0), found
"""


def test_a_joblib_task_may_mention_the_module(tmp_path):
    (tmp_path / "script.py").write_text(JOBLIB)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("upper", [None, 0.4])
def test_new_items_are_exact_where_columns_are_nearly_parallel(upper):
    rng = np.random.default_rng(0)
    base = rng.random((60, 1))
    H = np.hstack([base + 1e-5 * rng.random((60, 1)) for _ in range(6)])
    start = np.minimum(H, upper or np.inf)
    model = ODSymNMF(6, normalize=None, upper=upper, init=start, max_iter=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(H @ H.T)
    H = model.membership_
    S = H @ rng.random((6, 5)) + 0.1 * rng.random((60, 5))
    X = model.predict_membership(S.T)
    for x, s in zip(X, S.T, strict=True):
        if upper is None:
            assert np.linalg.norm(H @ x - s) <= (1 + 1e-9) * nnls(H, s)[1]
        gradient = H.T @ (H @ x - s)
        small = 1e-6 * np.linalg.norm(H) * np.linalg.norm(s)
        inside = (x > 0) & (x < (upper or np.inf))
        assert (np.abs(gradient[inside]) <= small).all()
        assert (gradient[x == 0] >= -small).all()


def test_degenerate_graphs_are_finite_and_never_rise():
    star = np.zeros((12, 12))
    star[0, 1:] = star[1:, 0] = 1
    clique = np.ones((12, 12))
    path = np.eye(12, k=1) + np.eye(12, k=-1)
    bipartite = np.kron([[0, 1], [1, 0]], np.ones((6, 6)))
    shared = np.zeros((11, 11))
    shared[:6, :6] = shared[5:, 5:] = 1
    hub = path.copy()
    hub[3] = hub[:, 3] = 1
    for A in (star, clique, path, bipartite, shared, hub):
        for loss in ("l2", "l1", "mixed"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                f = od.factorize(A, 3, loss=loss, tol=0, max_iter=60)
            assert np.isfinite(f.H).all()
            assert (np.diff(f.history) <= 1e-9 * f.history[0]).all()
            assert f.objective == pytest.approx(od.objective(A, f.H, loss), abs=1e-12)


def test_many_sweeps_do_not_drift():
    A = np.random.default_rng(0).random((12, 12))
    A = A + A.T
    for loss in ("l2", "l1"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            options = {"loss": loss, "tol": 0, "init": "random", "random_state": 0, "restarts": 0}
            f = od.factorize(A, 3, max_iter=3000, **options)
            start = od.factorize(A, 3, max_iter=0, **options)
        assert f.history[0] == pytest.approx(start.objective, rel=1e-10)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_loop_of_fits_hears_of_ctrl_c():
    from odsymnmf.fitting import InterruptedWarning

    A = np.random.default_rng(0).random((20, 20))

    def callback(sweep):
        raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning, match="after 1 complete sweeps"):
        assert od.factorize(A + A.T, 3, callback=callback).status == "interrupted"


class After:
    """An event that is set when it has been looked at so many times."""

    def __init__(self, looks):
        self.looks = looks

    def is_set(self):
        self.looks -= 1
        return self.looks < 0


def groups():
    rng = np.random.default_rng(0)
    A = np.triu(np.kron(np.eye(4), np.ones((30, 30))) * (rng.random((120, 120)) < 0.5), 1)
    return sparse.csr_array(A + A.T)


@pytest.mark.parametrize("looks", [0, 1, 5, 20])
@pytest.mark.parametrize("init", ["greedy", "spectral", "l2", "mixed"])
def test_ctrl_c_between_any_two_blocks_of_a_start_ends_it(init, looks):
    options = {"loss": "l1", "init": init, "restarts": 0, "random_state": 0}
    whole = od.factorize(groups(), 4, **options)
    with stoppable(After(looks)), pytest.raises(KeyboardInterrupt):
        od.factorize(groups(), 4, **options)
    np.testing.assert_array_equal(od.factorize(groups(), 4, **options).H, whole.H)


@pytest.mark.parametrize("looks", [0, 10, 40, 80])
def test_ctrl_c_between_any_two_blocks_of_a_choice_ends_it(looks):
    with stoppable(After(looks)), pytest.raises(KeyboardInterrupt):
        od.choose.n_clusters(groups(), range(2, 7), random_state=0)


def unsound(shape, form="csr"):
    """Return a sparse matrix one of whose indices points far outside."""
    S = sparse.random_array(shape, density=0.5, random_state=np.random.default_rng(0)).asformat(
        form
    )
    if form == "coo":
        S.row[0] = 2_000_000_000
    else:
        S.indices[0] = 2_000_000_000
    return S


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_an_index_out_of_range_is_an_error_wherever_it_comes_in(form):
    """Compiled code would follow it: a segmentation fault."""
    A, S, H = np.ones((6, 6)), unsound((6, 6), form), unsound((6, 3), form)
    model = ODSymNMF(2).fit(A)
    for use in (
        lambda: od.factorize(S, 2),
        lambda: od.factorize(A, 2, weights=S),
        lambda: od.factorize(A, 3, init=H),
        lambda: od.factorize(sparse.csr_array(A), 3, init=H, memberships="sparse"),
        lambda: od.objective(sparse.csr_array(A), H),
        lambda: od.similarity.gram(H),
        lambda: od.similarity.cosine(H),
        lambda: ODSymNMF(2).fit(S),
        lambda: ODSymNMF(2, affinity="cosine").fit(H),
        lambda: model.predict(S),
        lambda: model.score(S),
        lambda: od.memberships.labels(H),
        lambda: od.memberships.overlapping_sets(H),
    ):
        with pytest.raises(ValueError, match="is not a sound sparse matrix"):
            use()
