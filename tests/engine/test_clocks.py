"""Clocks: the system clock, a fast one and a manual one."""

import time
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import pytest
from tests.engine.support.system import HOUR, MINUTE, NOON, SECOND
from tests.patience import PATIENCE

from forewarn.clocks import FastClock, ManualClock, SystemClock, make_clock, rate_of
from forewarn.errors import InvalidInput
from forewarn.ports import Clock

LONG = PATIENCE


def seconds_waited(clock: Clock, bell: Event, until: datetime | None) -> float:
    """Return how long `clock` waits, in real seconds; `LONG` if it does not return."""
    began = time.monotonic()
    thread = Thread(target=clock.wait, args=(bell, until), daemon=True)
    thread.start()
    thread.join(LONG)
    bell.set()
    return time.monotonic() - began


def a_set_event() -> Event:
    bell = Event()
    bell.set()
    return bell


# --- names and start times ---------------------------------------------------


def test_the_system_clock_shows_the_time_of_the_machine() -> None:
    clock = make_clock("system", kept=NOON, last=NOON + HOUR)
    assert (clock.name, clock.rate) == ("system", 1.0)
    assert clock.now().tzinfo is UTC
    assert abs(clock.now() - SystemClock().now()) < MINUTE


@pytest.mark.parametrize(
    ("text", "rate"), [("x60", 60.0), ("x1", 1.0), ("x0.5", 0.5), ("x86400", 86400.0)]
)
def test_a_fast_clock_is_named_by_its_rate(text: str, rate: float) -> None:
    clock = make_clock(text, kept=None, last=None)
    assert (clock.name, clock.rate) == (text, rate)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "x0",
        "x0.0",
        "x-1",
        "60",
        "x60s",
        "fast",
        "Manual",
        "xx60",
        "x1e9",
    ],
)
def test_any_other_clock_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"system, manual, or a rate such as x60"):
        make_clock(text, kept=None, last=None)


def test_a_manual_clock_continues_where_it_was_stored() -> None:
    clock = make_clock("manual", kept=NOON, last=NOON - HOUR)
    assert (clock.name, clock.rate, clock.now()) == ("manual", 1.0, NOON)


def test_a_new_manual_clock_starts_at_a_whole_second() -> None:
    before = SystemClock().now()
    now = make_clock("manual", kept=None, last=None).now()
    assert now.microsecond == 0
    assert before - SECOND < now <= SystemClock().now()


def test_a_fast_clock_never_starts_before_the_last_time_in_the_store() -> None:
    future = SystemClock().now() + 24 * HOUR
    assert make_clock("x60", kept=None, last=future).now() >= future


def test_a_fast_clock_starts_at_the_machine_s_time_if_that_is_later() -> None:
    before = SystemClock().now()
    now = make_clock("x60", kept=NOON - 24 * HOUR, last=NOON - 24 * HOUR).now()
    assert now >= before
    assert now - before < HOUR


@pytest.mark.parametrize(
    ("text", "rate"), [("system", 1.0), ("manual", 1.0), ("x60", 60.0), ("x0.5", 0.5)]
)
def test_the_rate_of_a_clock_is_known_from_its_name(text: str, rate: float) -> None:
    assert rate_of(text) == rate


# --- the fast clock ----------------------------------------------------------


def test_a_fast_clock_runs_at_its_rate() -> None:
    earliest = time.monotonic()
    clock = FastClock(1000.0, NOON)
    latest = time.monotonic()
    bell = Event()
    bell.wait(0.05)
    least = time.monotonic() - latest
    now = clock.now()
    most = time.monotonic() - earliest
    assert timedelta(seconds=999 * least) <= now - NOON
    assert now - NOON <= timedelta(seconds=1001 * most)


def test_a_fast_clock_waits_a_fraction_of_the_time() -> None:
    clock = FastClock(36_000.0, NOON)
    waited = seconds_waited(clock, Event(), clock.now() + HOUR)
    assert waited < LONG  # an hour is a tenth of a second
    assert clock.now() >= NOON + HOUR


def test_a_fast_clock_never_runs_backwards() -> None:
    clock = FastClock(60.0, NOON)
    times = [clock.now() for _ in range(1000)]
    assert times == sorted(times)
    assert times[0] >= NOON


# --- waiting -----------------------------------------------------------------


@pytest.mark.parametrize(
    "clock", [SystemClock(), FastClock(60.0, NOON), ManualClock(NOON)]
)
def test_a_bell_ends_the_wait(clock: Clock) -> None:
    until = clock.now() + 24 * HOUR
    assert seconds_waited(clock, a_set_event(), until) < LONG
    assert seconds_waited(clock, a_set_event(), None) < LONG


@pytest.mark.parametrize("clock", [SystemClock(), FastClock(60.0, NOON)])
def test_a_time_in_the_past_is_not_waited_for(clock: Clock) -> None:
    assert seconds_waited(clock, Event(), clock.now() - MINUTE) < LONG


# --- the manual clock --------------------------------------------------------


def test_a_manual_clock_moves_only_when_it_is_moved() -> None:
    clock = ManualClock(NOON)
    assert {clock.now() for _ in range(100)} == {NOON}
    clock.move_to(NOON + HOUR)
    clock.move_to(NOON + HOUR)
    assert clock.now() == NOON + HOUR


def test_a_manual_clock_is_never_set_back() -> None:
    clock = ManualClock(NOON)
    with pytest.raises(InvalidInput):
        clock.move_to(NOON - SECOND)
    assert clock.now() == NOON


def test_a_manual_clock_never_starts_before_the_last_time_in_the_store() -> None:
    later = NOON + HOUR
    assert make_clock("manual", kept=NOON, last=later).now() == later
