"""Computation of the monthly report from the month's maintenance operations.

1. A maintenance counts for what happened to it in the month. It may be announced in one
   month, start in the next and end in a third.
2. Whether a promise was kept is decided in `promises`, not here.
3. Lives arrive one by one and are not kept, because a month may have very many.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from forewarn.core import facts as f
from forewarn.core.fleet import key
from forewarn.core.maintenance import Cause, Event, Maintenance, Phase, Via
from forewarn.core.months import Month
from forewarn.core.outages import Outage, lost
from forewarn.core.promises import Notice, judge
from forewarn.core.reports import (
    Approver,
    Broken,
    Counts,
    Notices,
    Report,
    Spread,
    Starts,
    Unseen,
)
from forewarn.protocol.types import EventType

#: How many of each kind are listed by name; the rest are only counted.
MOST_APPROVERS, MOST_UNSEEN, MOST_BROKEN = 10, 100, 1000

_NONE = timedelta(0)
_ENDS: Mapping[Phase, str] = {
    Phase.COMPLETED: "completed",
    Phase.CANCELED: "canceled",
    Phase.FAILED: "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """A maintenance with data that its own state lacks."""

    maintenance: Maintenance
    first_seen: Mapping[str, datetime] = field(default_factory=dict)  # by event
    facts: tuple[f.Fact, ...] = ()  # only needed if it was ever stuck


def make_report(
    lives: Iterable[Life],
    outages: Sequence[Outage],
    month: Month,
    *,
    now: datetime,
    group: str | None = None,
) -> Report:
    """Create the report on `month`, for all groups or for one.

    Each life comes once. `outages` holds all outages ever recorded, in the order they
    ended.
    """
    tally = _Tally(month, outages, now)
    for life in lives:
        tally.add(life, _events_of(life.maintenance, group))
    return tally.report(group)


def stuck_time(facts: Iterable[f.Fact], month: Month, now: datetime) -> timedelta:
    """Return how long in `month` a maintenance with these `facts` was stuck."""
    total, since = _NONE, None
    for fact in facts:
        match fact:
            case f.WorkFailed():
                since = since or fact.at
            case f.WorkRetried() | f.WorkEnded() | f.Completed() | f.Closed():
                total += _NONE if since is None else month.part(since, fact.at)
                since = None
            case _:
                pass
    return total if since is None else total + month.part(since, now)


def _events_of(maintenance: Maintenance, group: str | None) -> Sequence[Event]:
    if group is None:
        return maintenance.events
    return [event for event in maintenance.events if key(event.group) == key(group)]


# --- counting ----------------------------------------------------------------


class _Tally:
    """Running totals of the report."""

    def __init__(self, month: Month, outages: Sequence[Outage], now: datetime) -> None:
        self.month, self.outages, self.now = month, outages, now
        self.ends = [outage.until for outage in outages]
        self.counts: dict[tuple[EventType, Cause], Counter[str]] = {}
        self.starts: Counter[str] = Counter()
        self.promised: Counter[timedelta] = Counter()
        self.given: Counter[timedelta] = Counter()
        self.used: Counter[timedelta] = Counter()
        self.saved = dict.fromkeys(EventType, _NONE)
        self.approvers: Counter[tuple[str | None, Via]] = Counter()
        self.unseen: list[Unseen] = []
        self.unseen_events = 0
        self.stuck_maintenances = 0
        self.stuck = _NONE
        self.broken: list[Broken] = []

    def add(self, life: Life, events: Sequence[Event]) -> None:
        maintenance = life.maintenance
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
                seen_at = life.first_seen.get(event.id)
                self.add_sight(maintenance, event, seen_at, maintenance.started_at)
        stuck = stuck_time(life.facts, self.month, self.now)
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
        notice = judge(one, self.outages[first:])
        self.starts[_way(one, notice)] += 1
        self.saved[one.type] += notice.saved
        if not one.at_once:
            self.promised[notice.promised] += 1
            self.given[_seconds(notice.given)] += 1
            self.used[_seconds(started - one.announced_at)] += 1
        if notice.is_broken and len(self.broken) < MOST_BROKEN:
            self.broken.append(
                Broken(
                    maintenance=one.id,
                    type=one.type,
                    groups=notice.unapproved,
                    started_at=started,
                    too_soon=notice.too_soon,
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
                Unseen(
                    event=event.id,
                    maintenance=one.id,
                    type=one.type,
                    group=event.group,
                    started_at=started,
                )
            )

    # --- result --------------------------------------------------------------

    def report(self, group: str | None) -> Report:
        month = self.month
        away = [
            outage for outage in self.outages if month.part(outage.since, outage.until)
        ]
        return Report(
            month=month,
            group=group,
            made_at=self.now,
            counts=tuple(
                Counts(type=kind, cause=cause, **self.counts[kind, cause])
                for kind in EventType
                for cause in Cause
                if self.counts.get((kind, cause))
            ),
            starts=Starts(**self.starts),
            notices=self.notices(),
            saved={kind: saved for kind, saved in self.saved.items() if saved},
            approvals=self.approvals(),
            approvers=tuple(
                Approver(by=by, via=via, approvals=number)
                for (by, via), number in self.approvers.most_common(MOST_APPROVERS)
            ),
            unseen=tuple(self.unseen),
            unseen_events=self.unseen_events,
            stuck_maintenances=self.stuck_maintenances,
            stuck=self.stuck,
            outages=len(away),
            away=lost(away, month.since, month.until),
            broken=tuple(self.broken),
        )

    def approvals(self) -> Mapping[Via, int]:
        ways: Counter[Via] = Counter()
        for (_, via), number in self.approvers.items():
            ways[via] += number
        return {via: ways[via] for via in Via if ways[via]}

    def notices(self) -> Notices | None:
        if not self.used:
            return None
        return Notices(
            promised=_spread(self.promised),
            given=_spread(self.given),
            used=_spread(self.used),
        )


def _way(maintenance: Maintenance, notice: Notice) -> str:
    """Return the field of `Starts` that counts this start."""
    if notice.is_broken:
        return "broken"
    if maintenance.at_once:
        return "at_once"
    return "early" if notice.saved else "whole"


def _seconds(length: timedelta) -> timedelta:
    """Drop fractions, so that the number of distinct lengths stays small."""
    return timedelta(seconds=int(length.total_seconds()))


def _spread(lengths: Counter[timedelta]) -> Spread:
    in_order = sorted(lengths)
    half = (lengths.total() + 1) // 2  # of two in the middle, the shorter
    for length in in_order:
        half -= lengths[length]
        if half <= 0:
            return Spread(least=in_order[0], median=length, longest=in_order[-1])
    raise ValueError("there is nothing to spread")
