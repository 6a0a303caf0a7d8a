"""Compilation of kernels."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from odsymnmf.kernels.compile import prefetch


def python(code, cache):
    """Run a script whose only Numba cache is the given directory."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(cache),
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
    }
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.mark.skipif(
    not hasattr(numba.config, "CACHE_LOCATOR_CLASSES"),
    reason="this version of Numba always writes next to the kernels",
)
def test_kernels_compile_without_a_writable_cache(tmp_path):
    (tmp_path / "file").write_text("")
    code = """
import numpy as np
from odsymnmf import kernels
print(kernels.weighted_median.select(np.arange(3.0), np.ones(3), 3, 2.0))
"""
    done = python(code, tmp_path / "file" / "below")
    assert (done.returncode, done.stdout) == (0, "1.0\n"), done.stderr


def test_prefetch_is_compiled_and_changes_nothing():
    @numba.njit
    def caller(rows, i):
        prefetch(rows, i)

    rows = np.arange(12.0).reshape(3, 4)
    caller(rows, np.uint32(2))
    assert np.array_equal(rows, np.arange(12.0).reshape(3, 4))
    (code,) = caller.inspect_llvm().values()
    assert code.count("call void @llvm.prefetch") >= 2  # both ends of a row
