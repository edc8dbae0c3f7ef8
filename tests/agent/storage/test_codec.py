"""Serialization of event states."""

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from tests.agent.support.stored_states import DRAWN, NOON, a_state, read, shown, states

from forewarn.agent.events.state import EventState
from forewarn.agent.storage import codec
from forewarn.errors import Malformed
from forewarn.protocol.types import EventStatus, EventType, ScheduledEvent


@given(state=states)
def test_any_state_survives_a_round_trip(state: EventState) -> None:
    back = codec.decode(codec.encode(state))
    assert back == state
    assert back.event.raw == state.event.raw


@pytest.mark.parametrize("kind", DRAWN, ids=lambda kind: kind.__name__)
def test_every_stored_field_is_drawn(kind: type[EventState]) -> None:
    assert {item.name for item in fields(kind)} == DRAWN[kind]


def test_unknown_fields_survive() -> None:
    state = replace(a_state(), event=read(shown(Severity={"level": 3})))
    back = codec.decode(codec.encode(state))
    assert back.event.raw["Severity"] == {"level": 3}


def test_an_event_without_raw_data_survives() -> None:
    event = ScheduledEvent(
        id="e0",
        type=EventType.FREEZE,
        status=EventStatus.STARTED,
        resources=("web-0",),
        not_before=NOON,
        duration=9,
    )
    state = replace(a_state(), event=event)
    assert codec.decode(codec.encode(state)) == state


def test_an_event_changed_since_it_was_shown_stays_changed() -> None:
    event = replace(read(shown(Severity=3)), status=EventStatus.STARTED)
    back = codec.decode(codec.encode(replace(a_state(), event=event)))
    assert back.event == event
    assert back.event.raw["Severity"] == 3


def test_deeply_nested_values_are_omitted_and_the_rest_is_kept() -> None:
    deep: object = []
    for _ in range(2_000):
        deep = [deep]
    event = replace(read(shown()), raw=shown(Deep=deep))
    state = replace(a_state(), event=event)
    assert codec.decode(codec.encode(state)) == state


def test_a_field_missing_from_an_older_version_gets_its_default() -> None:
    plain = json.loads(codec.encode(replace(a_state(), is_sudden=True)))
    del plain["is_sudden"]
    assert codec.decode(json.dumps(plain).encode()).is_sudden is False


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "it is not valid JSON"),
        ("[]", "it has version None instead of 1"),
        ('{"version": 2}', "it has version 2 instead of 1"),
        ('{"version": 1}', "it does not contain an event's state"),
        ('{"version": 1, "event": {}}', "it does not contain an event's state"),
        ('{"version": 1, "runs": 3}', "it does not contain an event's state"),
        ('{"version": 1, "seen": "once"}', "it does not contain an event's state"),
        ('{"version": 1, "wish": 1}', "it does not contain an event's state"),
    ],
)
def test_an_invalid_state_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        codec.decode(text.encode())
