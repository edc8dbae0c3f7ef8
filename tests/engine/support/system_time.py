"""Service on a machine whose clock the test sets forward and back."""

from datetime import datetime, timedelta
from threading import Event

from tests.engine.support.system import FLEET, NOON, SECOND, a_reboot, counted
from tests.patience import PATIENCE

from forewarn.core.lifecycle.facts import Fact, OutageEnded
from forewarn.core.lifecycle.model import Maintenance
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.outages import Outage
from forewarn.engine.engine import Engine
from forewarn.engine.fleet import FleetCommands
from forewarn.engine.heartbeat import HEARTBEAT
from forewarn.engine.observations import PendingObservations
from forewarn.ports import Clock, Store

LONG = PATIENCE


class SystemTime:
    """A system clock, or one that runs `rate` times as fast."""

    name = "system"

    def __init__(self, at: datetime = NOON, *, rate: float = 1.0) -> None:
        """Show `at` and stand still."""
        self.rate = rate
        self.is_waited_for = Event()
        self._now = at

    def now(self) -> datetime:
        """Return the time it was set to."""
        return self._now

    def set(self, now: datetime) -> None:
        """Set it, as an administrator or a resuming machine does."""
        self._now = now

    def run(self, span: timedelta) -> None:
        """Move the clock forward by `span`."""
        self._now += span

    def wait(self, bell: Event, until: datetime | None) -> None:
        """Signal that a thread waits, then wait for the bell."""
        del until  # only the test knows when
        self.is_waited_for.set()
        bell.wait(LONG)


def an_engine(store: Store, clock: Clock, *, first_id: int = 1) -> Engine:
    """Start an engine as `compose` does it; on an empty store, with a fleet."""
    engine = Engine(
        store,
        clock,
        rules=Rules(),
        observations=PendingObservations(),
        new_id=counted(first_id),
    )
    engine.beat()
    if not store.facts(0, 1):
        FleetCommands(engine).apply(FLEET, by="ops")
    return engine


def restarted(engine: Engine, clock: Clock | None = None) -> Engine:
    """Return a second engine on the store, with the same clock or another."""
    return an_engine(engine.store, clock or engine.clock, first_id=10_000)


def journal(store: Store) -> list[Fact]:
    return [entry.fact for entry in store.facts(0, 1_000_000)]


def outages(engine: Engine) -> list[Outage]:
    """Return the recorded outages."""
    facts = journal(engine.store)
    return [fact.outage for fact in facts if isinstance(fact, OutageEnded)]


def read_maintenance(engine: Engine, made: Maintenance) -> Maintenance:
    with engine.store.snapshot() as snapshot:
        stored = snapshot.maintenance(made.id)
    assert stored is not None
    return stored


def beat_of(store: Store) -> datetime | None:
    with store.snapshot() as snapshot:
        kept = snapshot.setting(HEARTBEAT)
    return None if kept is None else datetime.fromisoformat(kept)


def announce(engine: Engine, vm: str = "web-0") -> Maintenance:
    (maintenance,) = engine.announce(a_reboot(vm), by="ops")
    return maintenance


def run(engine: Engine, clock: SystemTime, span: timedelta) -> None:
    """Move time on as the timers do, with a heartbeat every ten seconds."""
    for _ in range(span // (10 * SECOND)):
        clock.run(10 * SECOND)
        engine.beat()
        engine.tick()
