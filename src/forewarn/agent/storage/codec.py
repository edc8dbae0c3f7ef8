"""JSON codec for event states.

The event is stored as the service sent it, so fields that this version does not know
are kept.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from forewarn.agent.config.plan import ApprovalPolicy, HookPoint, SharedApproval
from forewarn.agent.events.state import (
    EventState,
    HookOutcome,
    HookRun,
    Impact,
    LastStatus,
    ResponsePlan,
)
from forewarn.errors import Malformed
from forewarn.protocol import codec
from forewarn.protocol.types import ScheduledEvent

VERSION = 1

T = TypeVar("T")


def encode(state: EventState) -> bytes:
    """Encode `state` as one line."""
    try:
        return _encode(state)
    except (RecursionError, Malformed):
        # The event is nested just within the parser's depth limit.
        return _encode(replace(state, event=replace(state.event, raw={})))


def decode(text: bytes) -> EventState:
    """Decode a state; raise `Malformed` if it is invalid or from another version."""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed("it is not valid JSON") from error
    version = plain.pop("version", None) if isinstance(plain, dict) else None
    if version != VERSION:
        raise Malformed(f"it has version {version} instead of {VERSION}")
    try:
        return _decode_fields(EventState, plain)
    except (AttributeError, TypeError, ValueError, Malformed) as error:
        raise Malformed(f"it does not contain an event's state ({error})") from error


def rfc3339(moment: datetime) -> str:
    """Format a time in UTC, with microseconds unless they are zero."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"


# --- encoding ----------------------------------------------------------------


def field_values(value: Any) -> dict[str, object]:
    """Return the fields of a dataclass by name."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _encode(state: EventState) -> bytes:
    # Escaped: a service may send lone surrogates, which UTF-8 cannot encode.
    plain = {"version": VERSION, **field_values(state)}
    text = json.dumps(plain, default=_encode_value, separators=(",", ":"))
    return text.encode("ascii")


def _encode_value(value: object) -> object:
    match value:
        case ScheduledEvent():
            return _as_sent(value)
        case datetime():
            return rfc3339(value)
        case _:
            return field_values(value)


def _as_sent(event: ScheduledEvent) -> Mapping[str, object]:
    """Return the event as the service sent it or would have sent it."""
    if event.raw.get("EventId") == event.id and _decode_event(event.raw) == event:
        return event.raw
    unknown = codec.UNKNOWN_DURATION
    return {
        **event.raw,
        "EventId": event.id,
        "EventType": event.type,
        "EventStatus": event.status,
        "Resources": [*event.resources],
        "NotBefore": "" if event.not_before is None else rfc3339(event.not_before),
        "Description": event.description,
        "EventSource": event.source,
        "DurationInSeconds": unknown if event.duration is None else event.duration,
    }


# --- decoding ----------------------------------------------------------------


def _decode_event(shown: object) -> ScheduledEvent:
    body = json.dumps({"Events": [shown]}).encode("ascii")
    return codec.decode(body).events[0]


def _decode_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _decode_hooks(plain: dict[str, list[str]]) -> Mapping[HookPoint, tuple[str, ...]]:
    return {HookPoint(step): tuple(names) for step, names in plain.items()}


def _decode_plan(plain: dict[str, Any] | None) -> ResponsePlan | None:
    return None if plain is None else _decode_fields(ResponsePlan, plain)


def _decode_runs(plain: list[dict[str, Any]]) -> tuple[HookRun, ...]:
    return tuple(_decode_fields(HookRun, run) for run in plain)


def _decode_impact(plain: dict[str, Any]) -> Impact:
    return _decode_fields(Impact, plain)


def _decode_fields(kind: type[T], plain: dict[str, Any]) -> T:
    """Create a `kind` from its fields; types without a decoder are native to JSON.

    The data has a checksum, so an agent wrote it. A missing field was unknown to that
    agent's version, so it gets its default.
    """
    listed = fields(kind)  # type: ignore[arg-type]  # all kinds here are dataclasses
    types = {field.name: field.type for field in listed}
    values = {
        name: _DECODERS[types[name]](value) if types.get(name) in _DECODERS else value
        for name, value in plain.items()
    }
    return kind(**values)


_DECODERS: Mapping[object, Callable[[Any], object]] = {
    ApprovalPolicy: ApprovalPolicy,
    HookOutcome: HookOutcome,
    HookPoint: HookPoint,
    LastStatus: LastStatus,
    SharedApproval: SharedApproval,
    datetime: _decode_time,
    datetime | None: _decode_time,
    Mapping[HookPoint, tuple[str, ...]]: _decode_hooks,
    ResponsePlan | None: _decode_plan,
    tuple[HookRun, ...]: _decode_runs,
    Impact: _decode_impact,
    ScheduledEvent: _decode_event,
}
