"""Journal reader that counts facts since the service started."""

from collections.abc import Sequence
from datetime import datetime
from threading import Lock
from typing import assert_never

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.core.lifecycle.transitions import apply_to
from forewarn.core.outages import Outage
from forewarn.core.queries.notice_audit import audit_notice
from forewarn.engine.lookup import every
from forewarn.ports import Store
from forewarn.protocol.types import EventType
from forewarn.server.metrics.catalog import ServiceMetrics

_BATCH = 500  # facts per query


class MetricsReader:
    """Journal reader that updates the metrics."""

    def __init__(self, store: Store) -> None:
        """Create a reader for the journal of `store`; call `open` to start counting."""
        self.metrics = ServiceMetrics()
        self._store = store
        self._lock = Lock()
        self._outages: list[Outage] = []
        self._live: dict[str, Maintenance] = {}
        # Announced since `open`; keyed by event ID.
        self._unseen: dict[str, Maintenance] = {}
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
                    with self.metrics.lock:
                        self._read(entry.fact)
                    self.position = entry.position

    def end_call(self, kind: EventType, seconds: float) -> None:
        """Count a driver call that ended after `seconds`."""
        with self.metrics.lock:
            self.metrics.call_times.observe(seconds, kind)

    def live(self) -> Sequence[Maintenance]:
        """Return the live maintenance operations, as of the last fact read.

        This takes no lock, because `catch_up` may hang while holding the lock.
        """
        return [*self._live.values()]

    # --- one fact ------------------------------------------------------------

    def _read(self, fact: f.Fact) -> None:
        match fact:
            case f.Seen():
                self._see(fact)
            case f.OutageEnded():
                self._outages.append(fact.outage)
                self.metrics.outages[()] += 1
                away = fact.outage.until - fact.outage.since
                self.metrics.outage_seconds[()] += away.total_seconds()
            case (
                f.FleetChanged()
                | f.Enabled()
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

    def _apply(
        self, fact: f.MaintenanceFact, before: Maintenance | None
    ) -> Maintenance:
        after = apply_to(before, fact)
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
                seconds = _since_announced(maintenance, sight.at)
                self.metrics.first_seen.observe(seconds, maintenance.type)

    def _count(self, fact: f.MaintenanceFact, after: Maintenance) -> None:
        metrics, kind = self.metrics, after.type
        if type(fact) in metrics.maintenances:
            metrics.maintenances[type(fact)][kind, after.cause] += 1
        match fact:
            case f.Announced():
                self._unseen.update((event.id, after) for event in after.events)
            case f.Started():
                self._start(after)
            case f.Approved():
                seconds = _since_announced(after, fact.at)
                metrics.approvals.observe(seconds, fact.via)
            case f.WorkBegan():
                metrics.driver_calls[kind,] += 1
            case f.WorkDone() | f.WorkFailed():
                outcome = "done" if isinstance(fact, f.WorkDone) else "failed"
                metrics.driver_reports[kind, outcome] += len(fact.vms)
            case (
                f.VmsLeft()
                | f.Withdrawn()
                | f.WorkPrinted()
                | f.WorkRetried()
                | f.WorkEnded()
                | f.Completed()
                | f.Canceled()
                | f.Closed()
            ):
                pass  # only in `metrics.maintenances`, if at all
            case _:
                assert_never(fact)

    def _start(self, after: Maintenance) -> None:
        metrics, kind = self.metrics, after.type
        notice = audit_notice(after, self._outages)
        if notice.is_broken:
            metrics.broken[kind,] += 1
        if after.at_once or notice.used is None:
            return  # immediate maintenance gives no notice to measure
        metrics.notice_given.observe(notice.given.total_seconds(), kind)
        metrics.notice_used.observe(notice.used.total_seconds(), kind)
        metrics.notice_saved[kind,] += notice.saved.total_seconds()


def _since_announced(maintenance: Maintenance, moment: datetime) -> float:
    """Return the seconds since the announcement, at least 0."""
    return max((moment - maintenance.announced_at).total_seconds(), 0.0)
