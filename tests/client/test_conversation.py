"""Conversations: which requests are sent, in which order and after which pauses.

No real time passes here.
"""

import math
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import pytest
from tests.client.support.builders import DATE, NOON, a_document, a_response, an_event

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
BOTH = (ONE, EMPTY)
AWAY = Unreachable("away")


class ScriptedConversations:
    """Conversations with a scripted service; every response takes `takes` seconds."""

    def __init__(self, patience: float = 30.0, takes: float = 0.0) -> None:
        self.now = 0.0
        self.takes = takes  # seconds per response
        self.pauses: list[float] = []
        self.requests: list[ClientRequest] = []
        self.changes: list[Change] = []
        self.conversation = Conversation(
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
                    self.requests.append(act)
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


def a_refusal(status: int, retry_after: float | None = None) -> Refused:
    return Refused("no", status, retry_after=retry_after)


# --- retries -----------------------------------------------------------------


def test_a_document_is_requested_until_it_arrives() -> None:
    scripted = ScriptedConversations()
    document = scripted.play(
        scripted.conversation.document(),
        a_refusal(404),
        AWAY,
        a_refusal(503),
        a_response(ONE),
    )
    assert document.incarnation == 1
    assert scripted.pauses == [1.0, 1.0, 2.0]


def test_retries_end_when_patience_runs_out() -> None:
    scripted = ScriptedConversations(patience=10)
    with pytest.raises(Unreachable, match="away"):
        scripted.play(scripted.conversation.document(), *[AWAY] * 20)
    assert scripted.pauses == [0.5, 1.0, 2.0, 5.0]


def test_slow_responses_use_up_patience() -> None:
    scripted = ScriptedConversations(patience=30, takes=20)
    with pytest.raises(Unreachable):
        scripted.play(scripted.conversation.document(), *[AWAY] * 20)
    assert len(scripted.requests) == 2


def test_a_service_update_may_take_seventy_seconds() -> None:
    scripted = ScriptedConversations(patience=30)
    replies = [a_refusal(410)] * 14
    assert (
        scripted.play(scripted.conversation.document(), *replies, a_response()).events
        == ()
    )
    assert 60 < scripted.now <= 70


def test_a_permanent_refusal_is_not_retried() -> None:
    scripted = ScriptedConversations()
    with pytest.raises(Refused):
        scripted.play(
            scripted.conversation.approve(["A"]), a_refusal(400), a_response(b"")
        )
    assert len(scripted.requests) == 1


def test_a_lost_approval_is_sent_again() -> None:
    scripted = ScriptedConversations()
    scripted.play(scripted.conversation.approve(["A"]), AWAY, a_response(b""))
    assert [request.body for request in scripted.requests] == [
        scripted.requests[0].body
    ] * 2


@pytest.mark.parametrize(
    ("written", "pause"),
    [
        ("7", 7.0),
        ("Sat, 31 Jan 2026 12:00:07 GMT", 7.0),
        ("Saturday, 31-Jan-26 12:00:07 GMT", 7.0),
        ("soon", 1.0),
    ],
)
def test_a_valid_retry_after_is_respected(written: str, pause: float) -> None:
    scripted = ScriptedConversations()
    busy = a_response(b"", 429, date=DATE, retry_after=written)
    scripted.play(scripted.conversation.document(), busy, a_response())
    assert scripted.pauses == [pause]


def test_only_the_first_request_for_events_may_take_minutes() -> None:
    scripted = ScriptedConversations()
    with pytest.raises(Unreachable):
        scripted.play(scripted.conversation.read(), AWAY)
    scripted.play(scripted.conversation.read(), a_response())
    scripted.play(scripted.conversation.read(), a_response())
    scripted.play(scripted.conversation.read('"1"', 30.0), a_response())
    assert [request.timeout for request in scripted.requests] == [130, 130, 10, 40]


def test_an_unsuccessful_request_does_not_count_as_the_first() -> None:
    scripted = ScriptedConversations()
    scripted.play(
        scripted.conversation.document(), a_response(status=503), a_response()
    )
    assert [request.timeout for request in scripted.requests] == [130, 130]


def test_an_approval_as_the_first_request_may_take_minutes() -> None:
    scripted = ScriptedConversations()
    scripted.play(scripted.conversation.approve(["A"]), a_response(b""))
    scripted.play(scripted.conversation.approve(["A"]), a_response(b""))
    scripted.play(scripted.conversation.read(), a_response())
    assert [request.timeout for request in scripted.requests] == [130, 10, 10]


def test_the_first_request_after_an_idle_day_may_take_minutes() -> None:
    scripted = ScriptedConversations()
    scripted.play(scripted.conversation.read(), a_response())
    scripted.now += 86_400
    scripted.play(scripted.conversation.read(), a_response())
    assert [request.timeout for request in scripted.requests] == [130, 130]


# --- watching ----------------------------------------------------------------


def test_a_watch_yields_the_current_state_and_then_changes() -> None:
    scripted = ScriptedConversations()
    answers = [a_response(ONE, etag='"1"'), a_response(EMPTY, etag='"2"')]
    scripted.play(scripted.conversation.watch(1.0, None), *answers)
    first, second = scripted.changes
    assert [event.id for event in first.appeared] == ["A"]
    assert [event.id for event in second.canceled] == ["A"]


def test_a_watch_starts_with_the_document_even_if_empty() -> None:
    scripted = ScriptedConversations()
    scripted.play(scripted.conversation.watch(1.0, None), a_response())
    assert [change.events for change in scripted.changes] == [()]


def test_a_resumed_watch_yields_only_what_is_new() -> None:
    scripted = ScriptedConversations()
    since = a_document(an_event(id="A", status="Started"))
    scripted.play(scripted.conversation.watch(1.0, since), a_response(EMPTY))
    assert [event.id for event in scripted.changes[0].completed] == ["A"]


def test_a_service_with_tags_gets_long_polls() -> None:
    scripted = ScriptedConversations()
    scripted.play(scripted.conversation.watch(1.0, None), a_response(etag='"1"'))
    headers = scripted.requests[-1].headers
    assert headers["If-None-Match"] == '"1"'
    assert headers["Prefer"] == "wait=30"
    assert scripted.pauses == []


SAME = a_response(b"", 304, etag='"1"')


@pytest.mark.parametrize(
    ("takes", "answers", "pauses"),
    [
        # A long poll is repeated immediately; otherwise it polls once a second.
        (HOLD, [a_response(etag='"1"'), SAME, SAME], [0.0, 0.0]),
        (0.25, [a_response(etag='"1"'), SAME, SAME], [0.75, 0.75]),
        # After a change there is no pause with long polls only.
        (0.0, [a_response(ONE), a_response(EMPTY)], [1.0, 1.0]),
        (0.0, [a_response(ONE, etag="1"), a_response(EMPTY, etag="2")], [1.0]),
        (
            0.0,
            [a_response(body, etag="1", preference_applied="wait") for body in BOTH],
            [],
        ),
    ],
)
def test_the_pause_of_a_watch_depends_on_long_polls(
    takes: float, answers: list[HttpResponse], pauses: list[float]
) -> None:
    scripted = ScriptedConversations(takes=takes)
    scripted.play(scripted.conversation.watch(1.0, None), *answers)
    assert scripted.pauses == pauses


def test_only_the_second_empty_body_in_a_row_removes_events() -> None:
    scripted = ScriptedConversations()
    answers = [ONE, b"", ONE, b"", b""]
    scripted.play(scripted.conversation.watch(1.0, None), *map(a_response, answers))
    _, change = scripted.changes
    assert [event.id for event in change.canceled] == ["A"]


def test_a_watch_survives_temporary_errors() -> None:
    scripted = ScriptedConversations()
    watch = scripted.conversation.watch(1.0, None)
    scripted.play(watch, a_response(ONE), AWAY, a_refusal(500), a_response(EMPTY))
    assert len(scripted.changes) == 2


def test_a_watch_fails_after_errors_for_too_long() -> None:
    scripted = ScriptedConversations()
    with pytest.raises(Unreachable):
        scripted.play(
            scripted.conversation.watch(1.0, None), a_response(ONE), *[AWAY] * 20
        )


@pytest.mark.parametrize("poll", [0.0, -1.0, math.nan, math.inf])
def test_a_poll_interval_must_be_positive_and_finite(poll: float) -> None:
    scripted = ScriptedConversations()
    with pytest.raises(InvalidInput):
        scripted.play(scripted.conversation.watch(poll, None))


@pytest.mark.parametrize("wait", [-1.0, math.nan, math.inf])
def test_a_long_poll_wait_must_be_finite_and_not_negative(wait: float) -> None:
    scripted = ScriptedConversations()
    with pytest.raises(InvalidInput):
        scripted.play(scripted.conversation.read('"1"', wait))


# --- time --------------------------------------------------------------------


def test_the_time_is_that_of_the_service() -> None:
    scripted = ScriptedConversations()
    scripted.play(
        scripted.conversation.document(), a_response(date=DATE, forewarn_clock="60")
    )
    scripted.now = 2.0
    assert scripted.conversation.clock.now() == NOON + timedelta(minutes=2)


def test_a_late_response_does_not_set_the_time_back() -> None:
    scripted = ScriptedConversations()
    scripted.play(scripted.conversation.read(), a_response(date=DATE, at=0.0))
    scripted.play(scripted.conversation.read(), a_response(date=DATE, at=0.75))
    scripted.now = 0.75
    assert scripted.conversation.clock.now() == NOON + timedelta(seconds=0.75)
