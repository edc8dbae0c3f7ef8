"""Builders for documents, events and responses; every argument is optional."""

from collections.abc import Mapping
from datetime import UTC, datetime

from forewarn.client.transport.http1 import HttpResponse
from forewarn.protocol.types import Document, ScheduledEvent

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
DATE = "Sat, 31 Jan 2026 12:00:00 GMT"


def an_event(
    id: str = "E0",
    status: str = "Scheduled",
    not_before: datetime | None = None,
    description: str = "",
    raw: Mapping[str, object] | None = None,
) -> ScheduledEvent:
    return ScheduledEvent(
        id=id,
        type="Reboot",
        status=status,
        resources=("web-0",),
        not_before=not_before,
        description=description,
        raw=raw or {},
    )


def a_document(*events: ScheduledEvent, incarnation: int = 1) -> Document:
    return Document(incarnation=incarnation, events=events)


def a_response(
    body: bytes = b'{"DocumentIncarnation":0,"Events":[]}',
    status: int = 200,
    at: float = 0.0,
    **headers: str,
) -> HttpResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(status=status, headers=named, body=body, at=at)
