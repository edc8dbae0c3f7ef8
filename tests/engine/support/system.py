"""Complete service in one process, without threads or sockets."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TypeVar

from forewarn.clocks import ManualClock
from forewarn.core import fleet_file
from forewarn.core.fleet import VM, Fleet, Group, audience_name
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import Fact, JournalEntry
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.core.lifecycle.policy import Rules
from forewarn.drivers.registry import NothingDriver
from forewarn.engine.engine import Engine
from forewarn.engine.fleet import FleetCommands
from forewarn.engine.observations import PendingObservations
from forewarn.engine.readers.documents import Documents, DocumentUpdate
from forewarn.engine.readers.driver_runner import DriverRunner, RetrySchedule
from forewarn.engine.timers import ClockAdvance
from forewarn.ports import Driver, Printed, Report, Snapshot, Store, Transaction, Work
from forewarn.protocol.types import Document, EventType

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)

#: web and db share host-a and host-b; web-2, iso and lone are separate.
TABLES: Mapping[str, object] = {
    "hosts": [{"name": "host-a"}, {"name": "host-b"}],
    "groups": [
        {"name": "web", "kind": "availability-set"},
        {"name": "db", "kind": "availability-set"},
        {"name": "iso", "kind": "scale-set", "isolated": True},
    ],
    "vms": [
        {"name": "web-0", "group": "web", "host": "host-a", "update_domain": 0},
        {"name": "web-1", "group": "web", "host": "host-b", "update_domain": 1},
        {"name": "web-2", "group": "web", "update_domain": 2},
        {"name": "db-0", "group": "db", "host": "host-a", "update_domain": 0},
        {"name": "db-1", "group": "db", "host": "host-b", "update_domain": 1},
        {"name": "iso-0", "group": "iso"},
        {"name": "iso-1", "group": "iso"},
        {"name": "lone"},
    ],
}
FLEET = fleet_file.read_fleet(dict(TABLES))

#: Opens a store in a file or in memory; it is closed when the test ends.
OpenStore = Callable[..., Store]

_Kind = TypeVar("_Kind", bound=Fact)


def a_reboot(*vms: str, host: str | None = None, minutes: int | None = None) -> Order:
    """Return an order for a planned Reboot, by default with the minimum notice."""
    notice = None if minutes is None else minutes * MINUTE
    return Order(type=EventType.REBOOT, vms=vms, host=host, notice=notice)


def an_emergency(*vms: str) -> Order:
    """Return an order for a Reboot that starts immediately."""
    return Order(type=EventType.REBOOT, vms=vms, emergency=True, reason="smoke")


def counted(start: int = 1) -> Callable[[], str]:
    """Return a generator of ids that differ in their first eight characters."""
    numbers = count(start)
    return lambda: f"{next(numbers):08X}-FEED-4ABC-8DEF-0000DECADE00"


class DocumentSink:
    """Sink of updates that knows what each VM would be shown."""

    def __init__(self) -> None:
        self.updates: list[DocumentUpdate] = []
        self.vms: dict[str, VM] = {}
        self.groups: dict[str, Group] = {}
        self.documents: dict[str, Document] = {}  # by audience
        self.epochs: dict[str, str] = {}  # by audience

    def hand_over(self, update: DocumentUpdate) -> None:
        self.updates.append(update)
        for name in update.removed:
            self.vms.pop(name, None)
        self.vms.update((vm.name, vm) for vm in update.placed)
        for shown in update.shown:
            self.groups[shown.group.name] = shown.group
            self.documents[shown.audience.name] = shown.document
            self.epochs[shown.audience.name] = shown.audience.epoch

    def document(self, vm: str) -> Document:
        return self.documents[self._audience(vm)]

    def epoch(self, vm: str) -> str:
        return self.epochs[self._audience(vm)]

    def seen_by_all(self) -> dict[str, tuple[str, Document]]:
        return {vm: (self.epoch(vm), self.document(vm)) for vm in self.vms}

    def _audience(self, vm: str) -> str:
        return audience_name(self.groups[self.vms[vm].group], vm)


@dataclass(slots=True)
class RecordingDriver:
    """Driver that records its work and performs `act`."""

    act: Callable[[Work], Iterable[Report | Printed]] = NothingDriver().carry_out
    works: list[Work] = field(default_factory=list)

    def carry_out(self, work: Work) -> Iterable[Report | Printed]:
        self.works.append(work)
        return self.act(work)


def fail(work: Work) -> Iterable[Report]:
    """Act like a driver that cannot reach its machines."""
    raise ConnectionError(f"no way to {work.maintenance}")


class FailingStore:
    """Store whose next transactions raise `failures`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.failures: list[Exception] = []

    def transaction(self) -> AbstractContextManager[Transaction]:
        if self.failures:
            raise self.failures.pop(0)
        return self._store.transaction()

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        return self._store.snapshot()

    def facts(self, after: int, limit: int) -> Sequence[JournalEntry]:
        return self._store.facts(after, limit)

    def close(self) -> None:
        self._store.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """All parts, assembled as `compose` does it, but without threads."""

    store: Store
    clock: ManualClock
    observations: PendingObservations
    engine: Engine
    fleets: FleetCommands
    plane: DocumentSink
    documents: Documents
    works: DriverRunner
    advance: ClockAdvance
    wakes: list[Callable[[int], None]]  # called after each commit

    def read_to_end(self) -> None:
        self.documents.catch_up()
        self.works.finish()

    def facts(self, kind: type[_Kind]) -> list[_Kind]:
        """Return all facts of one `kind`, in order."""
        return [fact for fact in self.journal() if isinstance(fact, kind)]

    def journal(self) -> list[Fact]:
        return [entry.fact for entry in self.store.facts(0, 1_000_000)]

    def maintenance(self, any_id: str) -> Maintenance:
        with self.store.snapshot() as snapshot:
            maintenance = snapshot.maintenance(any_id)
        assert maintenance is not None
        return maintenance

    def phase(self, any_id: str) -> Phase:
        return self.maintenance(any_id).phase

    def maintenances(self) -> list[Maintenance]:
        with self.store.snapshot() as snapshot:
            listed = snapshot.maintenances(phases=[], after=0, limit=1_000_000)
        return [maintenance for _, maintenance in listed]

    def fleet(self) -> Fleet:
        with self.store.snapshot() as snapshot:
            return snapshot.fleet()

    def announce(self, order: Order) -> Maintenance:
        """Announce an order that makes exactly one maintenance."""
        (maintenance,) = self.engine.announce(order, by="ops")
        return maintenance

    def stuck(self, *vms: str) -> Maintenance:
        """Return a maintenance of `vms` that has started and is stuck."""
        maintenance = self.announce(an_emergency(*vms))
        DriverRunner(self.engine, self.documents, RecordingDriver(fail)).catch_up()
        return self.maintenance(maintenance.id)


