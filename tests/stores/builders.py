"""Sample facts for stores, and one way to save them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import reduce

from forewarn.core.fleet import VM, Group, GroupKind, Host
from forewarn.core.lifecycle import facts as f
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
from forewarn.core.lifecycle.model import Cause, Event, Maintenance, Phase, Slice, Via
from forewarn.core.lifecycle.settlement import Step
from forewarn.core.outages import Outage
from forewarn.core.tokens import RefusedToken, Role
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


def put(
    store: Store, *facts: Fact, moments: Mapping[str, datetime | None] | None = None
) -> int:
    """Save `facts` in one transaction and return the journal's position."""
    with store.transaction() as transaction:
        before = whole_state(transaction)
        after = reduce(transitions.apply, facts, before)
        return transaction.save(before, Step(after, facts), moments or {})


#: A fact of every kind.
ONE_OF_EACH: tuple[f.Fact, ...] = (
    a_fleet(),
    f.ListeningBegan(at=NOON, group="web", epoch="e1"),
    announced(a_maintenance(groups=("web", "db"))),
    f.Approved(
        at=NOON,
        by="web-0",
        via=Via.METADATA,
        maintenance="M0",
        event="M0-web",
        group="web",
    ),
    f.VmsLeft(at=NOON, maintenance="M0", vms=("db-0",)),
    f.Withdrawn(at=NOON, maintenance="M0", event="M0-db", group="db"),
    f.Published(at=NOON, audience="web", group="web", epoch="e1", incarnation=1),
    started(),
    f.WorkBegan(at=NOON, maintenance="M0", attempt=1),
    f.WorkDone(at=NOON, maintenance="M0", vms=("web-0",), detail="öffnet „so“"),
    f.WorkFailed(at=NOON, maintenance="M0", vms=("db-0",), detail="no\nluck"),
    f.WorkPrinted(at=NOON, maintenance="M0", attempt=1, output="no\n\x00luck"),
    f.WorkRetried(at=NOON, by=None, maintenance="M0"),
    f.WorkEnded(at=NOON, by="ops", maintenance="M0"),
    completed(at=NOON + timedelta(microseconds=1)),
    canceled(),
    f.Closed(at=NOON, by="ops", maintenance="M0", reason="given up"),
    a_seen(0),
    f.OutageEnded(at=NOON, outage=Outage(since=NOON - MINUTE, until=NOON)),
    f.TokenCreated(at=NOON, by="admin", token="1f", name="ci", role=Role.VIEWER),
    f.TokenRevoked(at=NOON, by=None, token="1f", name="ci"),
    f.AccessRefused(at=NOON, refusals=(RefusedToken(address="::1", attempts=2),)),
)
