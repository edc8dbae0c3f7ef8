"""Monthly report: notice, approvals, starts, stuck operations and outages.

The report covers one calendar month in UTC, for all groups or for one group.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from forewarn.core.fleet import fold_name
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Cause, Event, Maintenance, Phase, Via
from forewarn.core.outages import Outage, time_lost
from forewarn.core.queries.notice_audit import NoticeAudit, audit_notice
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventType

#: The maximum number of items listed individually; the rest are only counted.
MOST_APPROVERS, MOST_UNSEEN, MOST_BROKEN = 10, 100, 1000

#: Facts that end the stuck state of a maintenance operation.
UNSTICKING = f.WorkRetried | f.WorkEnded | f.Completed | f.Closed

_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})", re.ASCII)
_LAST_YEAR = 9998  # the next year must also be a valid date
_NONE = timedelta(0)

_ENDS: Mapping[Phase, str] = {
    Phase.COMPLETED: "completed",
    Phase.CANCELED: "canceled",
    Phase.FAILED: "failed",
}


# --- months ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """The time from the start of a month to the start of the next."""

    since: datetime
    until: datetime  # exclusive

    @property
    def name(self) -> str:
        """The month as a string, such as 2026-11."""
        return f"{self.since.year:04}-{self.since.month:02}"  # %Y drops leading zeros

    def has(self, moment: datetime | None) -> bool:
        """Return whether `moment` is in this month, or False if it is None."""
        return moment is not None and self.since <= moment < self.until

    def part(self, since: datetime, until: datetime) -> timedelta:
        """Return how much of the time from `since` to `until` is in this month."""
        inside = min(until, self.until) - max(since, self.since)
        return max(inside, timedelta(0))


def month_of(moment: datetime) -> Month:
    """Return the month that contains `moment`."""
    first = moment.astimezone(UTC).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    following = (first + timedelta(days=31)).replace(day=1)
    return Month(since=first, until=following)


def month_named(text: str) -> Month:
    """Parse a month such as 2026-11."""
    match = _MONTH.fullmatch(text)
    year, month = map(int, match.groups()) if match else (0, 0)
    if not (0 < year <= _LAST_YEAR and 1 <= month <= 12):
        raise InvalidInput(f"expected a month such as 2026-11, not {text!r}")
    return month_of(datetime(year, month, 1, tzinfo=UTC))


# --- contents ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceCounts:
    """Counts for the maintenance operations of one type and cause."""

    type: EventType
    cause: Cause
    announced: int = 0
    started: int = 0
    completed: int = 0
    canceled: int = 0
    failed: int = 0
    withdrawn: int = 0  # events, not maintenance operations


@dataclass(frozen=True, slots=True, kw_only=True)
class StartCounts:
    """The number of started operations, grouped by the notice that they gave."""

    total: int = 0
    kept: int = 0  # all except `broken`
    whole_notice: int = 0  # started after the full notice
    approved_early: int = 0  # started early because all groups approved
    without_notice: int = 0  # announced without notice
    broken: int = 0  # started early although an approval was missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """The minimum, median and maximum of several durations."""

    least_seconds: int
    median_seconds: int
    longest_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeSummary:
    """The notice given by operations that started, except immediate ones."""

    promised: Quantiles  # the minimum for the type
    given: Quantiles  # from the announcement to NotBefore
    used: Quantiles  # from the announcement to the start


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedNotice:
    """Seconds of notice saved by early approvals."""

    total: int
    by_type: Mapping[EventType, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalCount:
    """How often one approver approved via one channel."""

    by: str | None  # None if approved by a group setting
    via: Via
    approvals: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalCounts:
    """The number of approvals."""

    total: int
    by_via: Mapping[Via, int]
    by_whom: tuple[ApprovalCount, ...]  # the approvers with the most approvals


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenEvent:
    """An event with notice that started before any VM saw it."""

    event: str
    maintenance: str
    type: EventType
    group: str
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenEvents:
    """The events that started before any VM saw them."""

    total: int
    events: tuple[UnseenEvent, ...]  # the first few


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckTime:
    """How many maintenance operations were stuck and for how long in total."""

    maintenances: int
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageTime:
    """The number and the total length of outages."""

    total: int
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenPromise:
    """A maintenance operation that started earlier than promised."""

    maintenance: str
    type: EventType
    groups: tuple[str, ...]  # groups that had not approved
    started_at: datetime
    too_soon_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthlyReport:
    """The report for one month."""

    month: str  # such as 2026-11
    since: datetime
    until: datetime  # exclusive
    made_at: datetime
    group: str | None  # None for all groups
    maintenances: tuple[MaintenanceCounts, ...]
    starts: StartCounts
    notice: NoticeSummary | None  # None if no operation with notice started
    saved_seconds: SavedNotice
    approvals: ApprovalCounts
    never_shown: UnseenEvents
    stuck: StuckTime
    outages: OutageTime
    broken_promises: tuple[BrokenPromise, ...]  # the first few; `starts` has the total


# --- report ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceHistory:
    """A maintenance operation with data that is not part of its state."""

    maintenance: Maintenance
    first_seen: Mapping[str, datetime] = field(default_factory=dict)  # keyed by event
    facts: tuple[f.Fact, ...] = ()  # needed only if it was ever stuck


def make_report(
    histories: Iterable[MaintenanceHistory],
    outages: Sequence[Outage],
    month: Month,
    *,
    now: datetime,
    group: str | None = None,
) -> MonthlyReport:
    """Create the report for `month`, for all groups or for one group.

    `histories` contains each maintenance operation once. `outages` contains all
    recorded outages in the order in which they ended.
    """
    tally = _Tally(month, outages, now)
    for history in histories:
        tally.add(history, _events_of(history.maintenance, group))
    return tally.report(group)


def stuck_time(facts: Iterable[f.Fact], month: Month, now: datetime) -> timedelta:
    """Return how long an operation with these `facts` was stuck in `month`."""
    total, since = _NONE, None
    for fact in facts:
        if isinstance(fact, f.WorkFailed):
            since = since or fact.at
        elif isinstance(fact, UNSTICKING):
            total += _NONE if since is None else month.part(since, fact.at)
            since = None
    return total if since is None else total + month.part(since, now)


def _events_of(maintenance: Maintenance, group: str | None) -> Sequence[Event]:
    if group is None:
        return maintenance.events
    return [
        event
        for event in maintenance.events
        if fold_name(event.group) == fold_name(group)
    ]


class _Tally:
    """Running totals of the report."""

    def __init__(self, month: Month, outages: Sequence[Outage], now: datetime) -> None:
        self.month, self.outages, self.now = month, outages, now
        self.ends = [outage.until for outage in outages]
        self.counts: dict[tuple[EventType, Cause], Counter[str]] = {}
        self.starts: Counter[str] = Counter()
        # Keys are whole seconds, which limits the number of distinct keys.
        self.promised: Counter[int] = Counter()
        self.given: Counter[int] = Counter()
        self.used: Counter[int] = Counter()
        self.saved = dict.fromkeys(EventType, _NONE)
        self.approvers: Counter[tuple[str | None, Via]] = Counter()
        self.unseen: list[UnseenEvent] = []
        self.unseen_events = 0
        self.stuck_maintenances = 0
        self.stuck = _NONE
        self.broken: list[BrokenPromise] = []

    def add(self, history: MaintenanceHistory, events: Sequence[Event]) -> None:
        maintenance = history.maintenance
        if not events:
            return
        happened = self.counts.setdefault(
            (maintenance.type, maintenance.cause), Counter()
        )
        happened.update(self.happened(maintenance, events))
        self.approvers.update(
            (event.approved_by, event.approved_via)
            for event in events
            if event.approved_via is not None and self.month.has(event.approved_at)
        )
        if maintenance.started_at is not None and self.month.has(
            maintenance.started_at
        ):
            self.add_start(maintenance, maintenance.started_at)
            for event in events:
                seen_at = history.first_seen.get(event.id)
                self.add_sight(maintenance, event, seen_at, maintenance.started_at)
        stuck = stuck_time(history.facts, self.month, self.now)
        self.stuck_maintenances += bool(stuck)
        self.stuck += stuck

    def happened(self, one: Maintenance, events: Sequence[Event]) -> Iterable[str]:
        moments = {"announced": one.announced_at, "started": one.started_at}
        if one.phase in _ENDS:
            moments[_ENDS[one.phase]] = one.ended_at
        yield from (name for name, at in moments.items() if self.month.has(at))
        gone = (event for event in events if self.month.has(event.withdrawn_at))
        yield from ("withdrawn" for _ in gone)

    def add_start(self, one: Maintenance, started: datetime) -> None:
        first = bisect_right(self.ends, one.announced_at)
        notice = audit_notice(one, self.outages[first:])
        self.starts[_start_kind(one, notice)] += 1
        self.saved[one.type] += notice.saved
        if not one.at_once:
            self.promised[_seconds(notice.promised)] += 1
            self.given[_seconds(notice.given)] += 1
            self.used[_seconds(started - one.announced_at)] += 1
        if notice.is_broken and len(self.broken) < MOST_BROKEN:
            self.broken.append(
                BrokenPromise(
                    maintenance=one.label,
                    type=one.type,
                    groups=notice.unapproved,
                    started_at=started,
                    too_soon_seconds=notice.too_soon.total_seconds(),
                )
            )

    def add_sight(
        self, one: Maintenance, event: Event, seen: datetime | None, started: datetime
    ) -> None:
        is_seen = seen is not None and seen <= started
        if is_seen or one.at_once or event.withdrawn_at is not None:
            return  # immediate events cannot be seen before the start
        self.unseen_events += 1
        if len(self.unseen) < MOST_UNSEEN:
            self.unseen.append(
                UnseenEvent(
                    event=event.id,
                    maintenance=one.label,
                    type=one.type,
                    group=event.group,
                    started_at=started,
                )
            )

    # --- result --------------------------------------------------------------

    def report(self, group: str | None) -> MonthlyReport:
        month = self.month
        away = [
            outage for outage in self.outages if month.part(outage.since, outage.until)
        ]
        return MonthlyReport(
            month=month.name,
            since=month.since,
            until=month.until,
            made_at=self.now,
            group=group,
            maintenances=tuple(
                MaintenanceCounts(type=kind, cause=cause, **self.counts[kind, cause])
                for kind in EventType
                for cause in Cause
                if self.counts.get((kind, cause))
            ),
            starts=StartCounts(
                total=self.starts.total(),
                kept=self.starts.total() - self.starts["broken"],
                **self.starts,
            ),
            notice=self.notices(),
            saved_seconds=SavedNotice(
                total=_seconds(sum(self.saved.values(), _NONE)),
                by_type={
                    kind: _seconds(saved) for kind, saved in self.saved.items() if saved
                },
            ),
            approvals=self.approvals(),
            never_shown=UnseenEvents(
                total=self.unseen_events, events=tuple(self.unseen)
            ),
            stuck=StuckTime(
                maintenances=self.stuck_maintenances, seconds=_seconds(self.stuck)
            ),
            outages=OutageTime(
                total=len(away),
                seconds=_seconds(time_lost(away, month.since, month.until)),
            ),
            broken_promises=tuple(self.broken),
        )

    def approvals(self) -> ApprovalCounts:
        ways: Counter[Via] = Counter()
        for (_, via), number in self.approvers.items():
            ways[via] += number
        return ApprovalCounts(
            total=ways.total(),
            by_via={via: ways[via] for via in Via if ways[via]},
            by_whom=tuple(
                ApprovalCount(by=by, via=via, approvals=number)
                for (by, via), number in self.approvers.most_common(MOST_APPROVERS)
            ),
        )

    def notices(self) -> NoticeSummary | None:
        if not self.used:
            return None
        return NoticeSummary(
            promised=_quantiles(self.promised),
            given=_quantiles(self.given),
            used=_quantiles(self.used),
        )


def _start_kind(maintenance: Maintenance, notice: NoticeAudit) -> str:
    """Return the field of `StartCounts` that counts this start."""
    if notice.is_broken:
        return "broken"
    if maintenance.at_once:
        return "without_notice"
    return "approved_early" if notice.saved else "whole_notice"


def _seconds(length: timedelta) -> int:
    return int(length.total_seconds())


def _quantiles(lengths: Counter[int]) -> Quantiles:
    in_order = sorted(lengths)
    half = (lengths.total() + 1) // 2  # if there are two middle values, the shorter one
    for length in in_order:
        half -= lengths[length]
        if half <= 0:
            return Quantiles(
                least_seconds=in_order[0],
                median_seconds=length,
                longest_seconds=in_order[-1],
            )
    raise ValueError("cannot compute quantiles of an empty set")
