"""The schedule of a replay: when each line of a recording is shown."""

from tests.recordings.recordings import (
    a_failure,
    a_raw_event,
    a_recorded_document,
    a_recording,
)

from forewarn.recordings.format import (
    Line,
    RecordedDocument,
    RecordingEnd,
    RecordingResumed,
)
from forewarn.testing.replay.schedule import ReplaySchedule, schedule_of


def a_schedule(*lines: Line, speed: float = 1.0, shown: float = 0.0) -> ReplaySchedule:
    return schedule_of(a_recording(*lines), speed=speed, shown=shown)


def starts(reel: ReplaySchedule) -> list[float]:
    return [frame.starts for frame in reel.frames]


LIFE = (
    a_recorded_document(after=2.0),
    a_recorded_document(a_raw_event(), after=62.0),
    a_recorded_document(after=662.0),
    RecordingEnd(after=722.0),
)


def test_replay_begins_with_the_first_document_and_keeps_the_recorded_end() -> None:
    reel = a_schedule(*LIFE)
    assert starts(reel) == [0.0, 60.0, 660.0]
    assert reel.ends == 720.0


def test_at_speed_60_a_minute_is_a_second() -> None:
    reel = a_schedule(*LIFE, speed=60.0)
    assert starts(reel) == [0.0, 1.0, 11.0]
    assert reel.ends == 12.0


def test_each_document_is_shown_for_a_minimum_time() -> None:
    reel = a_schedule(*LIFE, speed=600.0, shown=1.0)
    assert starts(reel) == [0.0, 1.0, 2.0]
    assert reel.ends == 3.0


def test_failure_has_a_minimum_time_but_its_end_has_none() -> None:
    lines = (
        a_recorded_document(),
        a_failure(),
        a_failure(None),
        a_recorded_document(incarnation=2),
    )
    assert starts(a_schedule(*lines, shown=1.0)) == [0.0, 1.0, 2.0, 2.0]


def test_clock_stops_while_a_document_is_shown_longer_than_recorded() -> None:
    reel = a_schedule(*LIFE, speed=60.0, shown=5.0)
    assert reel.position(0.0) == 2.0
    assert reel.position(0.5) == 32.0
    assert reel.position(4.9) == 62.0  # the next document is not shown yet
    assert reel.position(5.0) == 62.0
    assert reel.position(6.0) == 122.0


def test_clock_continues_after_the_last_line() -> None:
    reel = a_schedule(*LIFE, speed=60.0)
    assert reel.position(12.0) == 722.0
    assert reel.position(13.0) == 782.0


def test_lines_without_a_visible_effect_get_no_frame() -> None:
    blank = RecordedDocument(after=1.0, document=None)
    lines = (
        a_recorded_document(),
        blank,
        RecordingEnd(after=2.0),
        RecordingResumed(after=50.0),
    )
    reel = a_schedule(*lines, shown=1.0)
    assert [frame.line for frame in reel.frames] == [a_recorded_document()]
    assert reel.ends == 50.0


def test_recording_without_a_document_has_no_frames() -> None:
    reel = a_schedule(RecordingEnd(after=3.0))
    assert reel.frames == []
    assert reel.position(1.0) == 0.0
