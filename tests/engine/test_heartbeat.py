"""The heartbeat: which silence of the service is an outage, on every clock."""

from datetime import timedelta
from threading import Event

import pytest
from tests.engine.system import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    OpenStore,
    RecordingDriver,
    System,
    a_reboot,
    a_system,
)
from tests.engine.system_time import (
    LONG,
    SystemTime,
    an_engine,
    announce,
    beat_of,
    found,
    journal,
    outages,
    restarted,
    run,
)

from forewarn.core.facts import OutageEnded
from forewarn.core.maintenance import Phase
from forewarn.core.outages import Outage
from forewarn.engine.timers import Timers
from forewarn.errors import Unavailable
from forewarn.ports import Report, Work

MICROSECOND = timedelta(microseconds=1)


# --- how long a gap is -------------------------------------------------------


@pytest.mark.parametrize("rate", [1.0, 60.0, 600.0, 0.5])
def test_more_than_a_minute_of_real_time_is_an_outage(
    open_store: OpenStore, rate: float
) -> None:
    clock = SystemTime(rate=rate)
    engine = an_engine(open_store(), clock)
    clock.run(MINUTE * rate)
    engine.beat()
    assert outages(engine) == []
    since = clock.now()
    clock.run(MINUTE * rate + MICROSECOND)
    engine.beat()
    assert outages(engine) == [Outage(since=since, until=clock.now())]


def test_a_new_store_was_never_away(open_store: OpenStore) -> None:
    assert outages(an_engine(open_store(), SystemTime())) == []


def test_a_restart_within_a_minute_is_none(open_store: OpenStore) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    clock.run(MINUTE)
    assert outages(restarted(engine)) == []


def test_a_service_that_was_stopped_in_order_was_away_since_then(
    open_store: OpenStore,
) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    clock.run(50 * SECOND)
    Timers(engine, lambda: None).stop()
    stopped = clock.now()
    clock.run(HOUR)
    assert outages(restarted(engine)) == [Outage(since=stopped, until=stopped + HOUR)]


def test_outages_do_not_overlap(open_store: OpenStore) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    for _ in range(3):
        clock.run(HOUR)
        engine.beat()
        engine.beat()
    assert outages(engine) == [
        Outage(since=NOON + number * HOUR, until=NOON + (number + 1) * HOUR)
        for number in range(3)
    ]


# --- the manual clock --------------------------------------------------------


def test_a_manual_clock_that_is_moved_is_no_outage(system: System) -> None:
    system.advance.by(30 * HOUR)
    system.clock.move_to(NOON + 60 * HOUR)
    system.engine.beat()
    assert system.facts(OutageEnded) == []


@pytest.mark.parametrize(
    ("gap", "is_one"), [(MINUTE, False), (MINUTE + MICROSECOND, True)]
)
def test_a_store_opened_with_a_later_manual_clock_was_away(
    system: System, gap: timedelta, is_one: bool
) -> None:
    system.advance.by(HOUR)
    again = a_system(system.store, at=NOON + HOUR + gap, fleet=None)
    again.engine.beat()
    assert bool(again.facts(OutageEnded)) is is_one


def test_the_outage_ends_where_the_manual_clock_began(system: System) -> None:
    again = a_system(system.store, at=NOON + HOUR, fleet=None)
    again.clock.move_to(NOON + 5 * HOUR)  # before anything is written
    again.engine.beat()
    assert again.facts(OutageEnded) == [
        OutageEnded(at=NOON + 5 * HOUR, outage=Outage(since=NOON, until=NOON + HOUR))
    ]


def test_each_step_of_an_advance_has_its_heartbeat(open_store: OpenStore) -> None:
    def stop(work: Work) -> list[Report]:
        system.advance.stop()  # a crash at the next deadline would look like this
        return [Report(vm=vm.name) for vm in work.vms]

    system = a_system(open_store(), driver=RecordingDriver(stop))
    first, second = system.announce(a_reboot("web-0")), a_reboot("db-0", minutes=60)
    system.announce(second)
    with pytest.raises(Unavailable):
        system.advance.by(2 * HOUR)
    assert beat_of(system.store) == first.not_before


