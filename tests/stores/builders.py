"""Sample facts for stores, and one way to save them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import reduce

from forewarn.core.fleet import VM, Group, GroupKind, Host
from forewarn.core.lifecycle import transitions
from forewarn.core.lifecycle.facts import (
    Announced,
    Canceled,
    Completed,
    Fact,
    FleetChanged,
    Seen,
    Sight,
    Started,
)
from forewarn.core.lifecycle.model import Cause, Event, Maintenance, Phase, Slice
from forewarn.core.lifecycle.settlement import Step
from forewarn.ports import Snapshot, Store
from forewarn.protocol.types import EventSource, EventType
from forewarn.stores.postgres import Postgres, PostgresLimits
from forewarn.stores.sqlite import Connect, Sqlite, connect
from forewarn.stores.store import SqlStore

#: Opens a new, empty store; the fixture that made it closes it.
OpenStore = Callable[[], Store]

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

WEB = Group(name="web", kind=GroupKind.AVAILABILITY_SET)
DB = Group(name="db", kind=GroupKind.AVAILABILITY_SET)


def sqlite_store(path: object, connect: Connect = connect) -> SqlStore:
    """Return a store in the file `path`, or in `MEMORY`; not yet open."""
    return SqlStore(Sqlite(str(path), connect))


def postgres_store(url: str, limits: PostgresLimits | None = None) -> SqlStore:
    """Return a store in the database at `url`; not yet open."""
    return SqlStore(Postgres(url, limits))


@contextmanager
def opened(store: SqlStore) -> Iterator[SqlStore]:
    """Open `store`, and close it at the end of the block."""
    with closing(store):
        store.open()
        yield store


def a_fleet(
    *,
    hosts: tuple[Host, ...] = (Host(name="host-a"), Host(name="host-b")),
    groups: tuple[Group, ...] = (WEB, DB),
    vms: tuple[VM, ...] = (
        VM(name="web-0", group="web", host="host-a", addresses=("10.0.0.1",)),
        VM(name="web-1", group="web", host="host-b"),
        VM(name="db-0", group="db", host="host-a"),
    ),
) -> FleetChanged:
    return FleetChanged(
        at=NOON, by="ops", epoch="e0", hosts=hosts, groups=groups, vms=vms
    )


def a_maintenance(
    name: str = "M0",
    *,
    groups: tuple[str, ...] = ("web",),
    phase: Phase = Phase.SCHEDULED,
) -> Maintenance:
    return Maintenance(
        id=name,
        number=int(name.removeprefix("M")) + 1,
        type=EventType.REBOOT,
        source=EventSource.PLATFORM,
        cause=Cause.PLATFORM,
        vms=tuple(f"{group}-0" for group in groups),
        not_before=NOON + 15 * MINUTE,
        announced_at=NOON,
        announced_by="ops",
        phase=phase,
        events=tuple(
            Event(id=f"{name}-{group}", group=group, resources=(f"{group}-0",))
            for group in groups
        ),
    )


def announced(maintenance: Maintenance) -> Announced:
    return Announced(
        at=NOON, by="ops", maintenance=maintenance.id, announced=maintenance
    )


def started(name: str = "M0", at: datetime = NOON) -> Started:
    return Started(at=at, maintenance=name)


def completed(name: str = "M0", at: datetime = NOON) -> Completed:
    return Completed(at=at, maintenance=name)


def canceled(name: str = "M0", at: datetime = NOON) -> Canceled:
    return Canceled(at=at, by="ops", maintenance=name)


def a_seen(number: int, at: datetime = NOON) -> Seen:
    """Make a fact that changes no state, identified by `number`."""
    return Seen(at=at, sights=(Sight(event=f"E{number}", vm="web-0", at=at),))


def whole_state(snapshot: Snapshot) -> Slice:
    """Return the whole live state including the fleet."""
    fleet = snapshot.fleet()
    return replace(snapshot.slice(None), hosts=fleet.hosts, vms=fleet.vms)


def probe(store: Store) -> None:
    """Probe in a transaction of its own."""
    with store.transaction() as transaction:
        transaction.probe()


def put(
    store: Store, *facts: Fact, moments: Mapping[str, datetime | None] | None = None
) -> int:
    """Save `facts` in one transaction and return the journal's position."""
    with store.transaction() as transaction:
        before = whole_state(transaction)
        after = reduce(transitions.apply, facts, before)
        return transaction.save(before, Step(after, facts), moments or {})
