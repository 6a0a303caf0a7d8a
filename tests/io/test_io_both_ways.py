"""The matrix of a long list is built by compiled code, in threads: the same as any other way."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from io_fuzz import mutant
from scipy import sparse

from odsymnmf import io
from odsymnmf.io import _both_ways


@pytest.fixture(scope="module", params=[1, 3])
def every_file(request):
    """Take every list for a long one, and cut it for one thread or three."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_both_ways, "PIECE", 1)
        patch.setattr(_both_ways, "THREADS", request.param)
        patch.setattr(os, "cpu_count", lambda: 8)
        patch.setattr(_both_ways, "LONG", 1)
        yield


def outcome(path, **options):
    """Return all that a reader returns, or says."""
    try:
        items = io.read(path, **options)
    except io.InputError as error:
        return str(error)
    matrix = items.matrix
    if not isinstance(matrix, np.ndarray):
        matrix = (matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist())
    return repr((items.names, items.format, items.notes, matrix))


def without_threads(path, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_both_ways, "LONG", 2**60)
        return outcome(path, **options)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("lists") / "graph.csv"


@given(st.lists(st.tuples(*[st.integers(0, 12)] * 2, st.integers(1, 9)), min_size=1))
def test_lists_of_ids(every_file, path, rows):
    path.write_text("from,to,weight\n" + "".join(f"{a},{b},{w}\n" for a, b, w in rows))
    assert outcome(path, symmetrize="sum") == without_threads(path, symmetrize="sum")


@pytest.mark.parametrize("seed", range(100))
def test_damaged_lists(every_file, tmp_path, seed):
    name, data, options = mutant("edges", 5, seed)
    (tmp_path / name).write_bytes(data)
    assert outcome(tmp_path / name, **options) == without_threads(tmp_path / name, **options)


@given(st.data())
def test_both_directions(every_file, data):
    n = data.draw(st.integers(2, 12))
    items = st.integers(0, n - 1)
    links = data.draw(st.lists(st.tuples(items, items), min_size=1))
    i, j = np.array(links, dtype=np.int32).T
    weights = data.draw(st.none() | st.just(np.arange(1.0, len(i) + 1)))
    found = _both_ways.undirected(i, j, weights, n)
    pairs = {tuple(sorted(link)) for link in links}
    if len(pairs) < len(links) or any(a == b for a, b in links):
        assert found is None
        return
    given = sparse.coo_array((np.ones(len(i)) if weights is None else weights, (i, j)), (n, n))
    found.check_format()
    np.testing.assert_array_equal(found.toarray(), (given + given.T).toarray())
    assert found.has_sorted_indices


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_other_weights_are_left_to_others(every_file, weight):
    i, j = np.array([[0, 1], [1, 2]], dtype=np.int32)
    assert _both_ways.undirected(i, j, np.array([1.0, 2.0]), 3).nnz == 4
    assert _both_ways.undirected(i, j, np.array([1.0, weight]), 3) is None


MODES = """
import numpy as np
from odsymnmf.io import _both_ways
_both_ways.LONG, _both_ways.PIECE = 0, 1
i, j = np.triu_indices(60, 1)
A = _both_ways.undirected(i[::-1].astype("i4"), j[::-1].astype("i4"), np.arange(1.0, 1771.0), 60)
assert A.nnz == 60 * 59 and (A != A.T).nnz == 0 and A[0, 1] == 1770.0 and A[58, 59] == 1.0
"""


@pytest.mark.parametrize(
    "mode", ["NUMBA_DISABLE_JIT", pytest.param("NUMBA_BOUNDSCHECK", marks=pytest.mark.slow)]
)
def test_without_compilation_and_with_every_index_checked(tmp_path, mode):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", MODES],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), mode: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
