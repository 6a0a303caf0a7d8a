"""Damaged files of every format: items or a clear error, never anything else."""

import time

import pytest
from io_fuzz import MEMORY, Hang, fuzz, limits, set_alarms

from odsymnmf import io


@pytest.mark.parametrize("format", io.FORMATS)
def test_mutants(tmp_path, format):
    counts = fuzz(format, 2000, 0, tmp_path)
    assert sum(counts.values()) == 2000
    # Damage must not be so heavy that nothing is read, nor so light that nothing is refused.
    assert min(counts.values()) > 60


def test_limits():
    def hang(seconds, latest, do):
        set_alarms(seconds, latest)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            do()

    with pytest.raises(Hang), limits():
        hang(0, 0.01, lambda: time.sleep(5))
    with pytest.raises(Hang), limits():
        hang(0.01, 0, lambda: None)
    with pytest.raises(MemoryError), limits():
        bytearray(2 * MEMORY)
    assert len(bytearray(2 * MEMORY)) == 2 * MEMORY
