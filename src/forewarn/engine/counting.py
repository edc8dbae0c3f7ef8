"""Metrics counted from the journal.

1. Counting begins at the end of the journal on every start, like any process counter.
2. Live maintenance is known from the start.
3. This reader only reads, and nothing waits for it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from threading import Lock
from typing import TypeAlias

from forewarn.core import facts as f
from forewarn.core.lifecycle import apply
from forewarn.core.maintenance import Cause, Maintenance, Phase, Slice, Via
from forewarn.core.outages import Outage
from forewarn.core.promises import judge
from forewarn.engine.lookup import every
from forewarn.engine.tallies import Labels, Spread, Tally
from forewarn.ports import Store
from forewarn.protocol.types import EventType

_BATCH = 500
_HOUR, _DAY = 3600, 86_400

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

#: The facts that change the phase of a maintenance.
Moved: TypeAlias = f.Announced | f.Started | f.Completed | f.Canceled | f.Closed


class Numbers:
    """All metrics counted from the journal, with times of the service's clock."""

    def __init__(self) -> None:
        """Start at zero."""
        #: By kind of fact; labels: type and cause.
        self.maintenances: Mapping[type[Moved], Tally] = {
            kind: Tally(_USUAL)
            for kind in (f.Announced, f.Started, f.Completed, f.Canceled, f.Closed)
        }
        #: From announcement to NotBefore, and to the start; label: type.
        self.notice_given = Spread(*_NOTICE, expected=_TYPES)
        self.notice_used = Spread(*_NOTICE, expected=_TYPES)
        self.notice_saved = Tally(_TYPES)
        self.broken = Tally(_TYPES)
        #: From announcement to approval; label: the approval's channel.
        self.approvals = Spread(*_REACTION, expected=[(via,) for via in Via])
        #: From announcement until the first VM was shown the event; label: type.
        self.first_seen = Spread(*_REACTION, expected=_TYPES)
        #: Reports on VMs; labels: type and result.
        self.driver_reports = Tally(
            (kind, result) for kind in EventType for result in ("done", "failed")
        )
        self.driver_calls = Tally(_TYPES)
        #: Duration of driver calls, in real time; label: type.
        self.call_times = Spread(*_CALL, expected=_TYPES)
        self.outages = Tally([()])
        self.outage_seconds = Tally([()])

    def end_call(self, kind: EventType, seconds: float) -> None:
        """Count a driver call that ended after `seconds`."""
        self.call_times.see(seconds, kind)


class Counting:
    """Journal reader that updates the metrics."""

    def __init__(self, store: Store) -> None:
        """Count the facts in the journal of `store` from `open` on."""
        self.numbers = Numbers()
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
                    self._take(entry.fact)
                    self.position = entry.position

    def live(self) -> Sequence[Maintenance]:
        """Return the live maintenance operations, as of the last fact read.

        Takes no lock, because `catch_up` may hang while it holds the lock.
        """
        return [*self._live.values()]

    # --- one fact ------------------------------------------------------------

    def _take(self, fact: f.Fact) -> None:
        match fact:
            case f.Seen():
                self._see(fact)
            case f.OutageEnded():
                self._outages.append(fact.outage)
                self.numbers.outages.add()
                away = fact.outage.until - fact.outage.since
                self.numbers.outage_seconds.add(by=away.total_seconds())
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
                self.numbers.first_seen.see(
                    _since_told(maintenance, sight.at), maintenance.type
                )

    def _count(self, fact: f.Fact, after: Maintenance) -> None:
        numbers, kind = self.numbers, after.type
        if isinstance(fact, Moved):
            numbers.maintenances[type(fact)].add(kind, after.cause)
        match fact:
            case f.Announced():
                self._unseen.update((event.id, after) for event in after.events)
            case f.Started():
                self._start(after)
            case f.Approved():
                numbers.approvals.see(_since_told(after, fact.at), fact.via)
            case f.WorkBegan():
                numbers.driver_calls.add(kind)
            case f.WorkDone():
                numbers.driver_reports.add(kind, "done", by=len(fact.vms))
            case f.WorkFailed():
                numbers.driver_reports.add(kind, "failed", by=len(fact.vms))
            case _:
                pass  # the other facts change no metric

    def _start(self, after: Maintenance) -> None:
        numbers, kind = self.numbers, after.type
        notice = judge(after, self._outages)
        if notice.is_broken:
            numbers.broken.add(kind)
        if after.at_once or notice.used is None:
            return  # immediate maintenance gives no notice to measure
        numbers.notice_given.see(notice.given.total_seconds(), kind)
        numbers.notice_used.see(notice.used.total_seconds(), kind)
        numbers.notice_saved.add(kind, by=notice.saved.total_seconds())


def _since_told(maintenance: Maintenance, moment: datetime) -> float:
    """Return the seconds since its announcement, at least 0."""
    return max((moment - maintenance.announced_at).total_seconds(), 0.0)
