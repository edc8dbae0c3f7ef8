"""What was seen of a program from outside: what it asked, was shown, and when it ended.

All times are monotonic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from forewarn.server.witness import Asked

_DOCUMENT = "/metadata/scheduledevents"
_GOOD = (200, 304)


class Part(StrEnum):
    """What is played at the program; in this order."""

    QUIET = "quiet"  #: nothing is announced
    SCHEDULED = "scheduled"  #: a Freeze of its VM, and Reboots of two others
    STARTED = "started"  #: the Freeze is under way, its NotBefore blank
    REBOOT = "reboot"  #: Reboots of its VM: the platform's and a user's
    GONE = "gone"  #: called off, or over: the document is empty again
    OTHER_VERSION = "other version"  #: a document as a later version may have it
    RESTART = "restart"  #: the incarnation begins again at 0
    TOO_MANY = "too many requests"  #: 429, for some seconds
    ERRORS = "errors"  #: 503, 500, 410, a broken connection, no body
    AFTERWARDS = "afterwards"  #: all is well again


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """When a part of the course was played."""

    part: Part
    began: float
    ended: float

    def has(self, at: float) -> bool:
        """Whether `at` lies in it."""
        return self.began <= at < self.ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """An event of the course."""

    id: str
    type: str
    source: str
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A document that was given to the program, and the events in it."""

    at: float  # that of the question
    incarnation: int = 0
    scheduled: frozenset[str] = frozenset()  # ids
    started: frozenset[str] = frozenset()  # ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the program ended by itself."""

    at: float
    code: int  # minus a signal's number


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that was seen of one program."""

    vm: str  # whom it speaks for
    began: float
    until: float  # when nobody looked any more
    patience: float = 8.0  # seconds after which it is not waited for any longer
    retry_after: float = 2.0  # seconds that a 429 asks to wait
    requests: Sequence[Asked] = ()
    forwarded: int = 0  # how many of them carried X-Forwarded-For
    shown: Sequence[Shown] = ()
    announced: Sequence[Announced] = ()
    spans: Sequence[Span] = ()
    ending: Ending | None = None  # None: it was running to the last

    # --- what it asked -------------------------------------------------------

    @property
    def questions(self) -> Sequence[Asked]:
        """Its requests for the document, in the order of their coming."""
        asked = [e for e in self.requests if e.method == "GET" and is_events(e)]
        return sorted(asked, key=lambda each: each.since)

    @property
    def approvals(self) -> Sequence[Asked]:
        """Its approvals, refused or not."""
        return [e for e in self.requests if e.method == "POST" and is_events(e)]

    @property
    def has_read(self) -> bool:
        """Whether it ever was given the document."""
        return any(each.status in _GOOD for each in self.questions)

    def asked_in(self, part: Part) -> Sequence[Asked]:
        """Its questions that were answered during `part`."""
        span = self.span(part)
        if span is None:
            return ()
        return [each for each in self.questions if span.has(each.at)]

    @property
    def pause(self) -> float | None:
        """The longest time between two questions while nothing happened.

        None: it asked less than twice.
        """
        times = [each.since for each in self.asked_in(Part.QUIET)]
        gaps = [after - before for before, after in pairwise(times)]
        return max(gaps, default=None)

    # --- what it was told ----------------------------------------------------

    def first_shown(self, event: str) -> float | None:
        """When `event` was first in a document that it was given; None: never."""
        return next(
            (e.at for e in self.shown if event in e.scheduled | e.started), None
        )

    def span(self, part: Part) -> Span | None:
        """When `part` was played; None: it was not."""
        return next((each for each in self.spans if each.part is part), None)

    def part_at(self, at: float) -> Part | None:
        """Which part was played at `at`; None: none."""
        return next((each.part for each in self.spans if each.has(at)), None)

    # --- how far it came -----------------------------------------------------

    @property
    def last_part(self) -> Part | None:
        """During which part its last question was answered; None: it asked nothing."""
        questions = self.questions
        return self.part_at(questions[-1].at) if questions else None

    @property
    def silence(self) -> float:
        """How long it has been since its last question, while it was running."""
        questions = self.questions
        end = self.until if self.ending is None else self.ending.at
        return max(0.0, end - (questions[-1].at if questions else self.began))


def is_events(asked: Asked) -> bool:
    """Whether a request is about scheduled events."""
    return asked.path.lower().rstrip("/").endswith(_DOCUMENT)
