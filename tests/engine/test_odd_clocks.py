"""Clocks that are set while the service runs, and clocks at the end of time.

A machine's clock may be set back or forward at any moment. Whatever it shows, nothing
starts early, nothing is forgotten, and the journal's times never go back.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from tests.engine.support.invariants import check_history
from tests.engine.support.system import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    DocumentSink,
    OpenStore,
    an_emergency,
)
from tests.engine.support.system_time import (
    SystemTime,
    an_engine,
    announce,
    journal,
    read_maintenance,
)
from tests.lanes import SEED

from forewarn.clocks import END, FastClock, ManualClock, make_clock
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.drivers.registry import NothingDriver
from forewarn.engine.engine import Engine
from forewarn.engine.readers.documents import Documents
from forewarn.engine.readers.driver_runner import DriverRunner
from forewarn.engine.timers import ClockAdvance
from forewarn.errors import CannotStart, InvalidInput
from forewarn.ports import Store

DAY = 24 * HOUR
BEAT = 10 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedService:
    """A service on a machine; time passes, and the timers do their work."""

    clock: SystemTime
    engine: Engine
    works: DriverRunner

    def live(self, how_long: timedelta) -> None:
        """Move time on, one heartbeat after another."""
        passed = timedelta(0)
        while passed < how_long:
            step = min(BEAT, how_long - passed)
            self.clock.run(step)
            passed += step
            self.engine.beat()
            self.engine.tick()
            self.works.catch_up()

    def announce(self) -> Maintenance:
        return announce(self.engine)

    def phase(self, made: Maintenance) -> Phase:
        return read_maintenance(self.engine, made).phase

    def facts(self) -> list[f.Fact]:
        return journal(self.engine.store)


def a_machine(store: Store, at: datetime = NOON) -> TimedService:
    clock = SystemTime(at)
    engine = an_engine(store, clock, first_id=1 + 1000 * len(store.facts(0, 1000)))
    documents = Documents(store, DocumentSink().hand_over)
    documents.open()
    works = DriverRunner(engine, documents, NothingDriver())
    return TimedService(clock=clock, engine=engine, works=works)


@pytest.fixture
def machine(open_store: OpenStore) -> TimedService:
    return a_machine(open_store())


# --- set back ----------------------------------------------------------------


def test_an_approval_works_even_while_the_clock_is_behind(
    machine: TimedService,
) -> None:
    maintenance = machine.announce()
    machine.clock.run(-HOUR)
    machine.engine.approve_as_vm("web-1", [maintenance.events[0].id])
    assert machine.phase(maintenance) is Phase.STARTED


# --- set forward -------------------------------------------------------------


def test_a_clock_set_forward_by_mistake_and_back_again_loses_nothing(
    machine: TimedService,
) -> None:
    maintenance = machine.announce()
    machine.live(MINUTE)
    machine.clock.run(DAY)
    machine.live(MINUTE)
    machine.clock.run(-DAY)
    machine.live(13 * MINUTE - BEAT)
    assert machine.phase(maintenance) is Phase.SCHEDULED
    machine.live(DAY + HOUR)
    assert machine.phase(maintenance) is Phase.COMPLETED
    check_history(machine.facts(), "forth and back")


@pytest.mark.parametrize("seed", range(SEED, SEED + 20))
def test_the_promised_notice_is_given_whatever_the_clock_shows(
    open_store: OpenStore, seed: int
) -> None:
    random, machine = Random(seed), a_machine(open_store())
    maintenance, lived = machine.announce(), timedelta(0)
    while machine.phase(maintenance) is Phase.SCHEDULED:
        step = random.randint(1, 30) * SECOND
        machine.live(step)
        lived += step
        if random.random() < 0.5:
            machine.clock.run(random.choice((-10 * MINUTE, -MINUTE, 2 * MINUTE, HOUR)))
        assert lived < 30 * DAY
    assert lived >= 15 * MINUTE
    check_history(machine.facts(), f"seed {seed}")


def test_a_clock_that_jumped_is_reported_once_and_again_when_it_is_over(
    machine: TimedService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "forewarn.engine.health")
    machine.live(MINUTE)
    machine.clock.run(30 * HOUR)
    machine.live(MINUTE)
    assert machine.engine.health.standstill is None
    jumped = machine.clock.now() - MINUTE + BEAT
    machine.clock.run(-30 * HOUR)
    machine.live(MINUTE)
    assert machine.engine.health.standstill == jumped
    machine.live(30 * HOUR)
    assert machine.engine.health.standstill is None
    stopped, moved = [
        record.message
        for record in caplog.records
        if record.name == "forewarn.engine.health"
    ]
    assert f"the service's clock is paused until {jumped.isoformat()}" in stopped
    assert "is running again" in moved


# --- start -------------------------------------------------------------------


def test_a_start_with_a_clock_behind_the_store_continues(
    open_store: OpenStore,
) -> None:
    store = open_store()
    before = a_machine(store)
    maintenance, other = before.announce(), before.announce()
    after = a_machine(store, at=NOON - HOUR)
    after.engine.approve_as_vm("web-1", [maintenance.events[0].id])
    assert after.phase(maintenance) is Phase.STARTED
    after.live(HOUR + 15 * MINUTE - BEAT)
    assert after.phase(maintenance) is Phase.COMPLETED
    assert after.phase(other) is Phase.SCHEDULED
    after.live(MINUTE)
    assert after.phase(other) is Phase.COMPLETED
    check_history(after.facts(), "an hour behind")


# --- the ends of time --------------------------------------------------------


def test_the_service_works_with_a_clock_in_1970(open_store: OpenStore) -> None:
    machine = a_machine(open_store(), at=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    maintenance = machine.announce()
    machine.live(16 * MINUTE)
    assert machine.phase(maintenance) is Phase.COMPLETED


def test_a_clock_corrected_from_1970_does_not_shorten_notice(
    open_store: OpenStore,
) -> None:
    machine = a_machine(open_store(), at=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    maintenance = machine.announce()
    machine.live(MINUTE)
    machine.clock.run(NOON - machine.clock.now())
    machine.live(14 * MINUTE - 2 * BEAT)
    assert machine.phase(maintenance) is Phase.SCHEDULED
    machine.live(MINUTE)
    assert machine.phase(maintenance) is not Phase.SCHEDULED


@pytest.mark.parametrize("text", ["system", "manual", "x60"])
def test_no_clock_starts_at_the_end_of_time(text: str) -> None:
    with pytest.raises(CannotStart, match=r"9979-01-01.*--store"):
        make_clock(text, kept=None, last=END)


def test_a_clock_stored_at_the_end_of_time_is_refused() -> None:
    with pytest.raises(CannotStart, match="9978"):
        make_clock("manual", kept=END, last=None)


def test_everything_works_just_before_the_end_of_time(
    open_store: OpenStore,
) -> None:
    machine = a_machine(open_store(), at=END - SECOND)
    order = an_emergency("web-0")
    machine.engine.announce(order, by="ops")
    maintenance = machine.announce()
    machine.live(16 * MINUTE)
    assert machine.phase(maintenance) is Phase.COMPLETED


def test_a_fast_clock_stands_still_at_the_end_of_time() -> None:
    clock = FastClock(999_999.0, END - timedelta(microseconds=1))
    while clock.now() < END:
        pass
    assert clock.now() == END


def test_a_manual_clock_is_not_advanced_to_the_end_of_time(
    open_store: OpenStore,
) -> None:
    clock = ManualClock(END - DAY)
    advance = ClockAdvance(an_engine(open_store(), clock), lambda: None)
    for step in (DAY, 10_000 * DAY, timedelta(days=999_999)):
        with pytest.raises(InvalidInput, match="9978"):
            advance.by(step)
    assert clock.now() == END - DAY
