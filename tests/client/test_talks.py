"""What is asked, in which order and after which pauses; no time passes here."""

import math
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import pytest
from tests.client.builders import DATE, NOON, a_document, an_answer, an_event

from forewarn.client.asking import Ask
from forewarn.client.http import Answer
from forewarn.client.talks import HOLD, Manner, Pause, Talks, go_on
from forewarn.client.watch import Change
from forewarn.errors import ForewarnError, InvalidInput, Refused, Unreachable

ONE = b'{"DocumentIncarnation":1,"Events":[{"EventId":"A","EventStatus":"Scheduled"}]}'
EMPTY = b'{"DocumentIncarnation":2,"Events":[]}'
AWAY = Unreachable("away")


class Stage:
    """Talks with a service that says what a test wants; every answer takes a while."""

    def __init__(self, patience: float = 30.0, takes: float = 0.0) -> None:
        self.now = 0.0
        self.takes = takes  # seconds for an answer
        self.pauses: list[float] = []
        self.asked: list[Ask] = []
        self.changes: list[Change] = []
        self.talks = Talks(
            Manner(
                endpoint="http://there",
                timeout=10,
                first_timeout=130,
                api_version="2020-07-01",
                patience=patience,
                monotonic=lambda: self.now,
                chance=lambda: 0.0,
            )
        )

    def play(
        self,
        talk: Generator[Any, Answer | None, Any],
        *replies: Answer | ForewarnError,
    ) -> Any:
        """Answer with `replies`, one after the other, until they are used up."""
        left = [*replies]
        reply: Answer | ForewarnError | None = None
        try:
            while True:
                act = go_on(talk, reply)
                reply = None
                if isinstance(act, Ask):
                    self.asked.append(act)
                    if not left:
                        return None
                    reply = left.pop(0)
                    self.now += self.takes
                elif isinstance(act, Pause):
                    self.pauses.append(act.seconds)
                    self.now += act.seconds
                else:
                    self.changes.append(act)
        except StopIteration as done:
            return done.value


def no(status: int, retry_after: float | None = None) -> Refused:
    return Refused("no", status, retry_after=retry_after)


# --- trying again ------------------------------------------------------------


def test_a_document_is_asked_for_until_it_is_told() -> None:
    stage = Stage()
    document = stage.play(
        stage.talks.document(), no(404), AWAY, no(503), an_answer(ONE)
    )
    assert document.incarnation == 1
    assert stage.pauses == [1.0, 1.0, 2.0]


def test_patience_ends() -> None:
    stage = Stage(patience=10)
    with pytest.raises(Unreachable, match="away"):
        stage.play(stage.talks.document(), *[AWAY] * 20)
    assert stage.pauses == [0.5, 1.0, 2.0, 5.0]


def test_an_answer_that_takes_long_uses_patience_up() -> None:
    stage = Stage(patience=30, takes=20)
    with pytest.raises(Unreachable):
        stage.play(stage.talks.document(), *[AWAY] * 20)
    assert len(stage.asked) == 2


def test_an_update_of_the_service_may_take_seventy_seconds() -> None:
    stage = Stage(patience=30)
    replies = [no(410)] * 14
    assert stage.play(stage.talks.document(), *replies, an_answer()).events == ()
    assert 60 < stage.now <= 70


def test_what_is_refused_for_good_is_asked_once() -> None:
    stage = Stage()
    with pytest.raises(Refused):
        stage.play(stage.talks.approve(["A"]), no(400), an_answer(b""))
    assert len(stage.asked) == 1


def test_an_approval_that_was_lost_is_sent_again() -> None:
    stage = Stage()
    stage.play(stage.talks.approve(["A"]), AWAY, an_answer(b""))
    assert [each.body for each in stage.asked] == [stage.asked[0].body] * 2


@pytest.mark.parametrize(
    "written",
    ["7", "Sat, 31 Jan 2026 12:00:07 GMT", "Saturday, 31-Jan-26 12:00:07 GMT"],
)
def test_a_service_says_when_to_come_again(written: str) -> None:
    stage = Stage()
    busy = an_answer(b"", 429, date=DATE, retry_after=written)
    stage.play(stage.talks.document(), busy, an_answer())
    assert stage.pauses == [7.0]


def test_a_time_to_come_again_that_makes_no_sense_is_ignored() -> None:
    stage = Stage()
    busy = an_answer(b"", 429, date=DATE, retry_after="soon")
    stage.play(stage.talks.document(), busy, an_answer())
    assert stage.pauses == [1.0]


def test_only_the_first_question_for_events_may_take_minutes() -> None:
    stage = Stage()
    with pytest.raises(Unreachable):
        stage.play(stage.talks.read(), AWAY)
    stage.play(stage.talks.read(), an_answer())
    stage.play(stage.talks.read(), an_answer())
    stage.play(stage.talks.read('"1"', 30.0), an_answer())
    assert [each.timeout for each in stage.asked] == [130, 130, 10, 40]


def test_a_service_that_is_not_up_yet_has_not_been_asked_for_the_first_time() -> None:
    stage = Stage()
    stage.play(stage.talks.document(), an_answer(status=503), an_answer())
    assert [each.timeout for each in stage.asked] == [130, 130]


def test_an_approval_that_is_the_first_question_may_take_minutes() -> None:
    stage = Stage()
    stage.play(stage.talks.approve(["A"]), an_answer(b""))
    stage.play(stage.talks.approve(["A"]), an_answer(b""))
    stage.play(stage.talks.read(), an_answer())
    assert [each.timeout for each in stage.asked] == [130, 10, 10]


def test_a_question_after_a_day_of_silence_is_a_first_one() -> None:
    stage = Stage()
    stage.play(stage.talks.read(), an_answer())
    stage.now += 86_400
    stage.play(stage.talks.read(), an_answer())
    assert [each.timeout for each in stage.asked] == [130, 130]


