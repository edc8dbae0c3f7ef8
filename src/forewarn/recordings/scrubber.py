"""Scrubber: removes everything from a recording that could identify its owner.

1. Only values listed here are kept. Everything else is removed, including unknown
   fields.
2. A name or ID gets the same replacement everywhere in a recording.
3. All scrubbed recordings start on the same date. Durations are unchanged.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import assert_never

from forewarn.protocol.versions import NEWEST, VERSIONS
from forewarn.recordings.format import (
    Line,
    RecordedDocument,
    RecordedFailure,
    RecordingEnd,
    RecordingHeader,
    RecordingResumed,
    shift_time,
)

#: The start of all scrubbed recordings.
BEGAN = datetime(2020, 1, 1, tzinfo=UTC)

#: Descriptions that are the same for everyone; any other might identify someone.
_DESCRIPTIONS = frozenset(
    {
        "",
        "Host server is undergoing maintenance.",
        "Host Server infrastructure is undergoing maintenance.",
        "Host server is undergoing an emergency repair.",
        "Virtual machine is being paused because of a memory-preserving Live Migration"
        " operation.",
        "Virtual machine is going to be restarted as requested by authorized user.",
        "Virtual machine is going to be redeployed as requested by authorized user.",
        "Virtual machine has encountered a failure.",
    }
)
#: The replacement for all other descriptions.
NO_DESCRIPTION = "Scrubbed."

_HEADERS = frozenset({"content-type", "forewarn-clock", "preference-applied"})
_HEADER_TEXT = re.compile(r"[a-z0-9/=;., -]{1,60}", re.IGNORECASE)
_GUID = re.compile(r"[0-9A-F]{8}-(?:[0-9A-F]{4}-){3}[0-9A-F]{12}", re.IGNORECASE)
_NAME = re.compile(r"(_?)(.*?)((?:_[0-9]{1,6})?)", re.DOTALL)
_FAILURE = re.compile(r"[0-9]{3}|lost|unreachable|misunderstood")
_WORD = re.compile(r"[A-Za-z]{1,20}")
_WORDS = ("EventStatus", "EventType", "ResourceType", "EventSource")


class Scrubber:
    """Scrubs one recording line by line, in order."""

    def __init__(self, header: RecordingHeader) -> None:
        """Create a scrubber for the recording with this `header`."""
        self._shift = BEGAN - header.began
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        is_known = header.api_version in VERSIONS
        self.header = replace(
            header,
            began=BEGAN,
            api_version=header.api_version if is_known else NEWEST.name,
            recorded_with="forewarn",
            endpoint=None,
            vm=None if header.vm is None else self._name(header.vm),
            is_scrubbed=True,
        )

    def scrub(self, line: Line) -> Line:
        """Scrub the next line."""
        match line:
            case RecordedDocument():
                headers = {
                    name: text
                    for name, text in line.headers.items()
                    if name.lower() in _HEADERS and _HEADER_TEXT.fullmatch(text)
                }
                document = line.document and self._document(line.document)
                return replace(line, headers=headers, document=document)
            case RecordedFailure():
                is_known = line.what is None or _FAILURE.fullmatch(line.what)
                return replace(line, what=line.what if is_known else "lost", message="")
            case RecordingResumed() | RecordingEnd():
                return line
            case _:
                assert_never(line)

    def _document(self, plain: Mapping[str, object]) -> Mapping[str, object]:
        listed = plain.get("Events")
        events = listed if isinstance(listed, list) else []
        return {
            "DocumentIncarnation": _number(plain.get("DocumentIncarnation")) or 0,
            "Events": [
                self._event(event) for event in events if isinstance(event, dict)
            ],
        }

    def _event(self, plain: Mapping[str, object]) -> Mapping[str, object]:
        kept: dict[str, object] = {}
        for name, value in plain.items():
            scrubbed = self._value(name, value)
            if scrubbed is not None:
                kept[name] = scrubbed
        return kept

    def _value(self, name: str, value: object) -> object:
        """Scrub the field `name`; return None to remove it."""
        if name in _WORDS:
            return value if isinstance(value, str) and _WORD.fullmatch(value) else None
        match name:
            case "EventId":
                return self._id(str(value))
            case "Resources":
                names = value if isinstance(value, list) else []
                return [self._name(str(resource)) for resource in names]
            case "NotBefore":
                return shift_time(value, self._shift) or ""
            case "Description":
                is_known = isinstance(value, str) and value in _DESCRIPTIONS
                return value if is_known else NO_DESCRIPTION
            case "DurationInSeconds":
                return _number(value)
            case _:
                return None

    def _name(self, name: str) -> str:
        """Replace a name, but keep its leading underscore and instance number."""
        match_ = _NAME.fullmatch(name)
        assert match_ is not None  # the pattern matches any text
        underscore, base, number = match_.groups()
        fake = self._names.setdefault(base.lower(), f"vm-{len(self._names)}")
        return f"{underscore}{fake}{number}"

    def _id(self, id_: str) -> str:
        """Replace an ID with one in the same form."""
        number = len(self._ids)
        is_guid = _GUID.fullmatch(id_)
        fake = f"00000000-0000-4000-8000-{number:012X}" if is_guid else f"E{number}"
        return self._ids.setdefault(id_.upper(), fake)


def _number(value: object) -> int | None:
    """Return a whole number; old services send some numbers as strings."""
    text = str(value)
    return int(text) if re.fullmatch(r"-?[0-9]{1,12}", text) else None
