"""Readers in threads leave Python's filters for warnings as they were."""

import threading
import time
import warnings

import pytest

from odsymnmf.io._filters import filtered


def test_side_by_side_the_filters_come_back():
    before, inside = list(warnings.filters), threading.Event()

    def first():
        with filtered("error", UserWarning):
            inside.set()
            time.sleep(0.05)  # long enough for the other to enter, if it could

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    with filtered("ignore", UserWarning):
        thread.join()
        warnings.warn("not heard", UserWarning, stacklevel=1)
    assert list(warnings.filters) == before


def test_a_kind_of_warning_is_an_error_inside():
    with filtered("error", RuntimeWarning), pytest.raises(RuntimeWarning):
        warnings.warn("heard", RuntimeWarning, stacklevel=1)
