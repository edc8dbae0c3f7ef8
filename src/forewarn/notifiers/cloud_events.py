"""CloudEvents 1.0 encoding of notifications, in JSON."""

import json
from datetime import datetime

from forewarn.core.facts import Entry
from forewarn.core.notices import told_events
from forewarn.core.views import Json, entry_view, maintenance_view, rfc3339
from forewarn.ports import Notice
from forewarn.protocol.codec import plain_event
from forewarn.protocol.versions import VERSIONS

#: The content type of a message with one event.
CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"

_TYPE = "dev.forewarn."
_VERSION = VERSIONS["2020-07-01"]


def cloud_event(notice: Notice, source: str) -> Json:
    """Convert `notice`; the id is its position, the same in every attempt."""
    return envelope(
        id=str(notice.position),
        source=source,
        kind=type(notice.fact).__name__,
        subject=getattr(notice.fact, "maintenance", None),
        at=notice.fact.at,
        data=_data(notice),
    )


def envelope(
    *,
    id: str,
    source: str,
    kind: str,
    subject: str | None,
    at: datetime,
    data: Json,
) -> Json:
    """Wrap `data` in an event; `subject` is omitted if it is None."""
    return {
        "specversion": "1.0",
        "id": id,
        "source": source,
        "type": _TYPE + kind,
        **({} if subject is None else {"subject": subject}),
        "time": rfc3339(at),
        "datacontenttype": "application/json",
        "data": data,
    }


def written(event: Json) -> bytes:
    """Encode `event` as it is sent and signed; lone surrogates become `?`."""
    text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _data(notice: Notice) -> Json:
    entry = Entry(position=notice.position, fact=notice.fact)
    maintenance = notice.maintenance
    if maintenance is None:
        return {
            "entry": entry_view(entry),
            "maintenance": None,
            "scheduled_events": [],
        }

    def seen_by(event: str) -> list[str]:
        return [sight.vm for sight in notice.sights if sight.event == event]

    return {
        "entry": entry_view(entry),
        "maintenance": maintenance_view(maintenance, seen_by),
        "scheduled_events": [
            plain_event(scheduled, _VERSION, _VERSION.date_form)
            for scheduled in told_events(notice.fact, maintenance)
        ],
    }
