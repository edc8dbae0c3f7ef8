"""A report on a month: what it holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.core.maintenance import Cause, Via
from forewarn.core.months import Month
from forewarn.protocol.types import EventType


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How often what happened to maintenances of one type and cause."""

    type: EventType
    cause: Cause
    announced: int = 0
    started: int = 0
    completed: int = 0
    canceled: int = 0
    failed: int = 0
    withdrawn: int = 0  # events, not maintenances


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """How maintenances came to start."""

    whole: int = 0  # after their whole notice
    early: int = 0  # sooner, everybody having approved
    at_once: int = 0  # without notice, as was announced
    broken: int = 0  # sooner, without the approval of everybody

    @property
    def total(self) -> int:
        """All that started."""
        return self.whole + self.early + self.at_once + self.broken

    @property
    def kept(self) -> int:
        """Those that had the notice that was promised, or were approved early."""
        return self.total - self.broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How far some lengths of time lie apart."""

    least: timedelta
    median: timedelta
    longest: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    """The notice of the maintenances that started, but for those without any."""

    promised: Spread  # the least that each type promises
    given: Spread  # from the announcement to NotBefore
    used: Spread  # from the announcement to the start


@dataclass(frozen=True, slots=True, kw_only=True)
class Approver:
    """How often somebody approved by one way."""

    by: str | None  # None: a setting of the group
    via: Via
    approvals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """An event that had notice, and started before any VM was shown it."""

    event: str
    maintenance: str
    type: EventType
    group: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A promise that was not kept."""

    maintenance: str
    type: EventType
    groups: tuple[str, ...]  # those that had not approved
    started_at: datetime
    too_soon: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a month was like."""

    month: Month
    group: str | None  # None: all groups
    made_at: datetime
    counts: tuple[Counts, ...]
    starts: Starts
    notices: Notices | None  # None: nothing started that had notice
    saved: Mapping[EventType, timedelta]  # because everybody had approved
    approvals: Mapping[Via, int]
    approvers: tuple[Approver, ...]  # those who approved most often
    unseen: tuple[Unseen, ...]  # the first of them
    unseen_events: int
    stuck_maintenances: int
    stuck: timedelta
    outages: int
    away: timedelta
    broken: tuple[Broken, ...]  # the first of them; `starts` has their number
