"""What a test wants announced, as it writes it."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TypedDict

from forewarn.core.announcing import Order
from forewarn.core.causes import Operation
from forewarn.core.durations import duration_of
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventSource, EventType


class Options(TypedDict, total=False):
    """What can be said of an announcement beside its type and its VMs."""

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
    """Read what is to be announced."""
    if strange := [each for each in vms if not isinstance(each, str)]:
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
    """Refuse what stands in `options` and not in the table `known`."""
    names = known.__annotations__
    if unknown := [each for each in options if each not in names]:
        raise InvalidInput(
            f"there is no {', '.join(unknown)}; there are {', '.join(names)}"
        )


def _type(kind: EventType | str) -> EventType:
    try:
        return EventType(str(kind).capitalize())
    except ValueError:
        known = ", ".join(EventType)
        raise InvalidInput(f"{kind!r} is no type of event; there are {known}") from None


def _source(source: str) -> EventSource:
    try:
        return EventSource(str(source).capitalize())
    except ValueError:
        known = ", ".join(each.lower() for each in EventSource)
        raise InvalidInput(f"a source is one of {known}; not {source!r}") from None


def operation_of(operation: Operation | str) -> Operation:
    """Read what a user does to a VM."""
    try:
        return Operation(str(operation).lower())
    except ValueError:
        known = ", ".join(Operation)
        raise InvalidInput(f"{operation!r} is none of {known}") from None


def _seconds(duration: str | float | timedelta) -> int:
    return int(duration_of(duration).total_seconds())
