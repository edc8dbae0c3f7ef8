"""Input of `forewarn agent explain`: events read from a file."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from forewarn.errors import InvalidInput
from forewarn.protocol.codec import decode, parse_date
from forewarn.protocol.types import ScheduledEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Events to explain, with the time and the VM if the file names them."""

    events: tuple[ScheduledEvent, ...]
    at: datetime | None = None  # None if the file has no time
    is_mine: bool | None = None  # None if the file has no such field


def read_shown(name: str) -> Shown:
    """Read a document, an event or an audit line; `-` is standard input."""
    where = "the standard input" if name == "-" else name
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        plain = json.loads(content)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InvalidInput(f"{where} cannot be read: {why}") from error
    except (ValueError, RecursionError):
        raise InvalidInput(f"{where} is not one JSON document") from None
    if not isinstance(plain, dict):
        raise InvalidInput(f"{where} is not a JSON object")
    if "Events" in plain or "EventId" in plain:
        return Shown(events=_events(plain, where))
    event = plain.get("event_as_shown")
    if isinstance(event, dict):
        mine = plain.get("mine")
        return Shown(
            events=_events(event, where),
            at=parse_date(plain.get("at")),
            is_mine=mine if isinstance(mine, bool) else None,
        )
    if "what" in plain:
        raise InvalidInput(
            f"{where} is a line of the audit record that shows no event; take one"
            ' with "what": "seen"'
        )
    raise InvalidInput(f"{where} has neither Events nor an EventId")


def _events(plain: Mapping[str, object], where: str) -> tuple[ScheduledEvent, ...]:
    document = plain if "Events" in plain else {"Events": [plain]}
    try:
        return decode(json.dumps(document).encode()).events
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from error
