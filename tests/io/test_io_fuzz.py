"""Damaged files of every format: items or a clear error, never anything else."""

import signal
import time

import pytest
from io_fuzz import MEMORY, Hang, fuzz, limits

from odsymnmf import io


@pytest.mark.parametrize("format", io.FORMATS)
def test_mutants(tmp_path, format):
    counts = fuzz(format, 2000, 0, tmp_path)
    assert sum(counts.values()) == 2000
    # Damage must not be so heavy that nothing is read, nor so light that nothing is refused.
    assert min(counts.values()) > 60


def test_limits():
    def hang():
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(5)

    with pytest.raises(Hang), limits():
        hang()
    with pytest.raises(MemoryError), limits():
        bytearray(2 * MEMORY)
    assert len(bytearray(2 * MEMORY)) == 2 * MEMORY
