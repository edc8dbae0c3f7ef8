"""What of a service's answers is worth a line on a tape; nothing here waits."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from forewarn.client.reading import Reading
from forewarn.client.tapes import End, Header, Line, Resumed, Showing, Tape, Trouble
from forewarn.errors import ForewarnError, Lost, Misunderstood, Refused, Unreachable

#: The headers that are kept, where a service sends them.
HEADERS = ("content-type", "etag", "server", "preference-applied", "forewarn-clock")

#: How troubles without a status are called; the first that fits.
_TROUBLES: Sequence[tuple[type[ForewarnError], str]] = (
    (Lost, "lost"),
    (Unreachable, "unreachable"),
    (Misunderstood, "misunderstood"),
)


class Recorder:
    """Knows what is on the tape, and so what is new."""

    def __init__(self, header: Header) -> None:
        """Record on a tape with this `header`."""
        self.header = header
        self.documents = 0
        self.troubles = 0
        self._last: Showing | None = None  # None: nothing was answered yet
        self._trouble: str | None = None  # what is wrong; None: nothing
        self._after = 0.0

    def resume(self, tape: Tape, now: datetime) -> Sequence[Line]:
        """Go on where `tape` ends."""
        self._after = tape.length
        self._last = next(reversed(tape.showings), None)
        troubles = [each.what for each in tape.lines if isinstance(each, Trouble)]
        self._trouble = troubles[-1] if troubles else None
        return [Resumed(after=self._reach(now))]

    def heard(self, reading: Reading, now: datetime) -> Sequence[Line]:
        """Take in an answer; the document, if it is another, or the trouble's end."""
        lines: list[Line] = []
        if self._trouble is not None:
            self._trouble = None
            lines.append(Trouble(after=self._reach(now), what=None))
        shown = None if reading.document is None else _shown(reading)
        if shown is not None and not self._is_known(shown.document):
            self._last = Showing(
                after=self._reach(now),
                document=shown.document,
                status=shown.status,
                headers=shown.headers,
            )
            self.documents += 1
            lines.append(self._last)
        return lines

    def failed(self, error: ForewarnError, now: datetime) -> Sequence[Line]:
        """Take in that there was no document."""
        what = trouble_of(error)
        if what == self._trouble:
            return ()
        self._trouble = what
        self.troubles += 1
        return [Trouble(after=self._reach(now), what=what, says=str(error))]

    def end(self, now: datetime) -> End:
        """Write that nobody records any more."""
        return End(after=self._reach(now))

    def _is_known(self, document: Mapping[str, object] | None) -> bool:
        return self._last is not None and self._last.document == document

    def _reach(self, now: datetime) -> float:
        """Say how far the tape is; a clock that is set back does not take it back."""
        passed = (now - self.header.began).total_seconds()
        self._after = max(self._after, round(passed, 3))
        return self._after


def trouble_of(error: ForewarnError) -> str:
    """Name a trouble in a word: its status, if there was an answer."""
    if isinstance(error, Refused):
        return str(error.status)
    found = (word for kind, word in _TROUBLES if isinstance(error, kind))
    return next(found, "unreachable")


def _shown(reading: Reading) -> Showing | None:
    answer = reading.answer
    if answer is None:
        return None
    headers = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
    document = None if reading.is_blank else json.loads(answer.body)
    return Showing(after=0.0, document=document, status=answer.status, headers=headers)
