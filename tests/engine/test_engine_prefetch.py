"""The hint to fetch a row: given to the processor, and without effect on what is computed."""

import numpy as np
from numba import njit

from odsymnmf.kernels.compile import prefetch


@njit
def ask(rows, i):
    prefetch(rows, i)


def test_both_ends_are_asked_for_and_nothing_changes():
    rows = np.arange(12.0).reshape(3, 4)
    ask(rows, np.uint32(2))
    assert np.array_equal(rows, np.arange(12.0).reshape(3, 4))
    (code,) = ask.inspect_llvm().values()
    assert code.count("call void @llvm.prefetch") >= 2
