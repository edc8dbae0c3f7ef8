"""Manual clock: one long step and many short ones leave the same journal."""

import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from datetime import datetime, timedelta
from pathlib import Path
from queue import Queue

import pytest
from tests.engine.support.system import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    FailingStore,
    OpenStore,
    RecordingDriver,
    System,
    a_reboot,
    a_system,
    an_emergency,
    counted,
    fail,
)
from tests.patience import PATIENCE

from forewarn.clocks import SystemClock, make_clock
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import Completed, Started, WorkBegan
from forewarn.core.lifecycle.model import Phase
from forewarn.core.lifecycle.policy import Rules
from forewarn.drivers.registry import OperatorDriver
from forewarn.engine.engine import CLOCK, Engine
from forewarn.engine.heartbeat import last_heartbeat
from forewarn.engine.observations import PendingObservations
from forewarn.engine.timers import ClockAdvance
from forewarn.errors import Conflict, InvalidInput, Unavailable
from forewarn.ports import Bell, Driver, Report, Transaction, Work
from forewarn.protocol.types import EventSource, EventType

pytestmark = pytest.mark.slow

#: Enough time for everything that `scenario` begins.
SPAN = 20 * MINUTE


def scenario(system: System) -> None:
    """Announce maintenance that interacts: by group, host, blocker and approval."""
    system.engine.listen(["web", "lone"])
    for order in (
        a_reboot(host="host-a"),
        a_reboot("web-1"),
        a_reboot("web-2", minutes=16),
        an_emergency("db-1"),
        Order(type=EventType.FREEZE, vms=("lone",), duration=7),
        Order(type=EventType.REBOOT, vms=("lone",), source=EventSource.USER),
        Order(type=EventType.TERMINATE, vms=("iso-0", "iso-1")),
        Order(type=EventType.PREEMPT, vms=("web-0",)),
        Order(type=EventType.REDEPLOY, vms=("db-0",), duration=90),
    ):
        system.engine.announce(order, by="ops")
    held = system.announce(a_reboot("db-1", minutes=18))
    system.engine.approve_as_vm("db-0", [held.events[0].id])
    terminate = next(
        maintenance
        for maintenance in system.maintenances()
        if maintenance.vms == ("iso-0",)
    )
    system.engine.approve_as_vm("iso-0", [terminate.events[0].id])


def raw_journal(path: Path) -> list[tuple[object, ...]]:
    """Return the journal as stored on disk."""
    with closing(sqlite3.connect(path)) as database:
        return database.execute(
            "SELECT position, at, fact, version, body FROM journal ORDER BY position"
        ).fetchall()


def journal_of(
    open_store: OpenStore,
    path: Path,
    steps: Iterable[timedelta],
    rules: Rules | None = None,
    driver: Driver | None = None,
    at: datetime = NOON,
) -> list[tuple[object, ...]]:
    system = a_system(open_store(path), rules=rules, driver=driver, at=at)
    scenario(system)
    for step in steps:
        system.advance.by(step)
    return raw_journal(path)


def fail_first_attempt(work: Work) -> Iterable[Report]:
    if work.attempt == 1 and "db-1" in {vm.name for vm in work.vms}:
        return fail(work)
    return [Report(vm=vm.name) for vm in work.vms]


WORLDS: dict[str, tuple[Rules, Callable[[], Driver | None]]] = {
    "plain": (Rules(), lambda: None),
    "with a lead": (Rules(lead=3 * SECOND), lambda: None),
    "never shown": (
        Rules(shown=dict.fromkeys(EventType, timedelta(0))),
        lambda: None,
    ),
    "operator": (Rules(), OperatorDriver),
    "failing": (Rules(), lambda: RecordingDriver(fail_first_attempt)),
}


@pytest.mark.parametrize(("rules", "driver"), WORLDS.values(), ids=WORLDS)
def test_one_long_step_and_many_short_ones_leave_the_same_journal(
    open_store: OpenStore,
    tmp_path: Path,
    rules: Rules,
    driver: Callable[[], Driver | None],
) -> None:
    long = journal_of(open_store, tmp_path / "long.db", [SPAN], rules, driver())
    short = journal_of(
        open_store, tmp_path / "short.db", [SECOND] * 1200, rules, driver()
    )
    assert len(long) > 40
    assert short == long


