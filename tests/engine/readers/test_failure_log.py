"""Log throttling: a lasting failure is logged once, not once a second."""

import logging
from dataclasses import dataclass

import pytest

from forewarn.engine.readers.follower import FailureLog
from forewarn.errors import Unavailable

FULL = Unavailable("the disk is full")
BROKEN = Unavailable("the disk is broken")
LONG = 60.0  # seconds


@dataclass(slots=True)
class ManualStopwatch:
    """A stopwatch that the test moves."""

    seconds: float = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture(autouse=True)
def all_log_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


@pytest.fixture
def stopwatch() -> ManualStopwatch:
    return ManualStopwatch()


@pytest.fixture
def failures(stopwatch: ManualStopwatch) -> FailureLog:
    return FailureLog("timers", monotonic=stopwatch)


def test_a_repeated_failure_is_logged_once(
    failures: FailureLog, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(100):
        failures.failed(FULL)
    assert caplog.messages == ["timers failed: the disk is full; retrying"]


def test_a_failure_of_the_store_that_is_known_is_not_logged_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = FailureLog("timers", is_known=lambda: True)
    failures.failed(FULL)
    assert caplog.messages == []
    failures.failed(ValueError("a bug"))
    assert len(caplog.messages) == 1


def test_alternating_failures_are_logged_once_each(
    failures: FailureLog, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(100):
        failures.failed(FULL)
        failures.failed(BROKEN)
    assert len(caplog.messages) == 2


def test_the_end_of_a_failure_is_logged_once(
    failures: FailureLog, stopwatch: ManualStopwatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures.succeeded()
    failures.failed(FULL)
    stopwatch.seconds += LONG
    failures.succeeded()
    failures.succeeded()
    assert caplog.messages[1:] == ["timers recovered"]


def test_an_intermittent_failure_is_logged_once(
    failures: FailureLog, stopwatch: ManualStopwatch, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(100):
        failures.failed(FULL)
        stopwatch.seconds += 1
        failures.succeeded()
    assert len(caplog.messages) == 1


def test_a_failure_that_returns_is_logged_again(
    failures: FailureLog, stopwatch: ManualStopwatch, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        failures.failed(FULL)
        stopwatch.seconds += LONG
        failures.succeeded()
    assert len(caplog.messages) == 4


def test_an_unexpected_failure_is_logged_with_its_traceback(
    failures: FailureLog, caplog: pytest.LogCaptureFixture
) -> None:
    failures.failed(LookupError("no counter"))
    assert "LookupError: no counter" in caplog.text
