"""Compilation of kernels."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from odsymnmf.kernels.compile import prefetch


@pytest.mark.skipif(
    not hasattr(numba.config, "CACHE_LOCATOR_CLASSES"),
    reason="this version of Numba always writes next to the kernels",
)
def test_kernels_compile_without_a_writable_cache(tmp_path):
    (tmp_path / "file").write_text("")
    cache = {
        "NUMBA_CACHE_DIR": str(tmp_path / "file" / "below"),
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
    }
    code = """
import numpy as np
from odsymnmf import kernels
print(kernels.weighted_median.select(np.arange(3.0), np.ones(3), 3, 2.0))
"""
    command, env = [sys.executable, "-c", code], {**os.environ, **cache}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
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
