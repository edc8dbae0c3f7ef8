"""Rate limit of attempts with invalid tokens."""

import pytest
from tests.server.metadata.test_rate_limit import ManualStopwatch

from forewarn.server.control.auth.credentials import TokenAttempts


def test_twenty_attempts_are_allowed_then_one_every_three_seconds() -> None:
    watch = ManualStopwatch()
    attempts = TokenAttempts(watch)
    assert [attempts.add("a") for _ in range(20)] == [0.0] * 20
    assert attempts.add("a") == 3.0
    watch.now += 2
    assert attempts.add("a") == pytest.approx(1.0)
    watch.now += 1.001
    assert attempts.add("a") == 0.0
    assert attempts.add("a") == pytest.approx(3.0, abs=0.01)


def test_attempts_are_counted_per_address() -> None:
    attempts = TokenAttempts(ManualStopwatch())
    for _ in range(21):
        attempts.add("a")
    assert attempts.add("b") == 0.0


def test_limit_resets_after_a_minute() -> None:
    watch = ManualStopwatch()
    attempts = TokenAttempts(watch)
    for _ in range(30):
        attempts.add("a")
    watch.now += 60
    assert [attempts.add("a") for _ in range(20)] == [0.0] * 20


def test_number_of_remembered_addresses_is_limited() -> None:
    attempts = TokenAttempts(ManualStopwatch())
    for _ in range(21):
        attempts.add("first")
    for number in range(10_000):
        attempts.add(str(number))
    assert attempts.add("first") == 0.0