def a_system(
    store: Store,
    *,
    at: datetime = NOON,
    rules: Rules | None = None,
    driver: Driver | None = None,
    new_id: Callable[[], str] | None = None,
    fleet: Fleet | None = FLEET,
    parallel: int = 0,
    retries: RetrySchedule | None = None,
    on_call: Callable[[EventType, float], None] = lambda kind, seconds: None,
) -> System:
    """Start a service on `store`; without a driver, all work is done immediately."""
    clock, observations, plane = ManualClock(at), PendingObservations(), DocumentSink()
    documents = Documents(store, plane.hand_over)
    wakes: list[Callable[[int], None]] = [documents.catch_up]

    def after_commit(position: int) -> None:
        for wake in wakes:
            wake(position)

    engine = Engine(
        store,
        clock,
        rules=rules or Rules(),
        observations=observations,
        new_id=new_id or counted(),
        after_commit=after_commit,
    )
    works = DriverRunner(
        engine,
        documents,
        driver or NothingDriver(),
        parallel=parallel,
        retries=retries,
        pause=0,
        on_call=on_call,
    )

    def read_to_end() -> None:
        documents.catch_up()
        works.finish()

    documents.open()
    system = System(
        store=store,
        clock=clock,
        observations=observations,
        engine=engine,
        fleets=FleetCommands(engine),
        plane=plane,
        documents=documents,
        works=works,
        advance=ClockAdvance(engine, read_to_end),
        wakes=wakes,
    )
    if fleet is not None:
        system.fleets.apply(fleet, by="ops", remove=True)
    return system
