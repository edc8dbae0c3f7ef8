"""Lines of a recording as text and as JSON."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import assert_never

from forewarn.cli.tables import clean, moment, some
from forewarn.client.tapes import End, Line, Resumed, Showing, Trouble
from forewarn.protocol.codec import decode
from forewarn.protocol.types import ScheduledEvent


def told(line: Line, at: datetime) -> str:
    """Format a line of a recording as one line of text; `at` is its time."""
    return clean(f"{moment(at)}  {_told(line)}")


def plain_line(line: Line) -> Mapping[str, object]:
    """Convert a line of a recording to JSON values."""
    match line:
        case Showing():
            return {"document": line.document}
        case Trouble():
            return {"trouble": line.what}
        case Resumed():
            return {"resumed": True}
        case End():
            return {"end": True}
        case _:
            assert_never(line)


def _told(line: Line) -> str:
    match line:
        case Showing():
            return _document(line.document)
        case Trouble():
            return f"trouble: {line.what}" if line.what else "the trouble is over"
        case Resumed():
            return "recording goes on"
        case End():
            return "recording has ended"
        case _:
            assert_never(line)


def _document(plain: Mapping[str, object] | None) -> str:
    if plain is None:
        return "a body without a byte"
    document = decode(json.dumps(plain).encode())
    events = "; ".join(map(_event, document.events)) or "nothing is coming"
    return f"document {document.incarnation}  {events}"


def _event(event: ScheduledEvent) -> str:
    return f"{event.type} {event.status} {some(event.resources, 3)}"
