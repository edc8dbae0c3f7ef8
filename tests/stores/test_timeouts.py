"""Timeouts: waits that are aborted in time."""

from collections.abc import Iterator
from threading import Event

import pytest
from tests.patience import PATIENCE

from forewarn.errors import Unavailable
from forewarn.stores.timeouts import StoreTimeouts

LONG = PATIENCE


@pytest.fixture
def patience() -> Iterator[StoreTimeouts]:
    patience = StoreTimeouts()
    patience.start()
    yield patience
    patience.stop()


def test_wait_that_takes_too_long_is_aborted(patience: StoreTimeouts) -> None:
    given_up = Event()
    with patience.lasting(0.05, given_up.set):
        assert given_up.wait(LONG)


def test_short_wait_is_aborted_before_a_long_one(patience: StoreTimeouts) -> None:
    long, short = Event(), Event()
    with patience.lasting(LONG, long.set), patience.lasting(0.05, short.set):
        assert short.wait(LONG)
        assert not long.is_set()


def test_finished_wait_is_never_aborted(patience: StoreTimeouts) -> None:
    over, later = Event(), Event()
    with patience.lasting(0.05, over.set):
        pass
    with patience.lasting(0.1, later.set):
        assert later.wait(LONG)
    assert not over.is_set()


def test_hasten_shortens_all_waits(patience: StoreTimeouts) -> None:
    waits = Event(), Event()
    with patience.lasting(LONG, waits[0].set), patience.lasting(LONG, waits[1].set):
        patience.hasten(0.05)
        assert all(event.wait(LONG) for event in waits)


def test_new_waits_begin_until_the_hastened_deadline(patience: StoreTimeouts) -> None:
    patience.hasten(LONG)
    with patience.lasting(LONG, lambda: None):
        pass


def test_no_wait_begins_after_the_hastened_deadline(patience: StoreTimeouts) -> None:
    patience.hasten(0)
    with pytest.raises(Unavailable), patience.lasting(LONG, lambda: None):
        pass


def test_patience_that_never_started_can_be_stopped() -> None:
    StoreTimeouts().stop()
