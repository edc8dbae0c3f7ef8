"""Service clock: the agent's estimate of the service's time."""

import time
from datetime import timedelta

from tests.agent.lives import NOON, SECOND

from forewarn.agent.clock import ServiceClock
from forewarn.client.reckoning import Reckoning


def test_a_truncated_date_does_not_set_the_clock_back() -> None:
    clock, at = ServiceClock(), time.monotonic()
    clock.hear(Reckoning(date=NOON, at=at - 0.9))
    before = clock.now()
    clock.hear(Reckoning(date=NOON, at=at))
    assert clock.now() >= before >= NOON + timedelta(seconds=0.9)


def test_a_clock_set_back_is_followed() -> None:
    clock, at = ServiceClock(), time.monotonic()
    clock.hear(Reckoning(date=NOON, at=at))
    clock.hear(Reckoning(date=NOON - 60 * SECOND, at=at))
    assert clock.now() < NOON


def test_the_local_clock_is_ignored_once_a_date_is_known() -> None:
    clock = ServiceClock()
    heard = clock.now() - SECOND
    clock.hear(Reckoning(date=heard, at=time.monotonic()))
    assert clock.now() < heard + SECOND
