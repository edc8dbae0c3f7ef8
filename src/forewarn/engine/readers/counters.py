"""Metrics counted from the journal: labeled counters and histograms, and their reader.

They are thread-safe, and start at zero when the service starts.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import TypeAlias

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Slice, Via
from forewarn.core.lifecycle.transitions import apply
from forewarn.core.outages import Outage
from forewarn.core.queries.notice_audit import audit_notice
from forewarn.engine.lookup import every
from forewarn.ports import Store
from forewarn.protocol.types import EventType

#: Label values, in the order in which the metric declares its labels.
Labels: TypeAlias = tuple[str, ...]

#: The facts that change the phase of a maintenance.
Moved: TypeAlias = f.Announced | f.Started | f.Completed | f.Canceled | f.Closed

_BATCH = 500  # facts per query
_HOUR, _DAY = 3600, 86_400  # seconds

# Bucket bounds, in seconds.
_NOTICE = (30, 60, 300, 600, 900, 1800, _HOUR, 6 * _HOUR, _DAY, 7 * _DAY)
_REACTION = (1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, _HOUR, _DAY)
_CALL = (0.1, 0.5, 1, 5, 15, 60, 300, 900, _HOUR, 6 * _HOUR)

# Expected labels exist from the start: monitoring sees an increase only in a series
# that existed before.
_TYPES: Sequence[Labels] = [(kind,) for kind in EventType]
_USUAL: Sequence[Labels] = [
    (EventType.FREEZE, Cause.PLATFORM),
    (EventType.REBOOT, Cause.PLATFORM),
    (EventType.REDEPLOY, Cause.PLATFORM),
    (EventType.REDEPLOY, Cause.DEGRADED),
    (EventType.REBOOT, Cause.HOST_FAILURE),
    (EventType.REBOOT, Cause.USER_RESTART),
    (EventType.REDEPLOY, Cause.USER_REDEPLOY),
    (EventType.PREEMPT, Cause.EVICTION),
    (EventType.TERMINATE, Cause.SCALE_IN),
    (EventType.REBOOT, Cause.REIMAGE),
]


# --- counters and histograms -------------------------------------------------


class LabeledCounter:
    """A counter with labels."""

    def __init__(self, expected: Iterable[Labels] = ()) -> None:
        """Start all `expected` labels at zero, so that they are reported at once."""
        self._lock = Lock()
        self._counts: dict[Labels, float] = dict.fromkeys(expected, 0)

    def add(self, *labels: str, by: float = 1) -> None:
        """Add 1, or `by`, to the count of `labels`."""
        with self._lock:
            self._counts[labels] = self._counts.get(labels, 0) + by

    def all(self) -> Mapping[Labels, float]:
        """Return all counts."""
        with self._lock:
            return self._counts.copy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """The cumulative counts and the sum of the observed values."""

    up_to: tuple[tuple[float, int], ...]  # (bound, values up to it); the last is all
    total: float


class LabeledHistogram:
    """A histogram with labels."""

    def __init__(self, *bounds: float, expected: Iterable[Labels] = ()) -> None:
        """Count values up to each of `bounds`, in ascending order.

        All `expected` labels start empty, so that they are reported at once.
        """
        self._bounds = bounds
        self._lock = Lock()
        self._values = {labels: self._empty() for labels in expected}

    def see(self, value: float, *labels: str) -> None:
        """Observe one value."""
        with self._lock:
            counts, total = self._values.get(labels) or self._empty()
            counts[bisect_left(self._bounds, value)] += 1
            self._values[labels] = (counts, total + value)

    def all(self) -> Mapping[Labels, Distribution]:
        """Return the distribution of the values of each label."""
        with self._lock:
            return {
                labels: Distribution(up_to=self._up_to(counts), total=total)
                for labels, (counts, total) in self._values.items()
            }

    def _empty(self) -> tuple[list[int], float]:
        return [0] * (len(self._bounds) + 1), 0.0

    def _up_to(self, counts: Iterable[int]) -> tuple[tuple[float, int], ...]:
        so_far, reached = 0, []
        for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
            so_far += count
            reached.append((bound, so_far))
        return tuple(reached)


# --- metrics -----------------------------------------------------------------


class JournalMetrics:
    """All metrics counted from the journal, with times of the service's clock."""

    def __init__(self) -> None:
        """Start at zero."""
        #: By kind of fact; labels: type and cause.
        self.maintenances: Mapping[type[Moved], LabeledCounter] = {
            kind: LabeledCounter(_USUAL)
            for kind in (f.Announced, f.Started, f.Completed, f.Canceled, f.Closed)
        }
        #: From announcement to NotBefore, and to the start; label: type.
        self.notice_given = LabeledHistogram(*_NOTICE, expected=_TYPES)
        self.notice_used = LabeledHistogram(*_NOTICE, expected=_TYPES)
        self.notice_saved = LabeledCounter(_TYPES)
        self.broken = LabeledCounter(_TYPES)
        #: From announcement to approval; label: the approval's channel.
        self.approvals = LabeledHistogram(*_REACTION, expected=[(via,) for via in Via])
        #: From announcement until the first VM was shown the event; label: type.
        self.first_seen = LabeledHistogram(*_REACTION, expected=_TYPES)
        #: Reports on VMs; labels: type and result.
        self.driver_reports = LabeledCounter(
            (kind, result) for kind in EventType for result in ("done", "failed")
        )
        self.driver_calls = LabeledCounter(_TYPES)
        #: Duration of driver calls, in real time; label: type.
        self.call_times = LabeledHistogram(*_CALL, expected=_TYPES)
        self.outages = LabeledCounter([()])
        self.outage_seconds = LabeledCounter([()])

    def end_call(self, kind: EventType, seconds: float) -> None:
        """Count a driver call that ended after `seconds`."""
        self.call_times.see(seconds, kind)


