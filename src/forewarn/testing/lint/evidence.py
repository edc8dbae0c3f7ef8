"""Evidence about a program: its requests, its exit and the documents it received.

All times are on the monotonic clock.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Self

from forewarn.server.metadata.faults.observer import RequestRecord

RETRY_AFTER = 2  # seconds, sent with a 429

_DOCUMENT = "/metadata/scheduledevents"


class CoursePart(StrEnum):
    """The parts of a lint run, in the order in which they are played."""

    text: str  # shown as progress

    def __new__(cls, value: str, text: str) -> Self:
        """Create a part from a value and a description."""
        part = str.__new__(cls, value)
        part._value_ = value
        part.text = text
        return part

    QUIET = "quiet", "nothing is announced"
    NEIGHBOR = "neighbor", "a Reboot of another VM (vm-1) is scheduled"
    SCHEDULED = "scheduled", "a Freeze of vm-0 and a Reboot of vm-2 are scheduled"
    STARTED = "started", "the Freeze starts"  #: its NotBefore is empty
    REBOOT = "reboot", "two Reboots of vm-0 are scheduled, one by a user"
    GONE = "gone", "all events have been canceled or have ended"
    OTHER_VERSION = "other version", "a document that a future version might return"
    RESTART = "restart", "the incarnation restarts at 0"
    TOO_MANY = "too many requests", "all requests fail with 429"
    ERRORS = "errors", "503, 500, 410, a reset, empty and invalid bodies"
    AFTERWARDS = "afterwards", "normal responses again"


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseSpan:
    """The time span in which a part was played."""

    part: CoursePart
    began: float
    ended: float

    def has(self, at: float) -> bool:
        """Return whether `at` is within the span."""
        return self.began <= at < self.ended


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncedEvent:
    """An event that was announced by the linter."""

    id: str
    type: str
    source: str
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownDocument:
    """A document that the program received, with its events."""

    at: float  # time of the request
    incarnation: int = 0
    scheduled: frozenset[str] = frozenset()  # IDs
    started: frozenset[str] = frozenset()  # IDs

    @property
    def events(self) -> frozenset[str]:
        """The IDs of all events in the document."""
        return self.scheduled | self.started


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramExit:
    """How the program ended, if it was not stopped."""

    at: float
    code: int  # exit code; if negative, the signal that killed it


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything observed about a program."""

    vm: str  # the VM in which the program runs
    began: float
    until: float  # end of the observation
    patience: float = 8.0  # seconds without a poll before polling counts as stopped
    requests: Sequence[RequestRecord] = ()
    forwarded: int = 0  # number of requests with X-Forwarded-For
    shown: Sequence[ShownDocument] = ()
    announced: Sequence[AnnouncedEvent] = ()
    spans: Sequence[CourseSpan] = ()
    ending: ProgramExit | None = None  # None if it ran until the end of the observation
    is_cut_short: bool = False  # whether the time limit was reached in an earlier part

    # --- requests ------------------------------------------------------------

    @property
    def polls(self) -> Sequence[RequestRecord]:
        """The program's requests for the document, ordered by arrival."""
        return polls_of(self.requests)

    @property
    def approvals(self) -> Sequence[RequestRecord]:
        """The program's approvals, including rejected ones."""
        return [e for e in self.requests if e.method == "POST" and is_for_events(e)]

    def polls_in(self, part: CoursePart) -> Sequence[RequestRecord]:
        """Return the program's polls whose responses were sent during `part`."""
        span = self.span(part)
        if span is None:
            return ()
        return [request for request in self.polls if span.has(request.at)]

    @property
    def pause(self) -> float | None:
        """The longest time between two polls before the first announcement, in seconds.

        The value is None if there were fewer than two polls.
        """
        return longest_pause(self.polls_in(CoursePart.QUIET))

    # --- documents and parts -------------------------------------------------

    def first_shown(self, event: str) -> float | None:
        """Return when the program first received `event`, or None if it never did."""
        return next((e.at for e in self.shown if event in e.events), None)

    def span(self, part: CoursePart) -> CourseSpan | None:
        """Return when `part` was played, or None if the part was not played."""
        return next((played for played in self.spans if played.part is part), None)

    def part_at(self, at: float) -> CoursePart | None:
        """Return the part that was played at time `at`, or None outside all parts."""
        return next((played.part for played in self.spans if played.has(at)), None)

    # --- progress ------------------------------------------------------------

    @property
    def last_part(self) -> CoursePart | None:
        """The part during which the last poll received its response, if any."""
        polls = self.polls
        return self.part_at(polls[-1].at) if polls else None

    @property
    def silence(self) -> float:
        """Seconds from the last poll to the program's exit or the observation's end."""
        polls = self.polls
        end = self.until if self.ending is None else self.ending.at
        return max(0.0, end - (polls[-1].at if polls else self.began))


def polls_of(requests: Iterable[RequestRecord]) -> Sequence[RequestRecord]:
    """Return the requests for the document, ordered by arrival."""
    reads = [e for e in requests if e.method == "GET" and is_for_events(e)]
    return sorted(reads, key=lambda request: request.since)


def longest_pause(polls: Iterable[RequestRecord]) -> float | None:
    """Return the longest time between two polls, in seconds.

    Return None if there were fewer than two polls.
    """
    times = [poll.since for poll in polls]
    return max((after - before for before, after in pairwise(times)), default=None)


def is_for_events(request: RequestRecord) -> bool:
    """Return whether a request is for Scheduled Events."""
    return request.path.lower().rstrip("/").endswith(_DOCUMENT)
