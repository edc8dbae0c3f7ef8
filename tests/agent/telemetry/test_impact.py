"""Impact measurement: freezes, downtime and clock jumps of a VM."""

import os
import threading
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from tests.agent.support.stored_states import NOON
from tests.patience import PATIENCE

from forewarn.agent.events.state import Impact
from forewarn.agent.telemetry.impact import (
    EVERY,
    AliveFile,
    ClockJumpDetector,
    ClockReading,
    FreezeDetector,
    boot_id,
    gap,
    standstill,
)
from forewarn.client.service_clock import ClockEstimate


def test_a_boot_is_identified_by_its_id(tmp_path: Path) -> None:
    (tmp_path / "id").write_text("3d0a-77\n")
    assert boot_id(tmp_path / "id") == "3d0a-77"
    assert boot_id(tmp_path / "none") == ""
    assert boot_id() == boot_id() != ""


# --- delayed ticks -----------------------------------------------------------


@pytest.mark.parametrize(
    ("ran", "passed", "missed"),
    [
        (0.25, 0.25, 0.0),
        (0.75, 0.75, 0.0),  # half a second late: a busy machine
        (0.76, 0.76, 0.51),
        (9.25, 9.25, 9.0),
        (0.25, 9.25, 9.0),  # suspended
        (0.00, 0.00, 0.0),
    ],
)
def test_a_late_tick_measures_how_long_nothing_ran(
    ran: float, passed: float, missed: float
) -> None:
    before = ClockReading(monotonic=100.0, boottime=500.0)
    after = ClockReading(monotonic=100.0 + ran, boottime=500.0 + passed)
    assert gap(before, after) == pytest.approx(missed)


class DetectorEnvironment:
    """Clocks for a freeze detector, and a turn for each of its ticks."""

    def __init__(self, path: Path) -> None:
        self.now = 1000.0
        self.alive = AliveFile(path)
        self.freeze_detector = FreezeDetector(self.alive, self.look, self.wait)
        self._turn, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self.waits = 0

    def look(self) -> ClockReading:
        return ClockReading(monotonic=self.now, boottime=self.now)

    def wait(self, resting: threading.Event, seconds: float) -> bool:
        assert seconds == EVERY
        self.waits += 1
        self._done.release()
        assert self._turn.acquire(timeout=PATIENCE)
        return resting.is_set()

    def watch(self) -> None:
        self.freeze_detector.start()
        assert self._done.acquire(timeout=PATIENCE)

    def tick(self, after: float = EVERY) -> None:
        self.now += after
        self._turn.release()
        assert self._done.acquire(timeout=PATIENCE)

    def rest(self) -> None:
        self._turn.release()
        self.freeze_detector.stop()


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[DetectorEnvironment]:
    environment = DetectorEnvironment(tmp_path / "alive")
    yield environment
    environment.rest()


def test_ticks_in_time_measure_nothing(environment: DetectorEnvironment) -> None:
    environment.watch()
    for _ in range(8):
        environment.tick()
    assert environment.freeze_detector.take() == Impact()


def test_interruptions_are_added_up(environment: DetectorEnvironment) -> None:
    environment.watch()
    environment.tick(after=2.25)
    environment.tick()
    environment.tick(after=5.25)
    assert environment.freeze_detector.take() == Impact(seconds=5.0, total=7.0)


def test_a_reported_impact_is_not_reported_again(
    environment: DetectorEnvironment,
) -> None:
    environment.watch()
    environment.tick(after=2.25)
    environment.freeze_detector.take()
    environment.tick()
    assert environment.freeze_detector.take() == Impact()


def test_a_freeze_is_reported_even_before_the_next_tick(
    environment: DetectorEnvironment,
) -> None:
    environment.watch()
    environment.now += 3.25
    assert environment.freeze_detector.take() == Impact(seconds=3.0, total=3.0)
    environment.tick()
    assert environment.freeze_detector.take() == Impact()


def test_nothing_ticks_without_a_watcher(environment: DetectorEnvironment) -> None:
    threads = threading.active_count()
    assert environment.freeze_detector.take() == Impact()
    environment.watch()
    environment.rest()
    environment.now += 100
    assert environment.freeze_detector.take() == Impact()
    assert environment.waits == 1
    assert threading.active_count() == threads


