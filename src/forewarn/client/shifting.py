"""Time shift of a document: moves every NotBefore and keeps its format."""

from collections.abc import Mapping
from datetime import timedelta

from forewarn.protocol.codec import iso8601, parse_date, rfc1123

_NOT_BEFORE = "NotBefore"


def shifted(document: Mapping[str, object], by: timedelta) -> Mapping[str, object]:
    """Move every NotBefore of `document`; values that are not times stay."""
    listed = document.get("Events")
    if not isinstance(listed, list):
        return document
    return {**document, "Events": [_shifted(event, by) for event in listed]}


def _shifted(event: object, by: timedelta) -> object:
    if not isinstance(event, dict):
        return event
    moved = shifted_time(event.get(_NOT_BEFORE), by)
    return event if moved is None else {**event, _NOT_BEFORE: moved}


def shifted_time(written: object, by: timedelta) -> str | None:
    """Move a document's time; None if it is not a time or gets out of range."""
    moment = parse_date(written)
    if moment is None:
        return None
    try:
        moved = moment + by
    except OverflowError:
        return None
    is_iso = str(written).strip()[:1].isdigit()
    return iso8601(moved) if is_iso else rfc1123(moved)
