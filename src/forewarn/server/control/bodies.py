"""Request bodies about maintenance operations, validated and parsed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from forewarn.core.announcing import Order
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventSource, EventType

_Word = TypeVar("_Word", bound=StrEnum)
_MOST_SECONDS = 10**12  # no meaningful number of seconds is larger


class Reason(BaseModel):
    """Why something is done."""

    model_config = ConfigDict(extra="forbid")

    reason: StrictStr | None = Field(None, max_length=1000)


class Told(Reason):
    """What VMs are told, beside what happens."""

    duration_seconds: StrictInt | None = Field(None, description="-1: unknown")
    description: StrictStr | None = Field(None, max_length=1000)


class Timed(Told):
    """What VMs are told, and when."""

    notice_seconds: StrictInt | None = Field(None, ge=0, le=_MOST_SECONDS)
    not_before: StrictStr | None = Field(None, description="RFC 3339 with a zone")


class Reimaging(Timed):
    """How a VM gets a new image."""

    source: StrictStr | None = Field(
        None, description="User; Platform, if the platform renews images by itself"
    )


class HostMaintenance(Timed):
    """What is done to a host."""

    type: StrictStr | None = Field(
        None, description="Freeze, if absent; Reboot or Redeploy"
    )
    emergency: StrictBool | None = None
    ignore_gates: StrictBool | None = None


class Degraded(Told):
    """Until when a host is predicted to last."""

    fails_by: StrictStr | None = Field(None, description="RFC 3339 with a zone")


class Announcement(Timed):
    """What is to be announced."""

    type: StrictStr = Field(description="Freeze, Reboot, Redeploy, Preempt, Terminate")
    vms: list[StrictStr] | None = Field(None, description="names of VMs")
    host: StrictStr | None = Field(None, description="all VMs of a host, as one act")
    group: StrictStr | None = Field(None, description="all VMs of a group")
    source: StrictStr | None = Field(None, description="Platform or User")
    emergency: StrictBool | None = None
    ignore_gates: StrictBool | None = None


def order_of(body: Announcement) -> Order:
    """Parse an announcement."""
    order = Order(
        type=word(EventType, body.type, "type"),
        vms=tuple(body.vms or ()),
        host=body.host,
        group=body.group,
        source=source_of(body.source),
        emergency=bool(body.emergency),
        ignore_gates=bool(body.ignore_gates),
    )
    return with_times(order, body)


def with_words(order: Order, body: Told | None) -> Order:
    """Add duration, description and reason to `order`."""
    if body is None:
        return order
    return replace(
        order,
        duration=body.duration_seconds,
        description=body.description,
        reason=body.reason,
    )


def with_times(order: Order, body: Timed | None) -> Order:
    """Add notice, start time and the fields of `with_words` to `order`."""
    if body is None:
        return order
    notice, at = body.notice_seconds, body.not_before
    return replace(
        with_words(order, body),
        notice=None if notice is None else timedelta(seconds=notice),
        not_before=None if at is None else moment(at, "not_before"),
    )


def source_of(text: str | None) -> EventSource | None:
    """Parse a source; case does not matter."""
    return None if text is None else word(EventSource, text, "source")


def moment(text: str, name: str) -> datetime:
    """Parse a time, which must have a zone, and return it in UTC."""
    wrong = InvalidInput(
        f"{name}: expected a time with a zone, such as 2026-01-31T12:00:00Z,"
        f" not {text!r}"
    )
    try:
        parsed = datetime.fromisoformat(text)
        if parsed.tzinfo is None or "T" not in text.upper():
            raise wrong
        return parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        raise wrong from None


def word(kind: type[_Word], text: str, name: str) -> _Word:
    """Parse a value of `kind`; case does not matter."""
    for member in kind:
        if member.value.lower() == text.lower():
            return member
    values = ", ".join(member.value for member in kind)
    raise InvalidInput(f"{name}: expected one of {values}, not {text!r}")
