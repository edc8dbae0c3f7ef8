"""Timeouts: waits that are aborted in time."""

from collections.abc import Iterator
from threading import Event

import pytest
from tests.patience import PATIENCE

from forewarn.errors import Unavailable
from forewarn.stores.timeouts import StoreTimeouts

LONG = PATIENCE


@pytest.fixture
def timeouts() -> Iterator[StoreTimeouts]:
    timeouts = StoreTimeouts()
    timeouts.start()
    yield timeouts
    timeouts.stop()


def test_wait_that_takes_too_long_is_aborted(timeouts: StoreTimeouts) -> None:
    given_up = Event()
    with timeouts.limit(0.05, given_up.set):
        assert given_up.wait(LONG)


def test_short_wait_is_aborted_before_a_long_one(timeouts: StoreTimeouts) -> None:
    long, short = Event(), Event()
    with timeouts.limit(LONG, long.set), timeouts.limit(0.05, short.set):
        assert short.wait(LONG)
        assert not long.is_set()


def test_finished_wait_is_never_aborted(timeouts: StoreTimeouts) -> None:
    over, later = Event(), Event()
    with timeouts.limit(2, over.set):
        pass
    with timeouts.limit(2.1, later.set):
        assert later.wait(LONG)
    assert not over.is_set()


def test_hasten_shortens_all_waits(timeouts: StoreTimeouts) -> None:
    waits = Event(), Event()
    with timeouts.limit(LONG, waits[0].set), timeouts.limit(LONG, waits[1].set):
        timeouts.hasten(0.05)
        assert all(event.wait(LONG) for event in waits)


def test_new_waits_begin_until_the_hastened_deadline(timeouts: StoreTimeouts) -> None:
    timeouts.hasten(LONG)
    with timeouts.limit(LONG, lambda: None):
        pass


def test_no_wait_begins_after_the_hastened_deadline(timeouts: StoreTimeouts) -> None:
    timeouts.hasten(0)
    with pytest.raises(Unavailable), timeouts.limit(LONG, lambda: None):
        pass


def test_timeouts_that_never_started_can_be_stopped() -> None:
    StoreTimeouts().stop()
