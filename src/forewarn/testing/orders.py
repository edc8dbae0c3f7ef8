"""Announcements as a test writes them."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TypedDict

from forewarn.core.announcing import Order
from forewarn.core.causes import Operation
from forewarn.core.durations import duration_of
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventSource, EventType


class Options(TypedDict, total=False):
    """Options of an announcement besides its type and VMs."""

    host: str
    group: str
    notice: str | float | timedelta
    duration: str | float | timedelta
    description: str
    source: str
    reason: str
    emergency: bool
    ignore_gates: bool


def order_of(kind: EventType | str, vms: Sequence[str], options: Options) -> Order:
    """Build an order from event type, VMs and options."""
    if strange := [name for name in vms if not isinstance(name, str)]:
        raise InvalidInput(f"{strange[0]!r} is no name of a VM; name one after another")
    refuse_unknown(options, Options)
    notice, duration = options.get("notice"), options.get("duration")
    source = options.get("source")
    return Order(
        type=_type(kind),
        vms=tuple(vms),
        host=options.get("host"),
        group=options.get("group"),
        notice=None if notice is None else duration_of(notice),
        duration=None if duration is None else _seconds(duration),
        description=options.get("description"),
        source=None if source is None else _source(source),
        reason=options.get("reason"),
        emergency=options.get("emergency", False),
        ignore_gates=options.get("ignore_gates", False),
    )


def refuse_unknown(options: Mapping[str, object], known: type) -> None:
    """Reject keys of `options` that the typed dict `known` does not have."""
    names = known.__annotations__
    if unknown := [key for key in options if key not in names]:
        raise InvalidInput(
            f"there is no {', '.join(unknown)}; there are {', '.join(names)}"
        )


def _type(kind: EventType | str) -> EventType:
    try:
        return EventType(str(kind).capitalize())
    except ValueError:
        types = ", ".join(EventType)
        raise InvalidInput(f"{kind!r} is no type of event; there are {types}") from None


def _source(source: str) -> EventSource:
    try:
        return EventSource(str(source).capitalize())
    except ValueError:
        sources = ", ".join(member.lower() for member in EventSource)
        raise InvalidInput(f"a source is one of {sources}; not {source!r}") from None


def operation_of(operation: Operation | str) -> Operation:
    """Parse the name of a user-initiated operation."""
    try:
        return Operation(str(operation).lower())
    except ValueError:
        operations = ", ".join(Operation)
        raise InvalidInput(f"{operation!r} is none of {operations}") from None


def _seconds(duration: str | float | timedelta) -> int:
    return int(duration_of(duration).total_seconds())
