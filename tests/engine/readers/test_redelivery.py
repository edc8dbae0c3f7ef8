"""Notification retries: backoff, and when the position is stored."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from tests.engine.support.notified import (
    ManualStopwatch,
    RecordingNotifier,
    a_delivery,
    end_of,
    stored_setting,
)
from tests.engine.support.system import FailingStore, System, a_reboot

from forewarn.engine.readers.notifications import backoff
from forewarn.errors import Unavailable, Undelivered
from forewarn.ports import Bell, Notice, Transaction

# --- the backoff -------------------------------------------------------------


def test_the_pause_doubles_up_to_the_maximum() -> None:
    longest = [backoff(failures, 300, 1.0) for failures in range(1, 12)]
    assert longest == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_the_pause_varies_between_half_and_full() -> None:
    assert [backoff(failures, 300, 0.0) for failures in (1, 2, 9)] == [1, 2, 150]
    assert [backoff(failures, 300, 0.5) for failures in (1, 2, 9)] == [1.5, 3, 225]


def test_the_pause_after_many_failures_is_the_maximum() -> None:
    assert backoff(10**9, 86_400, 1.0) == 86_400


# --- failures ----------------------------------------------------------------


def test_a_refused_notice_is_repeated_and_nothing_before_it(
    system: System,
) -> None:
    notifier, stopwatch = RecordingNotifier(failures=2), ManualStopwatch()
    delivery = a_delivery(system.store, notifier, stopwatch)
    system.announce(a_reboot("web-0"))
    for _ in range(3):
        delivery.catch_up()
        stopwatch.now += 10
    assert [notice.position for notice in notifier.offered[:3]] == [
        notifier.positions[0]
    ] * 3
    assert [notice.attempt for notice in notifier.offered[:4]] == [1, 2, 3, 1]
    assert notifier.positions[-1] == end_of(system.store)


def test_a_ring_does_not_shorten_the_pause(system: System) -> None:
    notifier, stopwatch = RecordingNotifier(failures=1), ManualStopwatch()
    delivery = a_delivery(system.store, notifier, stopwatch)
    system.announce(a_reboot("web-0"))
    delivery.catch_up()
    stopwatch.now += 0.99
    system.announce(a_reboot("db-0"))
    delivery.catch_up()
    assert len(notifier.offered) == 1
    stopwatch.now += 0.02
    delivery.catch_up()
    assert notifier.positions[-1] == end_of(system.store)


def test_a_success_resets_the_failures(system: System) -> None:
    notifier, stopwatch = RecordingNotifier(failures=5), ManualStopwatch()
    delivery = a_delivery(system.store, notifier, stopwatch)
    system.announce(a_reboot("web-0"))
    for _ in range(6):
        delivery.catch_up()
        stopwatch.now += 300
    assert delivery.progress.failures == 0
    notifier.failures = 1
    system.announce(a_reboot("db-0"))
    delivery.catch_up()
    assert delivery.progress.due_at == stopwatch.now + 1


def test_a_target_that_refuses_for_days_loses_nothing(system: System) -> None:
    notifier, stopwatch, before = (
        RecordingNotifier(failures=1000),
        ManualStopwatch(),
        end_of(system.store),
    )
    delivery = a_delivery(system.store, notifier, stopwatch)
    for number in range(1001):
        if number % 100 == 0:
            system.announce(a_reboot("web-0", minutes=60 + number))
        delivery.catch_up()
        due_at = delivery.progress.due_at
        stopwatch.now = stopwatch.now if due_at is None else due_at
    assert notifier.positions == [*range(before + 1, end_of(system.store) + 1)]
    assert len(notifier.offered) == 1000 + len(notifier.delivered)
    assert stopwatch.now - 1000 > 86_400


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Undelivered("it responded with 500"), "it responded with 500"),
        (ValueError("a\nbug\x1b"), "ValueError: a bug "),
        (ValueError("x" * 9999), "ValueError: " + "x" * 388),
    ],
)
def test_the_last_error_is_kept(
    system: System,
    error: Exception,
    words: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    class FailingNotifier:
        def notify(self, notice: Notice) -> None:
            raise error

    delivery = a_delivery(system.store, FailingNotifier())
    system.announce(a_reboot("web-0"))
    delivery.catch_up()
    assert delivery.progress.last_error == words
    assert "delivery to ops failed" in caplog.text


def test_a_failure_and_its_end_are_logged_once(
    system: System, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    notifier, stopwatch = RecordingNotifier(failures=50), ManualStopwatch()
    delivery = a_delivery(system.store, notifier, stopwatch)
    system.announce(a_reboot("web-0"))
    for _ in range(51):
        delivery.catch_up()
        stopwatch.now += 300
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "delivery to ops failed: the line is dead; retrying",
        "delivery to ops recovered after 50 failures",
    ]


# --- storing the position ----------------------------------------------------


class CountingStore(FailingStore):
    """Store that counts its transactions."""

    written = 0

    def transaction(self) -> AbstractContextManager[Transaction]:
        self.written += 1
        return super().transaction()


def test_the_position_is_written_at_most_once_a_second(system: System) -> None:
    store, stopwatch = CountingStore(system.store), ManualStopwatch()
    delivery = a_delivery(store, RecordingNotifier(), stopwatch)
    before = store.written
    for _ in range(50):
        system.announce(a_reboot("web-0", minutes=60))
        delivery.catch_up()
        stopwatch.now += 0.1
    assert 4 <= store.written - before <= 6


def test_the_last_position_is_written_when_idle(system: System) -> None:
    stopwatch = ManualStopwatch()
    delivery = a_delivery(system.store, RecordingNotifier(), stopwatch)
    for _ in range(2):
        system.announce(a_reboot("web-0", minutes=60))
        delivery.catch_up()
    assert stored_setting(system.store) != str(end_of(system.store))
    stopwatch.now += 1
    delivery.catch_up()
    assert stored_setting(system.store) == str(end_of(system.store))


def test_it_waits_no_longer_than_until_the_next_attempt(system: System) -> None:
    delivery = a_delivery(system.store, RecordingNotifier(failures=1))
    waited: list[float] = []

    class WatchedBell(Bell):
        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout or 0.0)
            return True

    delivery.wait(WatchedBell())
    system.announce(a_reboot("web-0"))
    delivery.catch_up()
    delivery.wait(WatchedBell())
    assert waited == [60, 1]


def test_delivery_continues_while_the_store_cannot_be_written(
    system: System,
) -> None:
    store, notifier, stopwatch = (
        FailingStore(system.store),
        RecordingNotifier(),
        ManualStopwatch(),
    )
    delivery = a_delivery(store, notifier, stopwatch)
    system.announce(a_reboot("web-0"))
    store.failures = [Unavailable("the disk is full")]
    delivery.catch_up()
    assert notifier.positions[-1] == end_of(system.store)
    assert stored_setting(system.store) != str(end_of(system.store))
    stopwatch.now += 1
    delivery.catch_up()
    assert stored_setting(system.store) == str(end_of(system.store))


def test_after_a_crash_the_last_notices_are_repeated_and_none_is_skipped(
    system: System,
) -> None:
    notifier, before = RecordingNotifier(), end_of(system.store)
    delivery = a_delivery(system.store, notifier)
    for _ in range(3):
        system.announce(a_reboot("web-0", minutes=60))
        delivery.catch_up()
    a_delivery(system.store, notifier).catch_up()
    assert sorted({*notifier.positions}) == [
        *range(before + 1, end_of(system.store) + 1)
    ]


# --- stopping ----------------------------------------------------------------


def test_nothing_is_delivered_after_leave(system: System) -> None:
    notifier = RecordingNotifier()
    delivery = a_delivery(system.store, notifier)
    delivery.leave()
    system.announce(a_reboot("web-0"))
    delivery.catch_up()
    assert notifier.offered == []


def test_an_error_while_leaving_is_not_a_failure(system: System) -> None:
    leave: list[Callable[[], None]] = []

    class LeavingNotifier:
        def notify(self, notice: Notice) -> None:
            leave[0]()
            raise Undelivered("cut off")

    delivery = a_delivery(system.store, LeavingNotifier())
    leave.append(delivery.leave)
    system.announce(a_reboot("web-0"))
    delivery.catch_up()
    assert (delivery.progress.failures, delivery.progress.last_error) == (0, None)
