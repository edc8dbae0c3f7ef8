"""How those who guess tokens are slowed down."""

import pytest

from forewarn.server.control.auth.credentials import TokenAttempts


class Watch:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_twenty_are_let_go_and_then_one_every_three_seconds() -> None:
    watch = Watch()
    attempts = TokenAttempts(watch)
    assert [attempts.add("a") for _ in range(20)] == [0.0] * 20
    assert attempts.add("a") == 3.0
    watch.now += 2
    assert attempts.add("a") == pytest.approx(1.0)
    watch.now += 1.001
    assert attempts.add("a") == 0.0
    assert attempts.add("a") == pytest.approx(3.0, abs=0.01)


def test_each_address_is_counted_for_itself() -> None:
    attempts = TokenAttempts(Watch())
    for _ in range(21):
        attempts.add("a")
    assert attempts.add("b") == 0.0


def test_who_waits_long_enough_begins_anew() -> None:
    watch = Watch()
    attempts = TokenAttempts(watch)
    for _ in range(30):
        attempts.add("a")
    watch.now += 60
    assert [attempts.add("a") for _ in range(20)] == [0.0] * 20


def test_only_so_many_addresses_are_remembered() -> None:
    attempts = TokenAttempts(Watch())
    for _ in range(21):
        attempts.add("first")
    for number in range(10_000):
        attempts.add(str(number))
    assert attempts.add("first") == 0.0