def test_watching_twice_has_no_effect(environment: DetectorEnvironment) -> None:
    environment.watch()
    environment.tick(after=2.25)
    environment.freeze_detector.start()
    assert environment.freeze_detector.take().total == 2.0


def test_time_between_rest_and_watch_does_not_count(
    environment: DetectorEnvironment,
) -> None:
    environment.watch()
    environment.rest()
    environment.now += 100
    environment.watch()
    environment.tick()
    assert environment.freeze_detector.take() == Impact()


@pytest.mark.usefixtures("no_threads")
def test_without_a_thread_nothing_is_measured_and_nothing_breaks(
    tmp_path: Path,
) -> None:
    hours = count(step=3600.0)
    freeze_detector = FreezeDetector(
        AliveFile(tmp_path / "alive"),
        lambda: ClockReading(monotonic=next(hours), boottime=0.0),
    )
    freeze_detector.start()
    assert freeze_detector.take() == Impact()
    freeze_detector.stop()


# --- clock jumps -------------------------------------------------------------


def ahead_of(*heard: tuple[float, float], rate: float = 1.0) -> list[float]:
    """Return the impact after each date received, in seconds after noon."""
    ahead = ClockJumpDetector()
    return [
        ahead.add(
            ClockEstimate(date=NOON + timedelta(seconds=date), at=at, rate=rate),
            Impact(),
        ).total
        for date, at in heard
    ]


def test_a_service_that_keeps_pace_indicates_no_impact() -> None:
    dates = [(float(int(n * 1.3)), n * 1.3) for n in range(60)]
    assert set(ahead_of(*dates)) == {0.0}


def test_a_jump_ahead_shows_how_long_the_vm_stood_still() -> None:
    impacts = ahead_of((0, 0.1), (1, 1.1), (2, 2.1), (12, 3.1), (13, 4.1))
    assert impacts == [0, 0, 0, pytest.approx(9.0), 0]


def test_a_late_response_is_not_an_impact() -> None:
    assert set(ahead_of((0, 0), (1, 1), (2, 9), (10, 10), (11, 11))) == {0.0}


def test_a_late_first_response_is_not_an_impact() -> None:
    assert set(ahead_of((0, 30), (31, 31), (32, 32))) == {0.0}


def test_a_fast_clock_is_measured_in_real_seconds() -> None:
    impacts = ahead_of((0, 0), (60, 1), (120, 2), (480, 3), rate=60)
    assert impacts == [0, 0, 0, pytest.approx(5.0)]


def test_a_manual_clock_indicates_no_impact() -> None:
    assert set(ahead_of((0, 0), (0, 1), (900, 2), (900, 3), rate=0)) == {0.0}


def test_a_measured_impact_is_not_counted_twice() -> None:
    ahead, impact = ClockJumpDetector(), standstill(9.0)
    for n in range(3):
        ahead.add(ClockEstimate(date=NOON + timedelta(seconds=n), at=n), Impact())
    later = ClockEstimate(date=NOON + timedelta(seconds=12), at=3)
    assert ahead.add(later, impact) == impact


# --- downtime before a restart -----------------------------------------------


def test_the_time_since_the_last_sign_of_life_is_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "alive"
    alive = AliveFile(path)
    alive.touch()
    date = path.stat().st_mtime - 90
    os.utime(path, (date, date))
    assert 90 <= alive.seconds_since() < 90 + PATIENCE
    assert alive.seconds_since() < PATIENCE


def test_without_a_sign_of_life_no_downtime_is_reported(tmp_path: Path) -> None:
    assert AliveFile(tmp_path / "alive").seconds_since() == 0
    assert AliveFile(tmp_path / "no" / "folder").seconds_since() == 0


def test_a_clock_set_back_is_not_downtime(tmp_path: Path) -> None:
    path = tmp_path / "alive"
    path.touch()
    date = path.stat().st_mtime + 3600
    os.utime(path, (date, date))
    assert AliveFile(path).seconds_since() == 0


def test_a_watched_pulse_gives_a_sign_of_life_once_a_second(
    environment: DetectorEnvironment, tmp_path: Path
) -> None:
    path = tmp_path / "alive"
    environment.watch()
    dates = []
    for _ in range(12):
        os.utime(path, (0, 0))
        environment.tick()
        dates.append(path.stat().st_mtime > 0)
    assert dates == [False, False, False, True] * 3
