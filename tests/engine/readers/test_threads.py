"""Service threads: journal followers and timers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, get_ident

from tests.engine.support.system import (
    HOUR,
    NOON,
    OpenStore,
)
from tests.engine.support.system_time import an_engine, announce, read_maintenance
from tests.patience import PATIENCE

from forewarn.clocks import FastClock, ManualClock
from forewarn.core.lifecycle.model import Phase
from forewarn.engine.health import HealthMonitor
from forewarn.engine.readers.follower import Follower
from forewarn.engine.timers import Timers
from forewarn.errors import Unavailable

LONG = PATIENCE


@contextmanager
def running(thread: Follower | Timers) -> Iterator[None]:
    thread.start()
    try:
        yield
    finally:
        thread.stop()


# --- followers ---------------------------------------------------------------


def test_a_follower_reads_when_it_starts() -> None:
    read = Event()
    with running(Follower("reader", read.set)):
        assert read.wait(LONG)


def test_a_follower_reads_in_its_own_thread_when_its_bell_rings() -> None:
    threads: list[int] = []
    reads = [Event(), Event()]

    def catch_up() -> None:
        threads.append(get_ident())
        reads[min(len(threads), 2) - 1].set()

    follower = Follower("reader", catch_up)
    with running(follower):
        assert reads[0].wait(LONG)
        follower.ring()
        assert reads[1].wait(LONG)
    assert len(threads) == 2
    assert len(set(threads)) == 1
    assert get_ident() not in threads


def test_a_ring_during_a_read_is_not_lost() -> None:
    reads: list[Event] = [Event(), Event()]
    go_on = Event()

    def catch_up() -> None:
        (reads[1] if reads[0].is_set() else reads[0]).set()
        go_on.wait(LONG)

    follower = Follower("reader", catch_up)
    with running(follower):
        assert reads[0].wait(LONG)
        follower.ring()
        go_on.set()
        assert reads[1].wait(LONG)


def test_a_failed_follower_retries() -> None:
    failures = iter([ValueError("no")])
    read = Event()

    def catch_up() -> None:
        for failure in failures:
            raise failure
        read.set()

    follower = Follower("reader", catch_up)
    with running(follower):
        assert read.wait(LONG)


def test_a_stopped_follower_does_not_read() -> None:
    reads: list[None] = []
    follower = Follower("reader", lambda: reads.append(None))
    with running(follower):
        pass
    before = len(reads)
    follower.ring()
    assert len(reads) == before


def test_a_follower_can_be_stopped_without_being_started() -> None:
    Follower("reader", lambda: None).stop()


# --- timers ------------------------------------------------------------------


def until(is_so: Callable[[], bool], bell: Event) -> bool:
    """Wait until `is_so`, checked whenever `bell` rings."""
    while not is_so():
        bell.clear()
        if not (is_so() or bell.wait(LONG)):
            return False
    return True


def test_timers_start_maintenance_when_it_is_due(open_store: OpenStore) -> None:
    ticked = Event()
    engine = an_engine(open_store(), FastClock(36_000.0, NOON))  # an hour takes 0.1 s
    timers = Timers(engine, ticked.set)
    with running(timers):
        maintenance = announce(engine)
        timers.ring()

        def has_started() -> bool:
            return read_maintenance(engine, maintenance).phase is Phase.STARTED

        assert until(has_started, ticked)
    started_at = read_maintenance(engine, maintenance).started_at
    assert started_at is not None
    assert started_at >= maintenance.not_before


def test_timers_report_each_tick(open_store: OpenStore) -> None:
    ticked = Event()
    with running(Timers(an_engine(open_store(), FastClock(60.0, NOON)), ticked.set)):
        assert ticked.wait(LONG)


def test_timers_do_not_act_on_a_manual_clock(
    open_store: OpenStore,
) -> None:
    clock = ManualClock(NOON)
    engine = an_engine(open_store(), clock)
    maintenance = announce(engine)
    timers = Timers(engine, lambda: None)
    with running(timers):
        clock.move_to(NOON + HOUR)
        timers.ring()
    assert read_maintenance(engine, maintenance).phase is Phase.SCHEDULED


def test_timers_probe_a_store_that_failed(open_store: OpenStore) -> None:
    changed, clock = Event(), ManualClock(NOON)
    engine = an_engine(open_store(), clock)
    engine.health = HealthMonitor(clock, on_change=changed.set)
    engine.health.write_failed(Unavailable("the disk is full"))
    changed.clear()
    with running(Timers(engine, lambda: None)):
        assert changed.wait(LONG)
    assert not engine.health.is_failing()


def test_timers_can_be_stopped_without_being_started(open_store: OpenStore) -> None:
    Timers(an_engine(open_store(), ManualClock(NOON)), lambda: None).stop()
