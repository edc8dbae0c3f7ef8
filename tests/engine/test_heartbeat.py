"""Heartbeat: which gaps count as an outage, on every clock."""

from datetime import timedelta
from threading import Event

import pytest
from tests.engine.support.system import (
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
from tests.engine.support.system_time import (
    LONG,
    SystemTime,
    an_engine,
    announce,
    beat_of,
    journal,
    outages,
    read_maintenance,
    restarted,
    run,
)

from forewarn.core.lifecycle.facts import OutageEnded
from forewarn.core.lifecycle.model import Phase
from forewarn.core.outages import Outage
from forewarn.engine.timers import Timers
from forewarn.errors import Unavailable
from forewarn.ports import Report, Work

MICROSECOND = timedelta(microseconds=1)


# --- length of a gap ---------------------------------------------------------


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


def test_a_new_store_has_no_outage(open_store: OpenStore) -> None:
    assert outages(an_engine(open_store(), SystemTime())) == []


def test_a_restart_within_a_minute_is_no_outage(open_store: OpenStore) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    clock.run(MINUTE)
    assert outages(restarted(engine)) == []


def test_after_an_orderly_stop_the_outage_starts_at_the_stop(
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


def test_moving_a_manual_clock_is_no_outage(system: System) -> None:
    system.advance.by(30 * HOUR)
    system.clock.move_to(NOON + 60 * HOUR)
    system.engine.beat()
    assert system.facts(OutageEnded) == []


@pytest.mark.parametrize(
    ("gap", "is_one"), [(MINUTE, False), (MINUTE + MICROSECOND, True)]
)
def test_reopening_with_a_later_manual_clock_is_an_outage(
    system: System, gap: timedelta, is_one: bool
) -> None:
    system.advance.by(HOUR)
    again = a_system(system.store, at=NOON + HOUR + gap, fleet=None)
    again.engine.beat()
    assert bool(again.facts(OutageEnded)) is is_one


def test_the_outage_ends_where_the_manual_clock_started(system: System) -> None:
    again = a_system(system.store, at=NOON + HOUR, fleet=None)
    again.clock.move_to(NOON + 5 * HOUR)  # before anything is written
    again.engine.beat()
    assert again.facts(OutageEnded) == [
        OutageEnded(at=NOON + 5 * HOUR, outage=Outage(since=NOON, until=NOON + HOUR))
    ]


def test_each_step_of_an_advance_has_a_heartbeat(open_store: OpenStore) -> None:
    def stop(work: Work) -> list[Report]:
        system.advance.stop()  # looks like a crash at the next deadline
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
    maintenance = announce(engine)
    run(engine, clock, 5 * MINUTE)
    clock.run(HOUR)
    engine.tick()
    assert outages(engine) == [
        Outage(since=NOON + 5 * MINUTE, until=NOON + 5 * MINUTE + HOUR)
    ]
    run(engine, clock, 20 * MINUTE)
    assert read_maintenance(engine, maintenance).started_at == NOON + HOUR + 15 * MINUTE


def test_a_system_clock_set_back_stands_still_and_then_continues(
    open_store: OpenStore,
) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    maintenance = announce(engine)
    run(engine, clock, 5 * MINUTE)
    clock.set(NOON - HOUR)
    run(engine, clock, 75 * MINUTE - 10 * SECOND)
    assert read_maintenance(engine, maintenance).phase is Phase.SCHEDULED
    run(engine, clock, 10 * SECOND)
    assert read_maintenance(engine, maintenance).started_at == maintenance.not_before
    assert outages(engine) == []
    times = [fact.at for fact in journal(engine.store)]
    assert times == sorted(times)


def test_an_outage_after_the_clock_was_set_back_is_detected(
    open_store: OpenStore,
) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    run(engine, clock, 2 * HOUR)  # nothing happens except heartbeats
    clock.set(NOON + HOUR)
    run(engine, clock, MINUTE)
    maintenance = announce(engine)
    clock.run(30 * MINUTE)
    engine = restarted(engine)
    engine.tick()
    assert read_maintenance(engine, maintenance).phase is Phase.SCHEDULED
    run(engine, clock, 20 * MINUTE)
    assert (
        read_maintenance(engine, maintenance).started_at
        == maintenance.not_before + 30 * MINUTE
    )


def test_an_outage_after_a_clock_that_ran_ahead_is_detected(
    system: System,
) -> None:
    system.advance.by(1000 * HOUR)
    clock = SystemTime()
    engine = restarted(system.engine, clock)
    maintenance = announce(engine)
    clock.run(30 * MINUTE)
    restarted(engine).tick()
    assert read_maintenance(engine, maintenance).phase is Phase.SCHEDULED


@pytest.mark.parametrize("back", [30 * SECOND, 5 * MINUTE, 30 * HOUR])
def test_a_clock_set_back_and_forward_again_does_not_shorten_notice(
    open_store: OpenStore, back: timedelta
) -> None:
    clock = SystemTime()
    engine = an_engine(open_store(), clock)
    run(engine, clock, HOUR)
    maintenance = announce(engine)
    run(engine, clock, 5 * MINUTE)
    there = clock.now()
    clock.set(there - back)
    run(engine, clock, MINUTE)
    clock.set(there + 14 * MINUTE)
    engine.tick()
    assert read_maintenance(engine, maintenance).phase is Phase.SCHEDULED
    run(engine, clock, HOUR)
    assert read_maintenance(engine, maintenance).phase is Phase.STARTED
    times = [fact.at for fact in journal(engine.store)]
    assert times == sorted(times)


# --- with timers -------------------------------------------------------------


def test_timers_start_nothing_when_the_clock_is_set_forward(
    open_store: OpenStore,
) -> None:
    clock, store, ticked = SystemTime(), open_store(), Event()
    engine = an_engine(store, clock)
    maintenance = announce(engine)
    timers = Timers(engine, ticked.set)

    def turn() -> None:
        """Make the timers look at the clock, as they do when a wait ends."""
        ticked.clear()
        timers.ring()
        assert ticked.wait(LONG)

    timers.start()
    try:
        assert clock.is_waited_for.wait(LONG)
        clock.run(HOUR)
        turn()
        assert outages(engine) == [Outage(since=NOON, until=NOON + HOUR)]
        assert read_maintenance(engine, maintenance).phase is Phase.SCHEDULED
        assert engine.next_moment() == maintenance.not_before + HOUR
        for _ in range(15):
            clock.run(MINUTE)
            engine.beat()  # the timers do it after ten seconds of real time
            turn()
        assert (
            read_maintenance(engine, maintenance).started_at
            == maintenance.not_before + HOUR
        )
    finally:
        timers.stop()
    assert beat_of(store) == clock.now()
