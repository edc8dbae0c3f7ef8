"""Recorder: decides which responses add a line to a recording, without I/O."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from forewarn.client.responses import Reading
from forewarn.errors import ForewarnError, Lost, Misunderstood, Refused, Unreachable
from forewarn.recordings.format import (
    Line,
    RecordedDocument,
    RecordedFailure,
    Recording,
    RecordingEnd,
    RecordingHeader,
    RecordingResumed,
)

#: Response headers to record.
HEADERS = ("content-type", "etag", "server", "preference-applied", "forewarn-clock")

#: Names for failures without a status; the first match applies.
_FAILURE_NAMES: Sequence[tuple[type[ForewarnError], str]] = (
    (Lost, "lost"),
    (Unreachable, "unreachable"),
    (Misunderstood, "misunderstood"),
)


class Recorder:
    """Converts responses to lines and skips what is already recorded."""

    def __init__(self, header: RecordingHeader) -> None:
        """Create a recorder for a recording with this `header`."""
        self.header = header
        self.documents = 0  # recorded so far
        self.failures = 0  # recorded so far
        self._last: RecordedDocument | None = None  # None before the first document
        self._failure: str | None = None  # the current failure, if any
        self._after = 0.0

    def resume(self, recording: Recording, now: datetime) -> Sequence[Line]:
        """Continue where `recording` ends."""
        self._after = recording.length
        self._last = next(reversed(recording.documents), None)
        failures = [
            line.what for line in recording.lines if isinstance(line, RecordedFailure)
        ]
        self._failure = failures[-1] if failures else None
        return [RecordingResumed(after=self._seconds_at(now))]

    def record(self, reading: Reading, now: datetime) -> Sequence[Line]:
        """Record a response's document if it changed, and the end of a failure."""
        lines: list[Line] = []
        if self._failure is not None:
            self._failure = None
            lines.append(RecordedFailure(after=self._seconds_at(now), what=None))
        shown = None if reading.document is None else _recorded(reading)
        if shown is not None and not self._is_repeated(shown):
            self._last = replace(shown, after=self._seconds_at(now))
            self.documents += 1
            lines.append(self._last)
        return lines

    def record_failure(self, error: ForewarnError, now: datetime) -> Sequence[Line]:
        """Record a failed request, unless the same failure is already recorded."""
        what = failure_name(error)
        if what == self._failure:
            return ()
        self._failure = what
        self.failures += 1
        after = self._seconds_at(now)
        return [RecordedFailure(after=after, what=what, message=str(error))]

    def end(self, now: datetime) -> RecordingEnd:
        """Return the line that ends the recording."""
        return RecordingEnd(after=self._seconds_at(now))

    def _is_repeated(self, shown: RecordedDocument) -> bool:
        return self._last is not None and self._last.document == shown.document

    def _seconds_at(self, now: datetime) -> float:
        """Return the seconds since the start, at least as many as last time."""
        passed = (now - self.header.began).total_seconds()
        self._after = max(self._after, round(passed, 3))
        return self._after


def failure_name(error: ForewarnError) -> str:
    """Return a failure's name: the response status, or else a word for the cause."""
    if isinstance(error, Refused):
        return str(error.status)
    names = (name for kind, name in _FAILURE_NAMES if isinstance(error, kind))
    return next(names, "unreachable")


def _recorded(reading: Reading) -> RecordedDocument | None:
    """Return the line for a response; the caller sets its time."""
    response = reading.answer
    if response is None:
        return None
    return RecordedDocument(
        after=0.0,
        document=None if reading.is_blank else json.loads(response.body),
        status=response.status,
        headers={
            name: response.headers[name] for name in HEADERS if name in response.headers
        },
    )
