"""Conversations: which requests are sent, in which order and after which pauses.

No real time passes here.
"""

import math
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import pytest
from tests.client.support.builders import DATE, NOON, a_document, an_answer, an_event

from forewarn.client.changes import Change
from forewarn.client.conversation import (
    HOLD,
    ClientSettings,
    Conversation,
    Pause,
    advance,
)
from forewarn.client.requests import ClientRequest
from forewarn.client.transport.http1 import HttpResponse
from forewarn.errors import ForewarnError, InvalidInput, Refused, Unreachable

ONE = b'{"DocumentIncarnation":1,"Events":[{"EventId":"A","EventStatus":"Scheduled"}]}'
EMPTY = b'{"DocumentIncarnation":2,"Events":[]}'
AWAY = Unreachable("away")


class ScriptedConversations:
    """Conversations with a scripted service; every response takes `takes` seconds."""

    def __init__(self, patience: float = 30.0, takes: float = 0.0) -> None:
        self.now = 0.0
        self.takes = takes  # seconds per response
        self.pauses: list[float] = []
        self.asked: list[ClientRequest] = []
        self.changes: list[Change] = []
        self.talks = Conversation(
            ClientSettings(
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
        talk: Generator[Any, HttpResponse | None, Any],
        *replies: HttpResponse | ForewarnError,
    ) -> Any:
        """Drive `talk` with `replies`, one after another, until they are used up."""
        left = [*replies]
        reply: HttpResponse | ForewarnError | None = None
        try:
            while True:
                act = advance(talk, reply)
                reply = None
                if isinstance(act, ClientRequest):
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


# --- retries -----------------------------------------------------------------


def test_a_document_is_requested_until_it_arrives() -> None:
    stage = ScriptedConversations()
    document = stage.play(
        stage.talks.document(), no(404), AWAY, no(503), an_answer(ONE)
    )
    assert document.incarnation == 1
    assert stage.pauses == [1.0, 1.0, 2.0]


def test_retries_end_when_patience_runs_out() -> None:
    stage = ScriptedConversations(patience=10)
    with pytest.raises(Unreachable, match="away"):
        stage.play(stage.talks.document(), *[AWAY] * 20)
    assert stage.pauses == [0.5, 1.0, 2.0, 5.0]


def test_slow_responses_use_up_patience() -> None:
    stage = ScriptedConversations(patience=30, takes=20)
    with pytest.raises(Unreachable):
        stage.play(stage.talks.document(), *[AWAY] * 20)
    assert len(stage.asked) == 2


def test_a_service_update_may_take_seventy_seconds() -> None:
    stage = ScriptedConversations(patience=30)
    replies = [no(410)] * 14
    assert stage.play(stage.talks.document(), *replies, an_answer()).events == ()
    assert 60 < stage.now <= 70


def test_a_permanent_refusal_is_not_retried() -> None:
    stage = ScriptedConversations()
    with pytest.raises(Refused):
        stage.play(stage.talks.approve(["A"]), no(400), an_answer(b""))
    assert len(stage.asked) == 1


def test_a_lost_approval_is_sent_again() -> None:
    stage = ScriptedConversations()
    stage.play(stage.talks.approve(["A"]), AWAY, an_answer(b""))
    assert [request.body for request in stage.asked] == [stage.asked[0].body] * 2


@pytest.mark.parametrize(
    "written",
    ["7", "Sat, 31 Jan 2026 12:00:07 GMT", "Saturday, 31-Jan-26 12:00:07 GMT"],
)
def test_retry_after_is_respected(written: str) -> None:
    stage = ScriptedConversations()
    busy = an_answer(b"", 429, date=DATE, retry_after=written)
    stage.play(stage.talks.document(), busy, an_answer())
    assert stage.pauses == [7.0]


def test_an_invalid_retry_after_is_ignored() -> None:
    stage = ScriptedConversations()
    busy = an_answer(b"", 429, date=DATE, retry_after="soon")
    stage.play(stage.talks.document(), busy, an_answer())
    assert stage.pauses == [1.0]


def test_only_the_first_request_for_events_may_take_minutes() -> None:
    stage = ScriptedConversations()
    with pytest.raises(Unreachable):
        stage.play(stage.talks.read(), AWAY)
    stage.play(stage.talks.read(), an_answer())
    stage.play(stage.talks.read(), an_answer())
    stage.play(stage.talks.read('"1"', 30.0), an_answer())
    assert [request.timeout for request in stage.asked] == [130, 130, 10, 40]


def test_an_unsuccessful_request_does_not_count_as_the_first() -> None:
    stage = ScriptedConversations()
    stage.play(stage.talks.document(), an_answer(status=503), an_answer())
    assert [request.timeout for request in stage.asked] == [130, 130]


def test_an_approval_as_the_first_request_may_take_minutes() -> None:
    stage = ScriptedConversations()
    stage.play(stage.talks.approve(["A"]), an_answer(b""))
    stage.play(stage.talks.approve(["A"]), an_answer(b""))
    stage.play(stage.talks.read(), an_answer())
    assert [request.timeout for request in stage.asked] == [130, 10, 10]


def test_the_first_request_after_an_idle_day_may_take_minutes() -> None:
    stage = ScriptedConversations()
    stage.play(stage.talks.read(), an_answer())
    stage.now += 86_400
    stage.play(stage.talks.read(), an_answer())
    assert [request.timeout for request in stage.asked] == [130, 130]


# --- watching ----------------------------------------------------------------


def test_a_watch_yields_the_current_state_and_then_changes() -> None:
    stage = ScriptedConversations()
    answers = [an_answer(ONE, etag='"1"'), an_answer(EMPTY, etag='"2"')]
    stage.play(stage.talks.watch(1.0, None), *answers)
    first, second = stage.changes
    assert [event.id for event in first.appeared] == ["A"]
    assert [event.id for event in second.canceled] == ["A"]


def test_a_watch_starts_with_the_document_even_if_empty() -> None:
    stage = ScriptedConversations()
    stage.play(stage.talks.watch(1.0, None), an_answer())
    assert [change.events for change in stage.changes] == [()]


def test_a_resumed_watch_yields_only_what_is_new() -> None:
    stage = ScriptedConversations()
    since = a_document(an_event(id="A", status="Started"))
    stage.play(stage.talks.watch(1.0, since), an_answer(EMPTY))
    assert [event.id for event in stage.changes[0].completed] == ["A"]


def test_a_service_with_tags_is_asked_for_a_long_poll() -> None:
    stage = ScriptedConversations()
    stage.play(stage.talks.watch(1.0, None), an_answer(etag='"1"'))
    headers = stage.asked[-1].headers
    assert headers["If-None-Match"] == '"1"'
    assert headers["Prefer"] == "wait=30"
    assert stage.pauses == []


def test_a_long_poll_is_repeated_immediately() -> None:
    stage = ScriptedConversations(takes=HOLD)
    same = an_answer(b"", 304, etag='"1"')
    stage.play(stage.talks.watch(1.0, None), an_answer(etag='"1"'), same, same)
    assert stage.pauses == [0.0, 0.0]


def test_without_long_poll_the_service_is_polled_once_a_second() -> None:
    stage = ScriptedConversations(takes=0.25)
    same = an_answer(b"", 304, etag='"1"')
    stage.play(stage.talks.watch(1.0, None), an_answer(etag='"1"'), same, same)
    assert stage.pauses == [0.75, 0.75]


def test_without_tags_the_pause_is_kept_after_a_change() -> None:
    stage = ScriptedConversations()
    stage.play(stage.talks.watch(1.0, None), an_answer(ONE), an_answer(EMPTY))
    assert stage.pauses == [1.0, 1.0]


def test_without_long_poll_the_pause_is_kept_after_a_change() -> None:
    stage = ScriptedConversations()
    answers = [an_answer(body, etag=f'"{body[23]}"') for body in (ONE, EMPTY, ONE)]
    stage.play(stage.talks.watch(1.0, None), *answers)
    assert len(stage.changes) == 3
    assert stage.pauses == [1.0, 1.0]


def test_with_long_poll_there_is_no_pause_after_a_change() -> None:
    stage = ScriptedConversations()
    answers = [
        an_answer(body, etag=f'"{body[23]}"', preference_applied="wait=30")
        for body in (ONE, EMPTY, ONE)
    ]
    stage.play(stage.talks.watch(1.0, None), *answers)
    assert stage.pauses == []


def test_a_single_empty_body_does_not_remove_events() -> None:
    stage = ScriptedConversations()
    answers = [an_answer(ONE), an_answer(b""), an_answer(ONE)]
    stage.play(stage.talks.watch(1.0, None), *answers)
    assert len(stage.changes) == 1


def test_two_empty_bodies_in_a_row_remove_events() -> None:
    stage = ScriptedConversations()
    answers = [an_answer(ONE), an_answer(b""), an_answer(b"")]
    stage.play(stage.talks.watch(1.0, None), *answers)
    assert [event.id for event in stage.changes[1].canceled] == ["A"]


def test_a_watch_survives_temporary_errors() -> None:
    stage = ScriptedConversations()
    watch = stage.talks.watch(1.0, None)
    stage.play(watch, an_answer(ONE), AWAY, no(500), an_answer(EMPTY))
    assert len(stage.changes) == 2


def test_a_watch_fails_after_errors_for_too_long() -> None:
    stage = ScriptedConversations()
    with pytest.raises(Unreachable):
        stage.play(stage.talks.watch(1.0, None), an_answer(ONE), *[AWAY] * 20)


@pytest.mark.parametrize("poll", [0.0, -1.0, math.nan, math.inf])
def test_a_poll_interval_must_be_positive_and_finite(poll: float) -> None:
    stage = ScriptedConversations()
    with pytest.raises(InvalidInput):
        stage.play(stage.talks.watch(poll, None))


@pytest.mark.parametrize("wait", [-1.0, math.nan, math.inf])
def test_a_long_poll_wait_must_be_finite_and_not_negative(wait: float) -> None:
    stage = ScriptedConversations()
    with pytest.raises(InvalidInput):
        stage.play(stage.talks.read('"1"', wait))


# --- time --------------------------------------------------------------------


def test_time_left_uses_the_clock_of_the_service() -> None:
    stage = ScriptedConversations()
    stage.play(stage.talks.document(), an_answer(date=DATE, forewarn_clock="60"))
    stage.now = 2.0
    event = an_event(not_before=NOON + timedelta(minutes=15))
    assert stage.talks.now() == NOON + timedelta(minutes=2)
    assert stage.talks.time_left(event) == timedelta(minutes=13)


def test_a_late_response_does_not_set_the_time_back() -> None:
    stage = ScriptedConversations()
    stage.play(stage.talks.read(), an_answer(date=DATE, at=0.0))
    stage.play(stage.talks.read(), an_answer(date=DATE, at=0.75))
    stage.now = 0.75
    assert stage.talks.now() == NOON + timedelta(seconds=0.75)


def test_an_event_without_not_before_has_no_time_left() -> None:
    assert ScriptedConversations().talks.time_left(an_event()) is None
