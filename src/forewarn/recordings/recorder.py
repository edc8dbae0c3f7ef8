"""Recorder: decides which responses add a line to a recording, without I/O."""

import json
from collections.abc import Mapping, Sequence
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

#: Response headers that are recorded.
HEADERS = ("content-type", "etag", "server", "preference-applied", "forewarn-clock")

#: Names of failures without a status; the first match counts.
_TROUBLES: Sequence[tuple[type[ForewarnError], str]] = (
    (Lost, "lost"),
    (Unreachable, "unreachable"),
    (Misunderstood, "misunderstood"),
)


class Recorder:
    """Turns responses into lines, skipping what the recording already has."""

    def __init__(self, header: RecordingHeader) -> None:
        """Start a recording with this `header`."""
        self.header = header
        self.documents = 0
        self.troubles = 0
        self._last: RecordedDocument | None = None  # None before the first document
        self._trouble: str | None = None  # the current failure; None if there is none
        self._after = 0.0

    def resume(self, tape: Recording, now: datetime) -> Sequence[Line]:
        """Continue where `tape` ends."""
        self._after = tape.length
        self._last = next(reversed(tape.showings), None)
        troubles = [
            line.what for line in tape.lines if isinstance(line, RecordedFailure)
        ]
        self._trouble = troubles[-1] if troubles else None
        return [RecordingResumed(after=self._reach(now))]

    def heard(self, reading: Reading, now: datetime) -> Sequence[Line]:
        """Record a response: the document if it changed, and the end of a failure."""
        lines: list[Line] = []
        if self._trouble is not None:
            self._trouble = None
            lines.append(RecordedFailure(after=self._reach(now), what=None))
        shown = None if reading.document is None else _shown(reading)
        if shown is not None and not self._is_known(shown.document):
            self._last = RecordedDocument(
                after=self._reach(now),
                document=shown.document,
                status=shown.status,
                headers=shown.headers,
            )
            self.documents += 1
            lines.append(self._last)
        return lines

    def failed(self, error: ForewarnError, now: datetime) -> Sequence[Line]:
        """Record a failed request, unless the same failure is already recorded."""
        what = failure_name(error)
        if what == self._trouble:
            return ()
        self._trouble = what
        self.troubles += 1
        return [RecordedFailure(after=self._reach(now), what=what, says=str(error))]

    def end(self, now: datetime) -> RecordingEnd:
        """Return the line that ends the recording."""
        return RecordingEnd(after=self._reach(now))

    def _is_known(self, document: Mapping[str, object] | None) -> bool:
        return self._last is not None and self._last.document == document

    def _reach(self, now: datetime) -> float:
        """Return the seconds recorded so far; they never go back if the clock does."""
        passed = (now - self.header.began).total_seconds()
        self._after = max(self._after, round(passed, 3))
        return self._after


def failure_name(error: ForewarnError) -> str:
    """Name a failure: its status if there was a response, else one word."""
    if isinstance(error, Refused):
        return str(error.status)
    words = (word for kind, word in _TROUBLES if isinstance(error, kind))
    return next(words, "unreachable")


def _shown(reading: Reading) -> RecordedDocument | None:
    answer = reading.answer
    if answer is None:
        return None
    headers = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
    document = None if reading.is_blank else json.loads(answer.body)
    return RecordedDocument(
        after=0.0, document=document, status=answer.status, headers=headers
    )
