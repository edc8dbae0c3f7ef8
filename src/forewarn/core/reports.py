"""The monthly report, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.core.maintenance import Cause, Via
from forewarn.core.months import Month
from forewarn.protocol.types import EventType


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How often each thing happened to maintenance of one type and cause."""

    type: EventType
    cause: Cause
    announced: int = 0
    started: int = 0
    completed: int = 0
    canceled: int = 0
    failed: int = 0
    withdrawn: int = 0  # events, not maintenance operations


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """The number of maintenance operations started, by the notice they gave."""

    whole: int = 0  # after the full notice
    early: int = 0  # earlier, because all groups approved
    at_once: int = 0  # announced without notice
    broken: int = 0  # earlier, without all approvals

    @property
    def total(self) -> int:
        """All starts."""
        return self.whole + self.early + self.at_once + self.broken

    @property
    def kept(self) -> int:
        """Starts that gave the promised notice or had all approvals."""
        return self.total - self.broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The minimum, median and maximum of several durations."""

    least: timedelta
    median: timedelta
    longest: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """The notice of started maintenance, excluding immediate maintenance."""

    promised: Spread  # the minimum for the type
    given: Spread  # from the announcement to NotBefore
    used: Spread  # from the announcement to the start


@dataclass(frozen=True, slots=True, kw_only=True)
class Approver:
    """How often one approver approved through one channel."""

    by: str | None  # None if approved by a group setting
    via: Via
    approvals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """An event with notice that started before any VM was shown it."""

    event: str
    maintenance: str
    type: EventType
    group: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A maintenance that started earlier than promised."""

    maintenance: str
    type: EventType
    groups: tuple[str, ...]  # those that had not approved
    started_at: datetime
    too_soon: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The report on one month."""

    month: Month
    group: str | None  # None for all groups
    made_at: datetime
    counts: tuple[Counts, ...]
    starts: Starts
    notices: Notices | None  # None if nothing with notice started
    saved: Mapping[EventType, timedelta]  # notice saved by early approvals
    approvals: Mapping[Via, int]
    approvers: tuple[Approver, ...]  # those with the most approvals
    unseen: tuple[Unseen, ...]  # the first few
    unseen_events: int
    stuck_maintenances: int
    stuck: timedelta
    outages: int
    away: timedelta
    broken: tuple[Broken, ...]  # the first few; `starts` has the total
