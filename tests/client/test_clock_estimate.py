"""Clock estimate: the service's time, from one response and from several."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.client.support.builders import DATE, NOON, a_response

from forewarn.client.responses import clock_estimate_of
from forewarn.client.service_clock import ClockEstimate, ServiceClock, better_estimate


def an_estimate(seconds: float, at: float, rate: float = 1.0) -> ClockEstimate:
    return ClockEstimate(date=NOON + timedelta(seconds=seconds), at=at, rate=rate)


@pytest.mark.parametrize(("rate", "real"), [(1.0, 60.0), (60.0, 1.0), (0.0, None)])
def test_the_wait_for_a_moment_is_in_real_seconds(
    rate: float, real: float | None
) -> None:
    reckoning = an_estimate(0, at=0.0, rate=rate)
    assert reckoning.wait_until(NOON + timedelta(minutes=1), 0.0) == real
    assert reckoning.wait_until(NOON - timedelta(minutes=1), 0.0) == 0.0


def test_small_deviations_within_latency_and_rounding_are_tolerated() -> None:
    current = an_estimate(0, at=0.0)
    assert better_estimate(current, an_estimate(8.1, at=10.0)) is current
    set_back = an_estimate(7.9, at=10.0)
    assert better_estimate(current, set_back) is set_back


def test_the_estimate_closer_to_the_service_is_kept() -> None:
    exact, late = an_estimate(10, at=10.0), an_estimate(10, at=10.9)
    assert better_estimate(exact, late) is exact


def test_a_closer_estimate_replaces_the_current_one() -> None:
    late, exact = an_estimate(10, at=10.9), an_estimate(12, at=12.0)
    assert better_estimate(late, exact) is exact


@pytest.mark.parametrize("seconds", [-3600, 5])
def test_a_clock_set_back_is_followed(seconds: float) -> None:
    after = an_estimate(seconds, at=10.0)
    assert better_estimate(an_estimate(0, at=0.0), after) is after


def test_an_old_estimate_is_replaced() -> None:
    after = an_estimate(999.5, at=1000.0)
    assert better_estimate(an_estimate(0, at=0.0), after) is after


def test_a_changed_clock_rate_is_followed() -> None:
    after = an_estimate(0.5, at=1.0, rate=60.0)
    assert better_estimate(an_estimate(0, at=0.0), after) is after


def test_the_estimate_stays_within_the_calendar() -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert ClockEstimate(date=last, at=0.0).now(60.0).year == 9999
    fast = clock_estimate_of(a_response(date=DATE, forewarn_clock="999999999"))
    assert fast is not None
    assert fast.now(1e9).year == 9999


def test_the_local_clock_is_ignored_once_a_date_is_known() -> None:
    clock = ServiceClock(lambda: 0.0)
    assert clock.now() > NOON
    clock.update(an_estimate(0, at=0.0))
    assert clock.now() == NOON


@pytest.mark.parametrize(
    ("told", "rate"),
    [
        ("60", 60.0),
        ("manual", 0.0),
        ("Manual ", 0.0),
        ("0.5", 0.5),
        ("", 1.0),
        ("-1", 1.0),
        ("nan", 1.0),
        ("inf", 1.0),
        ("fast", 1.0),
    ],
)
def test_the_clock_rate_is_read_from_the_response(told: str, rate: float) -> None:
    reckoning = clock_estimate_of(a_response(at=5.0, date=DATE, forewarn_clock=told))
    assert reckoning == ClockEstimate(date=NOON, at=5.0, rate=rate)


@pytest.mark.parametrize(
    "date",
    [
        "",
        "yesterday",
        "Sat, 99 Jan 2026 12:00:00 GMT",
        "Mon, 01 Jan 0001 00:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ],
)
def test_an_invalid_date_gives_no_estimate(date: str) -> None:
    assert clock_estimate_of(a_response(date=date)) is None
