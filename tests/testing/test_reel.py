"""When each line of a tape is shown."""

from tests.client.tapes import a_raw_event, a_showing, a_tape, a_trouble

from forewarn.client.tapes import End, Line, Resumed, Showing
from forewarn.testing.reel import Reel, reel_of


def a_reel(*lines: Line, speed: float = 1.0, shown: float = 0.0) -> Reel:
    return reel_of(a_tape(*lines), speed=speed, shown=shown)


def starts(reel: Reel) -> list[float]:
    return [each.starts for each in reel.frames]


LIFE = (
    a_showing(after=2.0),
    a_showing(a_raw_event(), after=62.0),
    a_showing(after=662.0),
    End(after=722.0),
)


def test_a_tape_begins_with_its_first_document_and_ends_as_it_did() -> None:
    reel = a_reel(*LIFE)
    assert starts(reel) == [0.0, 60.0, 660.0]
    assert reel.ends == 720.0


def test_at_speed_60_a_minute_is_a_second() -> None:
    reel = a_reel(*LIFE, speed=60.0)
    assert starts(reel) == [0.0, 1.0, 11.0]
    assert reel.ends == 12.0


def test_each_document_is_shown_long_enough_to_be_seen() -> None:
    reel = a_reel(*LIFE, speed=600.0, shown=1.0)
    assert starts(reel) == [0.0, 1.0, 2.0]
    assert reel.ends == 3.0


def test_so_is_a_trouble_but_not_its_end() -> None:
    lines = a_showing(), a_trouble(), a_trouble(None), a_showing(incarnation=2)
    assert starts(a_reel(*lines, shown=1.0)) == [0.0, 1.0, 2.0, 2.0]


def test_time_does_not_go_on_while_a_document_is_kept_longer_than_it_was() -> None:
    reel = a_reel(*LIFE, speed=60.0, shown=5.0)
    assert reel.position(0.0) == 2.0
    assert reel.position(0.5) == 32.0
    assert reel.position(4.9) == 62.0  # the next document is not shown yet
    assert reel.position(5.0) == 62.0
    assert reel.position(6.0) == 122.0


def test_behind_its_last_line_time_goes_on() -> None:
    reel = a_reel(*LIFE, speed=60.0)
    assert reel.position(12.0) == 722.0
    assert reel.position(13.0) == 782.0


def test_what_cannot_be_seen_is_not_shown() -> None:
    blank = Showing(after=1.0, document=None)
    lines = a_showing(), blank, End(after=2.0), Resumed(after=50.0)
    reel = a_reel(*lines, shown=1.0)
    assert [each.line for each in reel.frames] == [a_showing()]
    assert reel.ends == 50.0


def test_a_tape_without_a_document_is_short() -> None:
    reel = a_reel(End(after=3.0))
    assert reel.frames == []
    assert reel.position(1.0) == 0.0
