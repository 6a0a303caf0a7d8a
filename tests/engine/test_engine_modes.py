"""Every kernel without compilation, and with every index checked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Every kernel on small problems, against the paper: each loss, kind of input and start.
EXERCISE = """
import sys
from functools import partial

sys.path.insert(0, sys.argv[1])
import numpy as np
from engine_problems import (
    KINDS, as_kind, documents, greedy, naive_objective, paper_greedy, quiet, swept)
from scipy import sparse

from odsymnmf import kernels
from odsymnmf.paper.algorithm_1 import odsymnmf, rank_one_l2
from odsymnmf.paper.algorithm_4 import odsymnmf_l1
from odsymnmf.paper.symnmf import symnmf

close = partial(np.testing.assert_allclose, rtol=0, atol=1e-9)
X = documents(0, n=9, m=7, duplicate=False)
A = as_kind("dense", X)
H = 0.1 + np.random.default_rng(0).random((9, 6))
l2 = odsymnmf(A, H, partial(rank_one_l2, upper=np.inf), sweeps=3, order="rows")
l1 = odsymnmf_l1(A, H, sweeps=3, order="rows", empty=0.0, upper=np.inf)
sym = symnmf(A, H, sweeps=1, order="rows")
for kind in KINDS:
    S = as_kind(kind, X)
    close(swept(S, H, count=3), l2)
    if kind != "gram":  # the same kernels as dense
        close(swept(S, H, "l1", count=3), l1)
        for p in (1, 2):
            G = greedy(S, 3, f"l{p}")
            close(G, paper_greedy(A, 3, p, 1.0 if "gram" in kind else None))
close(swept(sparse.csr_array(A), H, diagonal="fit", count=1), sym)
# a dominating entry, a lone entry, an empty column; the zero start
hub = H.copy()
hub[:, 1] /= 1e4
hub[2, 1], hub[:, 4], hub[:, 5] = 1e4, 0.0, np.eye(9)[3]
expected = odsymnmf(A, hub, partial(rank_one_l2, upper=np.inf), sweeps=1, order="rows")
found = swept(sparse.csr_array(A), hub, count=1)
np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)
for loss in ("l2", "l1"):
    for start in ("spectral", "random", "zero"):
        f = quiet(sparse.csr_array(A), 3, loss=loss, init=start, random_state=0, max_iter=4)
        assert abs(f.objective - naive_objective(A, f.H, loss)) < 1e-9
        assert (np.diff(f.history) <= 1e-9).all()
X = documents(0, n=36, m=7)
A = as_kind("dense", X)
for kind, loss in zip(KINDS * 2, ["l2", "l1", "l2", "l2", "mixed", "l2", "l1", "mixed"]):
    for weights in (None, sparse.csr_array(0.5 * (A > 0.3))):
        f = quiet(as_kind(kind, X), 2, loss=loss, weights=weights, max_iter=2, n_jobs=2, restarts=0)
        assert (np.diff(f.history) < 0).all()
B = A.copy()
B[2, 5] += 1
S = sparse.csr_array(B)
arrays = S.indptr, S.indices, S.data, S.indptr.copy()
worst, i, j = kernels.checks.worst_asymmetry(*arrays, 0, len(B))
assert {i, j} == {2, 5} and abs(worst - 1) < 1e-12
rng = np.random.default_rng(0)
for m in (1, 2, 3, 40, 200):
    points, weights = rng.integers(0, 9, m) + 0.0, rng.integers(1, 5, m) + 0.0
    order = np.argsort(points)
    target = np.ceil(weights.sum() / 2)
    expected = points[order][np.argmax(np.cumsum(weights[order]) >= target)]
    assert kernels.weighted_median.select(points, weights, m, target) == expected
import numba
print("compiled" if hasattr(kernels.l2.l2_rows, "py_func") else "plain", numba.config.BOUNDSCHECK)
"""


def exercise(tmp_path, **variables):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", EXERCISE, str(Path(__file__).parent)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_without_compilation(tmp_path):
    assert exercise(tmp_path, NUMBA_DISABLE_JIT="1")[0] == "plain"


@pytest.mark.slow
def test_with_every_index_checked(tmp_path):
    assert exercise(tmp_path, NUMBA_BOUNDSCHECK="1") == ["compiled", "1"]
