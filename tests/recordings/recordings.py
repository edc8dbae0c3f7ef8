"""Builders for recordings; every argument is optional."""

from collections.abc import Mapping
from datetime import UTC, datetime

from forewarn.recordings.format import (
    Line,
    RecordedDocument,
    RecordedFailure,
    Recording,
    RecordingHeader,
    write_header,
    write_line,
)

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
QUARTER_PAST = "Sat, 31 Jan 2026 12:15:00 GMT"
GUID = "C7061BAC-AFDC-4513-B24B-AA5F13A16123"


def a_header(
    api_version: str = "2020-07-01",
    vm: str | None = None,
    endpoint: str | None = None,
    began: datetime = NOON,
) -> RecordingHeader:
    return RecordingHeader(
        began=began,
        api_version=api_version,
        recorded_with="forewarn 1",
        endpoint=endpoint,
        vm=vm,
    )


def a_raw_event(**values: object) -> dict[str, object]:
    return {
        "EventId": GUID,
        "EventStatus": "Scheduled",
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web-0"],
        "NotBefore": QUARTER_PAST,
        "Description": "Host server is undergoing maintenance.",
        "EventSource": "Platform",
        "DurationInSeconds": -1,
        **values,
    }


def a_raw_document(
    *events: Mapping[str, object], incarnation: int = 1
) -> dict[str, object]:
    return {"DocumentIncarnation": incarnation, "Events": [*events]}


def a_recorded_document(
    *events: Mapping[str, object], after: float = 0.0, incarnation: int = 1
) -> RecordedDocument:
    document = a_raw_document(*events, incarnation=incarnation)
    return RecordedDocument(after=after, document=document)


def a_failure(what: str | None = "503", after: float = 0.0) -> RecordedFailure:
    return RecordedFailure(after=after, what=what)


def a_recording(*lines: Line, header: RecordingHeader | None = None) -> Recording:
    return Recording(
        header=header or a_header(), lines=lines or (a_recorded_document(),)
    )


def text_of(recording: Recording) -> str:
    """Return a whole recording as text."""
    lines = [write_line(line, recording.header.began) for line in recording.lines]
    return write_header(recording.header) + "".join(lines)
