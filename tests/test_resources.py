"""The memory that is left: the machine's, the container's, the process's own."""

import subprocess
import sys

import pytest

from odsymnmf import resources
from odsymnmf.resources import available_memory, require

MIB = 2**20


def machine(root, files):
    """Write what the kernel would show under a root of its own."""
    for name, text in {"proc/meminfo": f"MemAvailable:  {1000 * 1024} kB\n", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return available_memory(root)


def v2(place, limit, used, idle=0):
    stat = f"anon 7\ninactive_file {idle}\n"
    names = ("memory.max", "memory.current", "memory.stat")
    folder = f"sys/fs/cgroup{place}"
    return {f"{folder}/{n}": f"{t}\n" for n, t in zip(names, (limit, used, stat), strict=True)}


def v1(place, limit, used, idle=0):
    stat = f"inactive_file 5\ntotal_inactive_file {idle}\n"
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat")
    folder = f"sys/fs/cgroup/memory{place}"
    return {f"{folder}/{n}": f"{t}\n" for n, t in zip(names, (limit, used, stat), strict=True)}


def test_no_groups(tmp_path):
    assert machine(tmp_path, {}) == 1000 * MIB


def test_version_2_counts_what_can_be_given_back(tmp_path):
    files = {"proc/self/cgroup": "0::/job\n", **v2("/job", 300 * MIB, 250 * MIB, 100 * MIB)}
    assert machine(tmp_path, files) == 150 * MIB


def test_version_2_the_tightest_group_around_counts(tmp_path):
    files = {
        "proc/self/cgroup": "0::/outer/inner\n",
        **v2("/outer/inner", "max", 90 * MIB),
        **v2("/outer", 200 * MIB, 150 * MIB),
        **v2("", 400 * MIB, 150 * MIB),
    }
    assert machine(tmp_path, files) == 50 * MIB


@pytest.mark.parametrize("path", ["/", "/of/the/host", "/../..", "/docker/../x"])
def test_inside_a_container_the_mount_is_the_group(tmp_path, path):
    files = {"proc/self/cgroup": f"0::{path}\n", **v2("", 64 * MIB, 60 * MIB)}
    assert machine(tmp_path, files) == 4 * MIB


@pytest.mark.parametrize("path", ["/job", "/of/the/host"])
def test_version_1(tmp_path, path):
    limit = v1("/job" if path == "/job" else "", 300 * MIB, 250 * MIB, 10 * MIB)
    groups = f"12:cpu,cpuacct:/x\n5:memory:{path}\n0::/\n"
    assert machine(tmp_path, {"proc/self/cgroup": groups, **limit}) == 60 * MIB


def test_version_1_without_a_limit(tmp_path):
    files = {"proc/self/cgroup": "5:memory:/\n", **v1("", 9223372036854771712, 5)}
    assert machine(tmp_path, files) == 1000 * MIB


def test_over_the_limit_is_nothing_left(tmp_path):
    files = {"proc/self/cgroup": "0::/\n", **v2("", 10 * MIB, 20 * MIB)}
    assert machine(tmp_path, files) == 0


@pytest.mark.parametrize("text", ["", "max\n", "-5\n", "lots\n", "²\n", "\xff\n"])
def test_what_makes_no_sense_is_passed_over(tmp_path, text):
    files = {"proc/self/cgroup": "0::/\nnonsense\n\n::\n", "sys/fs/cgroup/memory.max": text}
    assert machine(tmp_path, files) == 1000 * MIB


def test_a_system_that_says_nothing(tmp_path, monkeypatch):
    assert available_memory(tmp_path) is None
    monkeypatch.setattr(resources, "available_memory", lambda: None)
    require(10**30, "everything", "nothing")


def test_the_refusal_names_figure_and_remedy(monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: 3 * 2**30)
    require(3 * 2**30, "H", "smaller r")
    with pytest.raises(MemoryError) as refused:
        require(5 * 2**30 + 5 * 2**28, "H of 10 x 10", "choose a smaller r")
    assert str(refused.value) == (
        "H of 10 x 10 needs 6.2 GiB of memory, but only 3.0 GiB is available; choose a smaller r"
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_limit_on_addresses_of_this_process():
    code = """
import resource
from odsymnmf.resources import available_memory, require
before = available_memory()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**27, resource.RLIM_INFINITY))
left = available_memory()
assert before > 2**27 >= left > 2**25, (before, left)
bytearray(left - 2**24)
try:
    require(2**28, "this", "less")
except MemoryError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("this needs 256.0 MiB of memory, but only "), done.stderr
