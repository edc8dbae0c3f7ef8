"""Waits that are given up in time."""

from collections.abc import Iterator
from threading import Event

import pytest

from forewarn.errors import Unavailable
from forewarn.stores.patience import Patience

LONG = 30.0  # seconds; only a broken patience needs them


@pytest.fixture
def patience() -> Iterator[Patience]:
    patience = Patience()
    patience.start()
    yield patience
    patience.stop()


def test_a_wait_that_takes_too_long_is_given_up(patience: Patience) -> None:
    given_up = Event()
    with patience.lasting(0.05, given_up.set):
        assert given_up.wait(LONG)


def test_a_short_wait_is_given_up_before_a_long_one(patience: Patience) -> None:
    long, short = Event(), Event()
    with patience.lasting(LONG, long.set), patience.lasting(0.05, short.set):
        assert short.wait(LONG)
        assert not long.is_set()


def test_a_wait_that_is_over_is_never_given_up(patience: Patience) -> None:
    over, later = Event(), Event()
    with patience.lasting(0.05, over.set):
        pass
    with patience.lasting(0.1, later.set):
        assert later.wait(LONG)
    assert not over.is_set()


def test_haste_leaves_no_wait_its_time(patience: Patience) -> None:
    waits = Event(), Event()
    with patience.lasting(LONG, waits[0].set), patience.lasting(LONG, waits[1].set):
        patience.hasten(0.05)
        assert all(each.wait(LONG) for each in waits)


def test_until_haste_is_over_new_waits_begin(patience: Patience) -> None:
    patience.hasten(LONG)
    with patience.lasting(LONG, lambda: None):
        pass


def test_after_haste_is_over_no_wait_begins(patience: Patience) -> None:
    patience.hasten(0)
    with pytest.raises(Unavailable), patience.lasting(LONG, lambda: None):
        pass


def test_a_patience_that_never_started_can_be_stopped() -> None:
    Patience().stop()