# --- watching ----------------------------------------------------------------


def test_a_watch_tells_what_is_there_and_then_what_changes() -> None:
    stage = Stage()
    answers = [an_answer(ONE, etag='"1"'), an_answer(EMPTY, etag='"2"')]
    stage.play(stage.talks.watch(1.0, None), *answers)
    first, second = stage.changes
    assert [each.id for each in first.appeared] == ["A"]
    assert [each.id for each in second.canceled] == ["A"]


def test_a_watch_begins_with_an_empty_document_if_that_is_there() -> None:
    stage = Stage()
    stage.play(stage.talks.watch(1.0, None), an_answer())
    assert [each.events for each in stage.changes] == [()]


def test_a_watch_that_goes_on_tells_only_what_is_new() -> None:
    stage = Stage()
    since = a_document(an_event(id="A", status="Started"))
    stage.play(stage.talks.watch(1.0, since), an_answer(EMPTY))
    assert [each.id for each in stage.changes[0].completed] == ["A"]


def test_a_service_with_tags_is_asked_to_hold_the_question() -> None:
    stage = Stage()
    stage.play(stage.talks.watch(1.0, None), an_answer(etag='"1"'))
    headers = stage.asked[-1].headers
    assert headers["If-None-Match"] == '"1"'
    assert headers["Prefer"] == "wait=30"
    assert stage.pauses == []


def test_a_service_that_held_the_question_is_asked_again_at_once() -> None:
    stage = Stage(takes=HOLD)
    same = an_answer(b"", 304, etag='"1"')
    stage.play(stage.talks.watch(1.0, None), an_answer(etag='"1"'), same, same)
    assert stage.pauses == [0.0, 0.0]


def test_a_service_that_holds_nothing_is_asked_once_a_second() -> None:
    stage = Stage(takes=0.25)
    same = an_answer(b"", 304, etag='"1"')
    stage.play(stage.talks.watch(1.0, None), an_answer(etag='"1"'), same, same)
    assert stage.pauses == [0.75, 0.75]


def test_a_service_without_tags_is_asked_once_a_second_also_after_news() -> None:
    stage = Stage()
    stage.play(stage.talks.watch(1.0, None), an_answer(ONE), an_answer(EMPTY))
    assert stage.pauses == [1.0, 1.0]


def test_a_service_that_holds_nothing_is_asked_once_a_second_also_after_news() -> None:
    stage = Stage()
    answers = [an_answer(each, etag=f'"{each[23]}"') for each in (ONE, EMPTY, ONE)]
    stage.play(stage.talks.watch(1.0, None), *answers)
    assert len(stage.changes) == 3
    assert stage.pauses == [1.0, 1.0]


def test_a_service_that_holds_is_asked_again_at_once_after_news() -> None:
    stage = Stage()
    answers = [
        an_answer(each, etag=f'"{each[23]}"', preference_applied="wait=30")
        for each in (ONE, EMPTY, ONE)
    ]
    stage.play(stage.talks.watch(1.0, None), *answers)
    assert stage.pauses == []


def test_one_blank_body_does_not_make_events_go() -> None:
    stage = Stage()
    answers = [an_answer(ONE), an_answer(b""), an_answer(ONE)]
    stage.play(stage.talks.watch(1.0, None), *answers)
    assert len(stage.changes) == 1


def test_blank_bodies_in_a_row_do() -> None:
    stage = Stage()
    answers = [an_answer(ONE), an_answer(b""), an_answer(b"")]
    stage.play(stage.talks.watch(1.0, None), *answers)
    assert [each.id for each in stage.changes[1].canceled] == ["A"]


def test_a_watch_outlasts_troubles_that_pass() -> None:
    stage = Stage()
    watch = stage.talks.watch(1.0, None)
    stage.play(watch, an_answer(ONE), AWAY, no(500), an_answer(EMPTY))
    assert len(stage.changes) == 2


def test_a_watch_that_is_blind_for_too_long_raises() -> None:
    stage = Stage()
    with pytest.raises(Unreachable):
        stage.play(stage.talks.watch(1.0, None), an_answer(ONE), *[AWAY] * 20)


@pytest.mark.parametrize("poll", [0.0, -1.0, math.nan, math.inf])
def test_a_watch_has_to_leave_time_between_two_questions(poll: float) -> None:
    stage = Stage()
    with pytest.raises(InvalidInput):
        stage.play(stage.talks.watch(poll, None))


@pytest.mark.parametrize("wait", [-1.0, math.nan, math.inf])
def test_a_service_is_not_asked_to_wait_for_a_time_that_is_none(wait: float) -> None:
    stage = Stage()
    with pytest.raises(InvalidInput):
        stage.play(stage.talks.read('"1"', wait))


# --- time --------------------------------------------------------------------


def test_the_time_left_is_reckoned_by_the_clock_of_the_service() -> None:
    stage = Stage()
    stage.play(stage.talks.document(), an_answer(date=DATE, forewarn_clock="60"))
    stage.now = 2.0
    event = an_event(not_before=NOON + timedelta(minutes=15))
    assert stage.talks.now() == NOON + timedelta(minutes=2)
    assert stage.talks.time_left(event) == timedelta(minutes=13)


def test_an_answer_that_was_late_does_not_set_the_time_back() -> None:
    stage = Stage()
    stage.play(stage.talks.read(), an_answer(date=DATE, at=0.0))
    stage.play(stage.talks.read(), an_answer(date=DATE, at=0.75))
    stage.now = 0.75
    assert stage.talks.now() == NOON + timedelta(seconds=0.75)


def test_an_event_without_a_time_has_no_time_left() -> None:
    assert Stage().talks.time_left(an_event()) is None
