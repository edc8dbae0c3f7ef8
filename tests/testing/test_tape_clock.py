"""The clock of a tape."""

from datetime import timedelta

from tests.client.tapes import a_showing, a_tape

from forewarn.clocks import END, SystemClock
from forewarn.testing.reel import reel_of
from forewarn.testing.tape_clock import TapeClock


def a_clock(speed: float = 1.0) -> TapeClock:
    return TapeClock(reel_of(a_tape(a_showing()), speed=speed, shown=0.0))


def test_it_is_the_system_s_until_the_tape_begins() -> None:
    assert abs(a_clock().now() - SystemClock().now()) < timedelta(seconds=5)


def test_a_turn_begins_at_a_whole_second_that_is_not_past() -> None:
    clock = a_clock(speed=1000.0)
    before = clock.now()
    first = clock.begin()
    assert first.microsecond == 0
    assert first >= before
    assert clock.begin() >= first


def test_it_says_how_fast_it_runs() -> None:
    assert (a_clock(60.0).name, a_clock(60.0).rate) == ("x60", 60.0)


def test_time_has_an_end() -> None:
    clock = a_clock(speed=1e18)
    clock.begin()
    assert clock.now() == END
