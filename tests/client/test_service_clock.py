"""Service clock: the agent's estimate of the service's time."""

import time
from datetime import timedelta

from tests.agent.support.events import NOON, SECOND

from forewarn.client.service_clock import ClockEstimate, ServiceClock


def test_a_truncated_date_does_not_set_the_clock_back() -> None:
    clock, at = ServiceClock(), time.monotonic()
    clock.update(ClockEstimate(date=NOON, at=at - 0.9))
    before = clock.now()
    clock.update(ClockEstimate(date=NOON, at=at))
    assert clock.now() >= before >= NOON + timedelta(seconds=0.9)


def test_a_clock_set_back_is_followed() -> None:
    clock, at = ServiceClock(), time.monotonic()
    clock.update(ClockEstimate(date=NOON, at=at))
    clock.update(ClockEstimate(date=NOON - 60 * SECOND, at=at))
    assert clock.now() < NOON


def test_the_local_clock_is_ignored_once_a_date_is_known() -> None:
    clock = ServiceClock()
    heard = clock.now() - SECOND
    clock.update(ClockEstimate(date=heard, at=time.monotonic()))
    assert clock.now() < heard + SECOND