@pytest.mark.parametrize("step", [SPAN / 7, MINUTE, SPAN / 311])
def test_steps_of_any_length_leave_the_same_journal(
    open_store: OpenStore, tmp_path: Path, step: timedelta
) -> None:
    at = NOON + timedelta(milliseconds=1234)  # between two seconds
    long = journal_of(open_store, tmp_path / "long.db", [2 * SPAN], at=at)
    count = -(-2 * SPAN // step)
    short = journal_of(open_store, tmp_path / "short.db", [step] * count, at=at)
    assert short == long


def test_every_stop_saves_the_heartbeat_in_one_transaction(
    open_store: OpenStore, tmp_path: Path
) -> None:
    class CountingStore(FailingStore):
        count = 0

        def transaction(self) -> AbstractContextManager[Transaction]:
            self.count += 1
            return super().transaction()

    store = CountingStore(open_store(tmp_path / "forewarn.db"))
    system = a_system(store, driver=OperatorDriver())
    system.announce(a_reboot("web-0"))
    stops: list[datetime | None] = []

    def read_to_end() -> None:
        with store.snapshot() as snapshot:
            stops.append(last_heartbeat(snapshot))

    before = store.count
    ClockAdvance(system.engine, read_to_end).by(20 * MINUTE)
    assert stops[1:] == [NOON + 15 * MINUTE, NOON + 20 * MINUTE]
    assert store.count - before == 2  # the start of the Reboot, and the clock


@pytest.mark.parametrize("step", [HOUR, MINUTE, SECOND * 7])
def test_after_an_outage_steps_of_any_length_leave_the_same_journal(
    open_store: OpenStore, tmp_path: Path, step: timedelta
) -> None:
    def journal_after_an_outage(name: str, step: timedelta) -> list[tuple[object, ...]]:
        store = open_store(tmp_path / name)
        system = a_system(store)
        scenario(system)
        system.advance.by(MINUTE)
        again = a_system(store, at=NOON + HOUR, new_id=counted(1000), fleet=None)
        again.engine.beat()
        for _ in range(2 * HOUR // step):
            again.advance.by(step)
        assert {maintenance.phase for maintenance in again.maintenances()} == {
            Phase.COMPLETED
        }
        return raw_journal(tmp_path / name)

    long = journal_after_an_outage("long.db", 2 * HOUR)
    assert journal_after_an_outage("short.db", step) == long


def test_deadlines_are_met_on_time(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    system.advance.by(24 * HOUR)
    assert [fact.at for fact in system.facts(Started)] == [maintenance.not_before]
    assert [fact.at for fact in system.facts(WorkBegan)] == [maintenance.not_before]
    assert [fact.at for fact in system.facts(Completed)] == [
        maintenance.not_before + 5 * SECOND
    ]


def test_maintenance_starting_at_the_target_time_is_carried_out(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    system.advance.to(maintenance.not_before)
    assert system.maintenance(maintenance.id).started_at == maintenance.not_before
    assert system.maintenance(maintenance.id).done == ("web-0",)


def test_work_opened_by_a_command_is_done_before_the_clock_moves(
    system: System,
) -> None:
    system.announce(an_emergency("web-0"))
    system.advance.by(HOUR)
    assert [fact.at for fact in system.facts(WorkBegan)] == [NOON]


def test_the_clock_stops_at_the_target(system: System) -> None:
    assert system.advance.by(HOUR) == NOON + HOUR
    assert system.clock.now() == NOON + HOUR
    assert system.advance.to(NOON + 3 * HOUR) == NOON + 3 * HOUR
    assert system.clock.now() == NOON + 3 * HOUR


def test_a_step_of_zero_does_nothing(system: System) -> None:
    assert system.advance.by(timedelta(0)) == NOON
    assert system.clock.now() == NOON


@pytest.mark.parametrize("back", [SECOND, HOUR])
def test_the_clock_is_never_set_back(system: System, back: timedelta) -> None:
    with pytest.raises(InvalidInput, match="never set back"):
        system.advance.by(-back)
    with pytest.raises(InvalidInput, match="never set back"):
        system.advance.to(NOON - back)
    assert system.clock.now() == NOON


@pytest.mark.parametrize("step", [timedelta(days=36_501), timedelta.max])
def test_the_clock_has_a_maximum_step(system: System, step: timedelta) -> None:
    with pytest.raises(InvalidInput):
        system.advance.by(step)
    assert system.clock.now() == NOON


def test_the_clock_is_persisted(system: System) -> None:
    system.advance.by(HOUR)
    with system.store.snapshot() as snapshot:
        kept = snapshot.setting(CLOCK)
    assert kept is not None
    clock = make_clock("manual", kept=datetime.fromisoformat(kept), last=None)
    assert clock.now() == NOON + HOUR


def test_documents_are_current_after_an_advance(system: System) -> None:
    system.wakes.clear()
    system.announce(a_reboot("web-0"))
    system.advance.by(15 * MINUTE)
    assert len(system.plane.document("web-0").events) == 1
    system.advance.by(MINUTE)
    assert system.plane.document("web-0").events == ()


def test_only_a_manual_clock_can_be_advanced(open_store: OpenStore) -> None:
    engine = Engine(
        open_store(), SystemClock(), rules=Rules(), observations=PendingObservations()
    )
    with pytest.raises(Conflict, match="--clock manual"):
        ClockAdvance(engine, lambda: None).by(HOUR)


def test_an_advance_ends_when_the_service_stops(open_store: OpenStore) -> None:
    system = a_system(open_store())
    maintenance = system.announce(a_reboot("web-0"))
    system.advance.stop()
    with pytest.raises(Unavailable, match="stopping"):
        system.advance.by(HOUR)
    assert system.phase(maintenance.id) is Phase.SCHEDULED
    assert system.clock.now() == NOON


@pytest.mark.parametrize("minutes", [15, 600])  # before and after the target
def test_an_advance_that_cannot_be_saved_does_not_move_the_clock(
    open_store: OpenStore, minutes: int
) -> None:
    store = FailingStore(open_store())
    system = a_system(store)
    system.announce(a_reboot("web-0", minutes=minutes))
    store.failures.append(Unavailable("the disk is full"))
    with pytest.raises(Unavailable):
        system.advance.by(HOUR)
    assert system.clock.now() == NOON
    assert system.advance.by(HOUR) == NOON + HOUR


def test_the_number_of_waiting_advances_is_limited(
    system: System,
) -> None:
    refused: Queue[str] = Queue()
    script_ends = Bell()

    def read_to_end() -> None:
        script_ends.wait()

    advance = ClockAdvance(system.engine, read_to_end)

    def move() -> None:
        try:
            advance.by(SECOND)
        except Conflict as error:
            refused.put(str(error))

    with ThreadPoolExecutor(32) as pool:
        for _ in range(32):
            pool.submit(move)
        try:
            messages = {refused.get(timeout=PATIENCE) for _ in range(12)}
        finally:
            script_ends.set()
    assert len(messages) == 1
    assert refused.empty()
    assert system.clock.now() == NOON + 20 * SECOND
