"""Memory: asked for before the work, and a memory map larger than the allowance is swept."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import odsymnmf as od
from odsymnmf import resources, similarity
from odsymnmf.engine import memory


def left(monkeypatch, size):
    monkeypatch.setattr(resources, "available_memory", lambda: size)


def test_what_cannot_fit_is_refused_with_the_figure_and_a_remedy(monkeypatch):
    A = sparse.eye_array(200_000, format="csr", k=1) + sparse.eye_array(200_000, k=-1)
    left(monkeypatch, 2**30)
    with pytest.raises(MemoryError, match=r"200,000 items with r=1,000 needs .* GiB .* smaller r"):
        od.factorize(A, 1000, memberships="full")
    with pytest.raises(MemoryError, match="smaller r"):  # a start that sparse memberships lack
        od.factorize(A, 1000, init="random")


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_the_estimate_is_near_the_truth():
    """A child measures how much it grows during a fit."""
    code = (
        "import numpy as np, odsymnmf as od\n"
        "from scipy import sparse\n"
        "from odsymnmf.engine.memory import peak_memory\n"
        "n = 60_000\n"
        "i, j = np.random.default_rng(0).integers(0, n, (2, 3 * n))\n"
        "A = sparse.coo_array((np.ones(3 * n), (i, j)), shape=(n, n)).tocsr()\n"
        "P = od.similarity.as_similarity(A + A.T)\n"
        # Not ru_maxrss: a child has that of its parent from the beginning.
        "status = lambda: open('/proc/self/status').read()\n"
        "peak = lambda: 1024 * int(status().split('VmHWM:')[1].split()[0])\n"
        "od.factorize(P, 2, init='random', max_iter=1, tol=10)\n"
        "open('/proc/self/clear_refs', 'w').write('5')\n"  # the peak is from now on
        "before = peak()\n"
        "od.factorize(P, 100, init='random', max_iter=2, tol=10)\n"
        "print((peak() - before) / peak_memory(P, 100, 'random'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 0.3 < float(done.stdout) < 1.5


@pytest.mark.parametrize("init", ["spectral", "nndsvd"])
def test_eigenvectors_leave_room_for_blas(monkeypatch, init):
    """OpenBLAS asks for its buffer without end under a limit that has no room for it."""
    left(monkeypatch, 30 * 2**20)
    A = sparse.eye_array(200, format="csr", k=1) + sparse.eye_array(200, k=-1)
    with pytest.raises(MemoryError, match=r"3 eigenvectors of 200 items needs .* init=.greedy"):
        od.factorize(A, 3, init=init)
    assert od.factorize(A, 3, init="greedy", tol=10).n_iter == 1


TIGHT = """
import resource
from pathlib import Path
import numpy as np
from scipy import sparse
import odsymnmf as od

def path(n):
    return sparse.eye_array(n, format="csr", k=1) + sparse.eye_array(n, k=-1)

od.factorize(path(50), 2, init="random", random_state=0, tol=10)
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 60 * 2**20, resource.RLIM_INFINITY))
print(od.factorize(path(2000), 5, init="spectral", tol=10).status)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_one_buffer_of_blas_is_enough():
    """SciPy has a BLAS of its own: a second buffer, which it once asked for without end."""
    command = [sys.executable, "-c", TIGHT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("converged\n", "")


def test_small_fits_do_not_ask(monkeypatch):
    monkeypatch.setattr(memory, "require", lambda *a: pytest.fail("asked"))
    od.factorize(np.ones((5, 5)), 2)


def test_a_copy_of_all_similarities_is_asked_for(monkeypatch, tmp_path):
    np.save(tmp_path / "A.npy", np.ones((600, 600)))
    A = np.load(tmp_path / "A.npy", mmap_mode="r")
    left(monkeypatch, 2**20)
    with pytest.raises(MemoryError, match=r"600 x 600 similarities needs 2.7 MiB .* memory map"):
        similarity.degree_normalized(A)


def test_a_memory_map_is_swept_within_the_allowance(tmp_path):
    """128 MB of similarities, and less than 100 MB for all that the fit takes."""
    code = (
        "import resource, sys, numpy as np, odsymnmf as od\n"
        "n = 4000\n"
        "A = np.lib.format.open_memmap(sys.argv[1], 'w+', np.float64, (n, n))\n"
        "for i in range(0, n, 100): A[i:i+100] = (np.arange(i, i+100)[:, None] % 4 "
        "== np.arange(n) % 4)\n"
        "A.flush(); del A\n"
        "od.factorize(np.ones((300, 300)), 4, init='random', max_iter=1, tol=10)\n"
        "A = np.load(sys.argv[1], mmap_mode='r')\n"
        "used = [l for l in open('/proc/self/status') if l.startswith('VmData')][0].split()[1]\n"
        "most = int(used) * 1024 + 100 * 2**20\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (most, most))\n"
        "f = od.factorize(A, 4, init='random', random_state=0, max_iter=3, tol=10)\n"
        "print(f.n_iter)\n"
    )
    if not sys.platform.startswith("linux"):
        pytest.skip("limits of Linux")
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "A.npy"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr[-2000:]