class MetricsReader:
    """Journal reader that updates the metrics."""

    def __init__(self, store: Store) -> None:
        """Count the facts in the journal of `store` from `open` on."""
        self.metrics = JournalMetrics()
        self._store = store
        self._lock = Lock()
        self._outages: list[Outage] = []
        self._live: dict[str, Maintenance] = {}
        self._unseen: dict[str, Maintenance] = {}  # by event; announced since `open`
        self.position = 0

    def open(self) -> None:
        """Start at the end of the journal."""
        with self._lock, self._store.snapshot() as snapshot:
            live = [*every(snapshot, Phase.SCHEDULED, Phase.STARTED)]
            self._live = {maintenance.id: maintenance for maintenance in live}
            if live:
                first = min(maintenance.announced_at for maintenance in live)
                self._outages = [*snapshot.outages(first)]
            self.position = snapshot.position()

    def catch_up(self) -> None:
        """Count all facts since the last call."""
        with self._lock:
            while entries := self._store.facts(self.position, _BATCH):
                for entry in entries:
                    self._read(entry.fact)
                    self.position = entry.position

    def live(self) -> Sequence[Maintenance]:
        """Return the live maintenance operations, as of the last fact read.

        Takes no lock, because `catch_up` may hang while it holds the lock.
        """
        return [*self._live.values()]

    # --- one fact ------------------------------------------------------------

    def _read(self, fact: f.Fact) -> None:
        match fact:
            case f.Seen():
                self._see(fact)
            case f.OutageEnded():
                self._outages.append(fact.outage)
                self.metrics.outages.add()
                away = fact.outage.until - fact.outage.since
                self.metrics.outage_seconds.add(by=away.total_seconds())
            case (
                f.FleetChanged()
                | f.ListeningBegan()
                | f.Published()
                | f.TokenCreated()
                | f.TokenRevoked()
                | f.AccessRefused()
            ):
                pass  # counted from the current state or from responses
            case _:
                before = self._live.get(fact.maintenance)
                if before is not None or isinstance(fact, f.Announced):
                    after = self._apply(fact, before)
                    self._count(fact, after)

    def _apply(self, fact: f.Fact, before: Maintenance | None) -> Maintenance:
        current = {} if before is None else {before.id: before}
        (after,) = apply(Slice(maintenances=current), fact).maintenances.values()
        if after.phase.is_live:
            self._live[after.id] = after
            return after
        self._live.pop(after.id, None)
        for event in after.events:
            self._unseen.pop(event.id, None)
        return after

    def _see(self, fact: f.Seen) -> None:
        for sight in fact.sights:
            maintenance = self._unseen.pop(sight.event, None)
            if maintenance is not None:
                self.metrics.first_seen.see(
                    _since_announced(maintenance, sight.at), maintenance.type
                )

    def _count(self, fact: f.Fact, after: Maintenance) -> None:
        metrics, kind = self.metrics, after.type
        if isinstance(fact, Moved):
            metrics.maintenances[type(fact)].add(kind, after.cause)
        match fact:
            case f.Announced():
                self._unseen.update((event.id, after) for event in after.events)
            case f.Started():
                self._start(after)
            case f.Approved():
                metrics.approvals.see(_since_announced(after, fact.at), fact.via)
            case f.WorkBegan():
                metrics.driver_calls.add(kind)
            case f.WorkDone():
                metrics.driver_reports.add(kind, "done", by=len(fact.vms))
            case f.WorkFailed():
                metrics.driver_reports.add(kind, "failed", by=len(fact.vms))
            case _:
                pass  # the other facts change no metric

    def _start(self, after: Maintenance) -> None:
        metrics, kind = self.metrics, after.type
        notice = audit_notice(after, self._outages)
        if notice.is_broken:
            metrics.broken.add(kind)
        if after.at_once or notice.used is None:
            return  # immediate maintenance gives no notice to measure
        metrics.notice_given.see(notice.given.total_seconds(), kind)
        metrics.notice_used.see(notice.used.total_seconds(), kind)
        metrics.notice_saved.add(kind, by=notice.saved.total_seconds())


def _since_announced(maintenance: Maintenance, moment: datetime) -> float:
    """Return the seconds since its announcement, at least 0."""
    return max((moment - maintenance.announced_at).total_seconds(), 0.0)
