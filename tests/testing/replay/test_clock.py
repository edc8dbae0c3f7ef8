"""The clock of a replay."""

from datetime import timedelta

from tests.recordings.recordings import a_recorded_document, a_recording

from forewarn.clocks import END, SystemClock
from forewarn.testing.replay.schedule import ReplayClock, schedule_of


def a_clock(speed: float = 1.0) -> ReplayClock:
    return ReplayClock(
        schedule_of(a_recording(a_recorded_document()), speed=speed, shown=0.0)
    )


def test_clock_is_the_system_clock_until_the_replay_begins() -> None:
    assert abs(a_clock().now() - SystemClock().now()) < timedelta(seconds=5)


def test_turn_begins_at_a_whole_second_not_in_the_past() -> None:
    clock = a_clock(speed=1000.0)
    before = clock.now()
    first = clock.begin()
    assert first.microsecond == 0
    assert first >= before
    assert clock.begin() >= first


def test_clock_reports_its_rate() -> None:
    assert (a_clock(60.0).name, a_clock(60.0).rate) == ("x60", 60.0)


def test_clock_stops_at_the_maximum_time() -> None:
    clock = a_clock(speed=1e18)
    clock.begin()
    assert clock.now() == END
