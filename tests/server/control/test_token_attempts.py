"""Rate limit of attempts with invalid tokens."""

import pytest
from tests.server.metadata.test_rate_limit import ManualStopwatch

from forewarn.server.control.auth.credentials import token_attempts


def test_twenty_attempts_are_allowed_then_one_every_three_seconds() -> None:
    watch = ManualStopwatch()
    attempts = token_attempts(watch)
    assert [attempts.wait("a") for _ in range(20)] == [0.0] * 20
    assert attempts.wait("a") == 3.0
    watch.now += 2
    assert attempts.wait("a") == pytest.approx(1.0)
    watch.now += 1.001
    assert attempts.wait("a") == 0.0
    assert attempts.wait("a") == pytest.approx(3.0, abs=0.01)


def test_attempts_are_counted_per_address() -> None:
    attempts = token_attempts(ManualStopwatch())
    for _ in range(21):
        attempts.wait("a")
    assert attempts.wait("b") == 0.0


def test_limit_resets_after_a_minute() -> None:
    watch = ManualStopwatch()
    attempts = token_attempts(watch)
    for _ in range(30):
        attempts.wait("a")
    watch.now += 60
    assert [attempts.wait("a") for _ in range(20)] == [0.0] * 20


def test_number_of_remembered_addresses_is_limited() -> None:
    attempts = token_attempts(ManualStopwatch())
    for _ in range(21):
        attempts.wait("first")
    for number in range(10_000):
        attempts.wait(str(number))
    assert attempts.wait("first") == 0.0