# --- the system clock is set -------------------------------------------------


def test_a_system_clock_set_forward_is_an_outage(open_store: OpenStore) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    made = announce(engine)
    run(engine, clock, 5 * MINUTE)
    clock.run(HOUR)
    engine.tick()
    assert outages(engine) == [
        Outage(since=NOON + 5 * MINUTE, until=NOON + 5 * MINUTE + HOUR)
    ]
    run(engine, clock, 20 * MINUTE)
    assert found(engine, made).started_at == NOON + HOUR + 15 * MINUTE


def test_a_system_clock_set_back_stands_still_and_goes_on(
    open_store: OpenStore,
) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    made = announce(engine)
    run(engine, clock, 5 * MINUTE)
    clock.set(NOON - HOUR)
    run(engine, clock, 75 * MINUTE - 10 * SECOND)
    assert found(engine, made).phase is Phase.SCHEDULED
    run(engine, clock, 10 * SECOND)
    assert found(engine, made).started_at == made.not_before
    assert outages(engine) == []
    times = [fact.at for fact in journal(engine.store)]
    assert times == sorted(times)


def test_an_outage_of_a_clock_that_was_set_back_is_noticed(
    open_store: OpenStore,
) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    run(engine, clock, 2 * HOUR)  # nothing happens, save heartbeats
    clock.set(NOON + HOUR)
    run(engine, clock, MINUTE)
    made = announce(engine)
    clock.run(30 * MINUTE)
    engine = restarted(engine)
    engine.tick()
    assert found(engine, made).phase is Phase.SCHEDULED
    run(engine, clock, 20 * MINUTE)
    assert found(engine, made).started_at == made.not_before + 30 * MINUTE


def test_an_outage_after_a_clock_that_ran_ahead_is_noticed(
    system: System,
) -> None:
    system.advance.by(1000 * HOUR)
    clock = SystemTime()
    engine = restarted(system.engine, clock)
    made = announce(engine)
    clock.run(30 * MINUTE)
    restarted(engine).tick()
    assert found(engine, made).phase is Phase.SCHEDULED


@pytest.mark.parametrize("back", [30 * SECOND, 5 * MINUTE, 30 * HOUR])
def test_a_system_clock_set_back_and_forward_again_takes_no_notice(
    open_store: OpenStore, back: timedelta
) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    run(engine, clock, HOUR)
    made = announce(engine)
    run(engine, clock, 5 * MINUTE)
    there = clock.now()
    clock.set(there - back)
    run(engine, clock, MINUTE)
    clock.set(there + 14 * MINUTE)
    engine.tick()
    assert found(engine, made).phase is Phase.SCHEDULED
    run(engine, clock, HOUR)
    assert found(engine, made).phase is Phase.STARTED
    times = [fact.at for fact in journal(engine.store)]
    assert times == sorted(times)


# --- with timers -------------------------------------------------------------


def test_timers_start_nothing_when_the_clock_is_set_forward(
    open_store: OpenStore,
) -> None:
    clock, store, ticked = SystemTime(), open_store(), Event()
    engine = an_engine(store, clock)
    made = announce(engine)
    timers = Timers(engine, ticked.set)

    def turn() -> None:
        """Let the timers look at the clock, as they do when a wait ends."""
        ticked.clear()
        timers.ring()
        assert ticked.wait(LONG)

    timers.start()
    try:
        assert clock.is_waited_for.wait(LONG)
        clock.run(HOUR)
        turn()
        assert outages(engine) == [Outage(since=NOON, until=NOON + HOUR)]
        assert found(engine, made).phase is Phase.SCHEDULED
        assert engine.next_moment() == made.not_before + HOUR
        for _ in range(15):
            clock.run(MINUTE)
            engine.beat()  # the timers do it after ten seconds of real time
            turn()
        assert found(engine, made).started_at == made.not_before + HOUR
    finally:
        timers.stop()
    assert beat_of(store) == clock.now()
