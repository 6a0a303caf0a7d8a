"""Memory is checked before the work, and a memory map is swept block by block."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import odsymnmf as od
from odsymnmf import similarity, utils
from odsymnmf.fit import peak_memory
from odsymnmf.utils import available_memory

MIB = 2**20


def cgroup(limit, used, cached=0):
    """Return the files of a control group."""
    stat = f"anon 7\ninactive_file {cached}"
    return {"memory.max": limit, "memory.current": used, "memory.stat": stat}


@pytest.mark.parametrize(
    ("path", "groups", "expected"),
    [
        (None, {}, 1000),
        ("/job", {"job": cgroup(300 * MIB, 250 * MIB, 100 * MIB)}, 150),
        ("/outer/inner", {"outer/inner": cgroup("max", 9), "outer": cgroup(90 * MIB, 0)}, 90),
        ("/of/the/host", {"": cgroup(64 * MIB, 60 * MIB)}, 4),
        ("/", {"": cgroup(10 * MIB, 20 * MIB)}, 0),
        ("/", {"": cgroup("lots", "")}, 1000),
    ],
)
def test_least_of_machine_and_control_groups(tmp_path, path, groups, expected):
    files = {"proc/meminfo": f"MemTotal: 9 kB\nMemAvailable:  {1000 * 1024} kB"}
    if path is not None:
        files["proc/self/cgroup"] = f"0::{path}"
    for group, content in groups.items():
        files |= {f"sys/fs/cgroup/{group}/{name}": text for name, text in content.items()}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert available_memory(tmp_path) == expected * MIB


def test_fit_beyond_memory_is_refused_with_figure_and_remedy(monkeypatch):
    monkeypatch.setattr(utils, "available_memory", lambda: 2**30)
    A = sparse.eye_array(200_000, format="csr", k=1) + sparse.eye_array(200_000, k=-1)
    message = r"200,000 items with r=1,000 needs \d\.\d GiB .* only 1\.0 GiB .* smaller r"
    with pytest.raises(MemoryError, match=message):
        od.factorize(A, 1000, init="random")


def test_copy_of_a_memory_map_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(utils, "available_memory", lambda: MIB)
    np.save(tmp_path / "A.npy", np.ones((600, 600)))
    A = np.load(tmp_path / "A.npy", mmap_mode="r")
    with pytest.raises(MemoryError, match=r"600 x 600 similarities needs 2.7 MiB .* memory map"):
        similarity.degree_normalized(A)


def test_estimate_is_near_the_peak():
    n = 60_000
    i, j = np.random.default_rng(0).integers(0, n, (2, 3 * n))
    A = sparse.coo_array((np.ones(3 * n), (i, j)), shape=(n, n)).tocsr()
    P = similarity.as_similarity(A + A.T)
    od.factorize(P, 2, init="random", max_iter=1, tol=10)  # compiles the kernels
    tracemalloc.start()
    od.factorize(P, 100, init="random", max_iter=2, tol=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 < peak / peak_memory(P, 100, "random") < 1.5


MEMORY_MAP = """
import resource, sys, numpy as np, odsymnmf as od
n = 4000
A = np.lib.format.open_memmap(sys.argv[1], "w+", np.float64, (n, n))
for i in range(0, n, 100):
    A[i : i + 100] = np.arange(i, i + 100)[:, None] % 4 == np.arange(n) % 4
A.flush()
del A
od.factorize(np.ones((300, 300)), 4, init="random", max_iter=1, tol=10)
A = np.load(sys.argv[1], mmap_mode="r")
used = [line for line in open("/proc/self/status") if line.startswith("VmData")][0].split()[1]
limit = int(used) * 1024 + 100 * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
print(od.factorize(A, 4, init="random", random_state=0, max_iter=3, tol=10).n_iter)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_map_of_128_mb_is_fitted_within_100_mb(tmp_path):
    command = [sys.executable, "-c", MEMORY_MAP, tmp_path / "A.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr[-2000:]
