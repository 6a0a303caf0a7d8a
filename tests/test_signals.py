"""Signals wait for the end of a block, and none is lost."""

import signal
import threading

import pytest

from odsymnmf.signals import held


@pytest.fixture
def caught():
    """Record what arrives instead of acting on it."""
    numbers = []
    before = {
        number: signal.signal(number, lambda number, frame: numbers.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    yield numbers
    for number, handler in before.items():
        signal.signal(number, handler)


def test_they_wait_and_all_are_delivered(caught):
    with held():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            signal.raise_signal(number)
        assert caught == []
    assert sorted(caught) == [signal.SIGINT, signal.SIGINT, signal.SIGTERM]
    signal.raise_signal(signal.SIGINT)
    assert len(caught) == 4


def test_blocks_inside_blocks_wait_for_the_outermost(caught):
    with held():
        with held():
            signal.raise_signal(signal.SIGINT)
        assert caught == []
    assert caught == [signal.SIGINT]


def test_an_error_in_the_block_is_not_lost_and_handlers_are_back():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), held():
        _ = 1 / 0
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt), held():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_what_is_ignored_or_left_to_the_system_stays_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with held():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_have_nothing_to_hold():
    seen = []

    def work():
        with held():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
