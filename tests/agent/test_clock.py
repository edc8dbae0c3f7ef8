"""The service's time, as the agent knows it."""

import time
from datetime import timedelta

from tests.agent.lives import NOON, SECOND

from forewarn.agent.clock import ServiceClock
from forewarn.client.reckoning import Reckoning


def test_a_date_without_its_fraction_does_not_set_the_clock_back() -> None:
    clock, at = ServiceClock(), time.monotonic()
    clock.hear(Reckoning(date=NOON, at=at - 0.9))
    before = clock.now()
    clock.hear(Reckoning(date=NOON, at=at))
    assert clock.now() >= before >= NOON + timedelta(seconds=0.9)


def test_a_clock_that_was_set_back_is_believed() -> None:
    clock, at = ServiceClock(), time.monotonic()
    clock.hear(Reckoning(date=NOON, at=at))
    clock.hear(Reckoning(date=NOON - 60 * SECOND, at=at))
    assert clock.now() < NOON


def test_this_machines_own_time_counts_for_nothing_once_a_date_is_told() -> None:
    clock = ServiceClock()
    heard = clock.now() - SECOND
    clock.hear(Reckoning(date=heard, at=time.monotonic()))
    assert clock.now() < heard + SECOND
