"""Notification threads: no target delays another, or the shutdown."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Condition, Event, Thread

import pytest
from tests.end_to_end.program import until
from tests.engine.support.notified import (
    ManualStopwatch,
    RecordingNotifier,
    a_target,
    end_of,
    stored_setting,
)
from tests.engine.support.system import HOUR, MINUTE, System, a_reboot, an_emergency
from tests.patience import PATIENCE

from forewarn.core.lifecycle.model import Phase
from forewarn.engine.readers.notifications import (
    Delivery,
    DeliveryPace,
    Notifications,
    TargetState,
)
from forewarn.engine.write_queue import WriteRank
from forewarn.errors import Undelivered
from forewarn.notifiers.targets import Target
from forewarn.ports import Notice, Notifier

LONG = PATIENCE


class WaitableNotifier:
    """Notifier that records positions and can be waited for."""

    def __init__(self) -> None:
        self.positions: list[int] = []
        self._came = Condition()

    def notify(self, notice: Notice) -> None:
        with self._came:
            self.positions.append(notice.position)
            self._came.notify_all()

    def wait_for(self, position: int) -> None:
        with self._came:
            assert self._came.wait_for(lambda: position in self.positions, LONG)


class HangingNotifier:
    """Notifier that hangs until the test is over, or until `close` if `closes`."""

    def __init__(self, *, closes: bool = False) -> None:
        self.hangs = Event()
        self.ends = Event()
        if closes:
            self.close = self.ends.set

    def notify(self, notice: Notice) -> None:
        self.hangs.set()
        self.ends.wait(LONG)
        raise Undelivered("it was cut off")


class RefusingNotifier:
    """Notifier that refuses everything."""

    def __init__(self) -> None:
        self.refused = Event()

    def notify(self, notice: Notice) -> None:
        self.refused.set()
        raise Undelivered("no")


def make_notifications(
    system: System, *notifiers: Notifier, pace: DeliveryPace | None = None
) -> Notifications:
    deliveries = []
    for number, notifier in enumerate(notifiers):
        target = Target(
            name=f"target-{number}",
            kind="webhook",
            url="https://me:hush@ops.example/hush?token=hush",
            facts=a_target().facts,
        )
        queue = system.engine.write_queue
        delivery = Delivery(target, notifier, system.store, queue, system.clock, pace)
        delivery.open()
        deliveries.append(delivery)
    return Notifications(deliveries, system.store, system.clock)


@contextmanager
def running_notifications(
    system: System, *notifiers: Notifier
) -> Iterator[Notifications]:
    notifying = make_notifications(system, *notifiers)
    system.wakes.append(lambda position: notifying.ring())
    notifying.start()
    try:
        yield notifying
    finally:
        notifying.stop()


def test_a_hanging_target_delays_neither_others_nor_operators_nor_vms(
    system: System,
) -> None:
    listener, hanging, refusing = (
        WaitableNotifier(),
        HangingNotifier(),
        RefusingNotifier(),
    )
    with running_notifications(system, hanging, listener, refusing):
        maintenance = system.announce(a_reboot("web-0"))
        assert hanging.hangs.wait(LONG)
        assert refusing.refused.wait(LONG)
        system.engine.approve_as_vm("web-1", [maintenance.events[0].id])
        assert system.phase(maintenance.id) is Phase.STARTED
        listener.wait_for(end_of(system.store))
    hanging.ends.set()


def test_an_advance_does_not_wait_for_targets(system: System) -> None:
    hanging = HangingNotifier()
    with running_notifications(system, hanging):
        maintenance = system.announce(a_reboot("web-0"))
        assert hanging.hangs.wait(LONG)
        system.advance.by(HOUR)
        assert system.phase(maintenance.id) is Phase.COMPLETED
    hanging.ends.set()


@pytest.mark.parametrize("closes", [True, False])
def test_a_hanging_target_does_not_delay_the_shutdown(
    system: System, closes: bool
) -> None:
    hanging = [HangingNotifier(closes=closes) for _ in range(5)]
    with running_notifications(system, *hanging) as notifying:
        system.announce(a_reboot("web-0"))
        for target in hanging:
            assert target.hangs.wait(LONG)
        began = time.monotonic()
        notifying.stop()
        assert time.monotonic() - began < LONG / 2
    assert all(target.ends.is_set() == closes for target in hanging)
    for target in hanging:
        target.ends.set()


def test_a_target_waiting_to_retry_does_not_delay_the_shutdown(system: System) -> None:
    refusing = RefusingNotifier()
    with running_notifications(system, refusing) as notifying:
        system.announce(a_reboot("web-0"))
        assert refusing.refused.wait(LONG)
        began = time.monotonic()
        notifying.stop()
        assert time.monotonic() - began < LONG / 2


def test_a_stop_stores_the_position_of_each_target(system: System) -> None:
    listener, hanging, before = (
        WaitableNotifier(),
        HangingNotifier(),
        end_of(system.store),
    )
    with running_notifications(system, listener, hanging):
        system.announce(a_reboot("web-0"))
        listener.wait_for(end_of(system.store))
        assert hanging.hangs.wait(LONG)
    hanging.ends.set()
    assert stored_setting(system.store, "notify:target-0") == str(end_of(system.store))
    assert stored_setting(system.store, "notify:target-1") == str(before)


def test_position_is_saved_after_the_writers_ahead(system: System) -> None:
    queue = system.engine.write_queue
    _, delivery = by_hand(system, RecordingNotifier(), ManualStopwatch())
    system.announce(a_reboot("web-0"))
    before = stored_setting(system.store)
    with queue.turn(WriteRank.OPERATOR, "ops"):
        thread = Thread(target=delivery.catch_up, daemon=True)
        thread.start()
        until(lambda: queue.waiting == 1)
        assert stored_setting(system.store) == before
    thread.join(LONG)
    assert stored_setting(system.store) != before


def test_it_can_be_stopped_without_being_started(system: System) -> None:
    make_notifications(system, RecordingNotifier()).stop()


# --- status ------------------------------------------------------------------


def by_hand(
    system: System, notifier: Notifier, stopwatch: ManualStopwatch
) -> tuple[Notifications, Delivery]:
    queue, pace = system.engine.write_queue, stopwatch.pace()
    delivery = Delivery(a_target(), notifier, system.store, queue, system.clock, pace)
    delivery.open()
    return Notifications([delivery], system.store, system.clock), delivery


def test_a_target_that_is_up_to_date_is_idle(system: System) -> None:
    notifying, delivery = by_hand(system, RecordingNotifier(), ManualStopwatch())
    system.announce(a_reboot("web-0"))
    delivery.catch_up()
    (target,) = notifying.targets()
    assert (target.state, target.behind, target.lag_seconds) == (TargetState.IDLE, 0, 0)
    assert target.position == end_of(system.store)
    assert target.last_success == system.clock.now()
    assert (target.failures, target.next_attempt) == (0, None)


def test_a_target_that_failed_is_waiting(system: System) -> None:
    stopwatch = ManualStopwatch()
    notifying, delivery = by_hand(system, RecordingNotifier(failures=1), stopwatch)
    before = end_of(system.store)
    system.announce(a_reboot("web-0"))
    delivery.catch_up()
    system.clock.move_to(system.clock.now() + 10 * MINUTE)
    (target,) = notifying.targets()
    assert (target.state, target.failures) == (TargetState.WAITING, 1)
    assert (target.position, target.lag_seconds) == (before, 600)
    assert target.behind == end_of(system.store) - before
    assert target.last_error == "the line is dead"
    assert target.next_attempt is not None
    assert (target.next_attempt - system.clock.now()).total_seconds() == 1


def test_a_target_being_notified_is_delivering(system: System) -> None:
    hanging = HangingNotifier()
    with running_notifications(system, hanging) as notifying:
        system.announce(a_reboot("web-0"))
        assert hanging.hangs.wait(LONG)
        (target,) = notifying.targets()
        assert target.state is TargetState.DELIVERING
    hanging.ends.set()


def test_an_unread_selected_fact_counts_as_lag(system: System) -> None:
    notifying, _ = by_hand(system, RecordingNotifier(), ManualStopwatch())
    system.announce(a_reboot("web-0"))
    system.clock.move_to(system.clock.now() + MINUTE)
    (target,) = notifying.targets()
    assert (target.state, target.lag_seconds) == (TargetState.DELIVERING, 60)


def test_an_unselected_fact_counts_as_behind_but_not_as_lag(system: System) -> None:
    target = a_target(facts=frozenset({"Closed"}))
    queue = system.engine.write_queue
    delivery = Delivery(target, RecordingNotifier(), system.store, queue, system.clock)
    delivery.open()
    system.announce(an_emergency("web-0"))
    system.clock.move_to(system.clock.now() + MINUTE)
    (status,) = Notifications([delivery], system.store, system.clock).targets()
    assert status.behind > 0
    assert status.lag_seconds == 0


def test_the_url_is_shown_without_secrets(system: System) -> None:
    shown: Sequence[object] = make_notifications(system, RecordingNotifier()).targets()
    assert "hush" not in repr(shown)
    assert "https://ops.example" in repr(shown)
