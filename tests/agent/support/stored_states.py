"""Builders and Hypothesis strategies for stored event states."""

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import TypeVar

from hypothesis import strategies as st

from forewarn.agent.config.plan import ApprovalPolicy, HookPoint, SharedApproval
from forewarn.agent.events.state import (
    EventState,
    HookOutcome,
    HookRun,
    Impact,
    LastStatus,
    ResponsePlan,
)
from forewarn.protocol import codec
from forewarn.protocol.types import ScheduledEvent

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
ID = "0A4B7C1E-52F3-4C6D-9E8F-1B2A3C4D5E6F"


def shown(**more: object) -> dict[str, object]:
    """Return an event as a service shows it."""
    return {
        "EventId": ID,
        "EventStatus": "Scheduled",
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web-0"],
        "NotBefore": "Sun, 15 Nov 2026 12:15:00 GMT",
        **more,
    }


def read(wire: Mapping[str, object]) -> ScheduledEvent:
    """Decode an event as a service shows it."""
    return codec.decode(json.dumps({"Events": [wire]}).encode()).events[0]


def a_state(*, event_id: str = ID, boot: str = "boot-0", runs: int = 0) -> EventState:
    """Build the state of an event; those that differ in `boot` are versions of one."""
    run = HookRun(step=HookPoint.PREPARE, hook="drain", token="t", begun_at=NOON)
    return EventState(
        event=read(shown(EventId=event_id)),
        seen=LastStatus.SCHEDULED,
        first_at=NOON,
        last_at=NOON,
        boot=boot,
        runs=(run,) * runs,
    )


# --- any event state ---------------------------------------------------------

T = TypeVar("T")


def _maybe(some: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    return st.none() | some


_texts = st.text(st.characters(exclude_categories=()), max_size=8)  # with surrogates
_words = st.text("abcd-0 \n\"'", min_size=1, max_size=8)
_moments = st.datetimes(timezones=st.just(UTC))
_seconds = st.floats(0, 1e6)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts, inner),
    max_leaves=3,
)
_events = st.fixed_dictionaries(
    {"EventId": st.just(ID) | _texts.filter(bool)},
    optional={
        "EventStatus": st.sampled_from(["Scheduled", "Started"]) | _texts,
        "EventType": st.sampled_from(["Freeze", "Reboot"]) | _texts,
        "EventSource": _maybe(st.sampled_from(["User", "Platform"]) | _texts),
        "Resources": st.lists(_texts, max_size=2) | _json,
        "NotBefore": st.just("Sun, 15 Nov 2026 12:15:00 GMT")
        | _moments.map(datetime.isoformat)
        | _json,
        "Description": _json,
        "DurationInSeconds": st.integers(-1, 99) | _json,
        "Unknown": _json,
    },
).map(read)
_course_fields = {
    "rule": _words,
    "hooks": st.dictionaries(
        st.sampled_from(HookPoint), st.lists(_words, max_size=2).map(tuple), max_size=2
    ),
    "parallel": st.booleans(),
    "approve": st.sampled_from(ApprovalPolicy),
    "together": st.sampled_from(SharedApproval),
    "ready": _maybe(_words),
}
_run_fields = {
    "step": st.sampled_from(HookPoint),
    "hook": _words,
    "token": _words,
    "begun_at": _moments,
    "times": st.integers(1, 9),
    "outcome": st.sampled_from(HookOutcome),
    "ended_at": _maybe(_moments),
    "tries": st.integers(0, 9),
    "code": _maybe(st.integers(-64, 255)),
    "output": _texts,
    "reason": _texts,
}
_state_fields: dict[str, st.SearchStrategy[object]] = {
    "event": _events,
    "seen": st.sampled_from(LastStatus),
    "first_at": _moments,
    "last_at": _moments,
    "notice": _maybe(_seconds),
    "is_sudden": st.booleans(),
    "is_mine": st.booleans(),
    "is_leader": st.booleans(),
    "boot": _words,
    "course": _maybe(st.builds(ResponsePlan, **_course_fields)),
    "runs": st.lists(st.builds(HookRun, **_run_fields), max_size=2).map(tuple),
    "posted_at": _maybe(_moments),
    "approved_at": _maybe(_moments),
    "approved_elsewhere": st.booleans(),
    "started_at": _maybe(_moments),
    "gone_at": _maybe(_moments),
    "over_at": _maybe(_moments),
    "impact": st.builds(
        Impact, boots=st.integers(0, 9), seconds=_seconds, total=_seconds
    ),
}
states: st.SearchStrategy[EventState] = st.builds(EventState, **_state_fields)

#: Every stored type, and the fields of it that are drawn.
DRAWN: Mapping[type, set[str]] = {
    EventState: set(_state_fields),
    ResponsePlan: set(_course_fields),
    HookRun: set(_run_fields),
    Impact: {each.name for each in fields(Impact)},
}
