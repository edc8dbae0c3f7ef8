"""Encoding and decoding of documents, approvals and dates.

1. Encoding is exact: compact JSON in UTF-8, with keys in the order that real endpoints
   use.
2. Decoding is tolerant: real endpoints omit fields, write dates in several ways, and
   return an empty body instead of an empty document.
3. A JSON object without a list of Events is not a document. An intermediary between a
   VM and the service may return an error with status 200, which must not mean that all
   events are gone.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

from forewarn.errors import Malformed
from forewarn.protocol.types import (
    Document,
    EventSource,
    EventStatus,
    EventType,
    ScheduledEvent,
)
from forewarn.protocol.versions import ApiVersion, DateForm

UNKNOWN_DURATION = -1

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)

_RFC1123 = re.compile(
    rf"(?:{'|'.join(_DAYS)}), ([0-9]{{2}}) ({'|'.join(_MONTHS)}) ([0-9]{{4}})"
    r" ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT"
)

_Word = TypeVar("_Word", EventType, EventStatus, EventSource)


# --- documents ---------------------------------------------------------------


def encode(
    document: Document, version: ApiVersion, date_form: DateForm | None = None
) -> bytes:
    """Encode `document` for `version`; `date_form` overrides the version's form."""
    form = date_form or version.date_form
    events = [
        plain_event(event, version, form)
        for event in document.events
        if event.type in version.types
    ]
    plain = {"DocumentIncarnation": document.incarnation, "Events": events}
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()


def plain_event(
    event: ScheduledEvent, version: ApiVersion, form: DateForm
) -> dict[str, object]:
    """Return one event as it appears in a document of `version`."""
    plain: dict[str, object] = {
        "EventId": event.id,
        "EventStatus": event.status,
        "EventType": event.type,
        "ResourceType": "VirtualMachine",
        "Resources": [
            f"_{name}" if version.underscore and name not in event.paas else name
            for name in event.resources
        ],
        "NotBefore": _not_before(event.not_before, form),
    }
    if version.description:
        plain["Description"] = event.description
    if version.source:
        plain["EventSource"] = event.source or EventSource.PLATFORM
    if version.duration:
        is_known = event.duration is not None
        plain["DurationInSeconds"] = event.duration if is_known else UNKNOWN_DURATION
    return plain


def _not_before(moment: datetime | None, form: DateForm) -> str:
    if moment is None:
        return ""
    return rfc1123(moment) if form is DateForm.RFC1123 else iso8601(moment)


def decode(body: bytes) -> Document:
    """Decode a document; an empty body means that nothing is scheduled."""
    if not body.strip():
        return Document(incarnation=0)
    plain = parse_json(body)
    if not isinstance(plain, dict):
        raise Malformed("the document is not a JSON object")
    listed = plain.get("Events")
    if not isinstance(listed, list):
        raise Malformed("the document has no Events list")
    events = tuple(_event(entry) for entry in listed)
    return Document(
        incarnation=_whole_number(plain.get("DocumentIncarnation"), 0), events=events
    )


def _event(entry: object) -> ScheduledEvent:
    if not isinstance(entry, dict) or not isinstance(entry.get("EventId"), str):
        raise Malformed("an entry in Events has no EventId")
    duration = _whole_number(entry.get("DurationInSeconds"), UNKNOWN_DURATION)
    source = entry.get("EventSource")
    resources = entry.get("Resources")
    return ScheduledEvent(
        id=entry["EventId"],
        type=_word(EventType, entry.get("EventType")),
        status=_word(EventStatus, entry.get("EventStatus")),
        resources=tuple(map(str, resources)) if isinstance(resources, list) else (),
        not_before=parse_date(entry.get("NotBefore")),
        description=str(entry.get("Description") or ""),
        source=_word(EventSource, source) if source else None,
        duration=None if duration == UNKNOWN_DURATION else duration,
        raw=entry,
    )


def _word(kind: type[_Word], value: object) -> _Word | str:
    text = str(value or "")
    try:
        return kind(text)
    except ValueError:
        return text


def _whole_number(value: object, default: int) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    try:
        return int(str(value))  # old samples have the incarnation as a string
    except ValueError:
        return default


# --- approvals ---------------------------------------------------------------


def encode_start_requests(event_ids: Iterable[str]) -> bytes:
    """Encode the request body that approves `event_ids`."""
    plain = {"StartRequests": [{"EventId": event_id} for event_id in event_ids]}
    # ASCII escapes: a decoded ID may contain lone surrogates, which UTF-8 cannot
    # encode.
    return json.dumps(plain, separators=(",", ":")).encode("ascii")


def decode_start_requests(body: bytes) -> tuple[str, ...]:
    """Decode the IDs that a body approves, in upper case and without repeats."""
    plain = parse_json(body)
    if not isinstance(plain, dict):
        raise Malformed("the body is not a JSON object")
    requests = _member(plain, "StartRequests")
    if not isinstance(requests, list) or not requests:
        raise Malformed("StartRequests must be a list with at least one EventId")
    ids = [_requested_id(request) for request in requests]
    return tuple(dict.fromkeys(ids))


def _requested_id(request: object) -> str:
    event_id = _member(request, "EventId") if isinstance(request, dict) else None
    if not isinstance(event_id, str) or not event_id:
        raise Malformed("each entry in StartRequests must have an EventId string")
    return event_id.upper()


def _member(plain: Mapping[str, object], name: str) -> object:
    """Find `name` in `plain`, ignoring case; the exact spelling takes precedence."""
    if name in plain:
        return plain[name]
    folded = name.lower()
    return next((plain[key] for key in plain if key.lower() == folded), None)


# --- dates -------------------------------------------------------------------


def rfc1123(moment: datetime) -> str:
    """Format `moment` like HTTP dates, in English regardless of the locale."""
    utc = moment.astimezone(UTC)
    day, month = _DAYS[utc.weekday()], _MONTHS[utc.month - 1]
    return f"{day}, {utc.day:02} {month} {utc.year:04} {utc:%H:%M:%S} GMT"


def iso8601(moment: datetime) -> str:
    """Format `moment` in UTC with whole seconds."""
    utc = moment.astimezone(UTC)
    return f"{utc.year:04}-{utc:%m-%dT%H:%M:%S}Z"


def parse_date(value: object) -> datetime | None:
    """Parse a NotBefore in any form seen in practice; None if blank or unknown."""
    if not isinstance(value, str) or not value.strip():
        return None
    text = value.strip()
    for parse in (_iso, _rfc1123, _email):
        try:
            moment = parse(text)
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            aware.astimezone(UTC)  # fails if the time in UTC is out of range
        except (ValueError, OverflowError):
            continue
        return aware
    return None


def _iso(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _rfc1123(text: str) -> datetime:
    match = _RFC1123.fullmatch(text)
    if match is None:
        raise ValueError(text)
    day, month, year, hour, minute, second = match.groups()
    return datetime(
        int(year),
        _MONTHS.index(month) + 1,
        int(day),
        int(hour),
        int(minute),
        int(second),
        tzinfo=UTC,
    )


def _email(text: str) -> datetime:
    # Imported late: rarely needed and as slow to import as everything else combined.
    from email.utils import parsedate_to_datetime

    return parsedate_to_datetime(text)


# --- JSON --------------------------------------------------------------------


def parse_json(body: bytes) -> object:
    """Parse a body; raise `Malformed` if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:  # also invalid UTF-8, huge numbers
        raise Malformed("the body is not valid JSON") from error
