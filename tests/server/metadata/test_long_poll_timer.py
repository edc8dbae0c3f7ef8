"""Long-poll timer: one event-loop timer for all waiters."""

from tests.server.support.connections import ManualLoop

from forewarn.server.metadata.waits import LongPollTimer


class CountingWaiter:
    """A waiter that counts its timeouts."""

    def __init__(self) -> None:
        self.times_stopped = 0

    def wake(self) -> None:
        raise AssertionError

    def stop_waiting(self) -> None:
        self.times_stopped += 1


def test_every_waiter_waits_for_its_own_time() -> None:
    loop = ManualLoop()
    timer = LongPollTimer(loop)
    guests = {seconds: CountingWaiter() for seconds in (7, 3, 60, 1, 30)}
    for seconds, guest in guests.items():
        timer.hold(guest, seconds)
    for second in range(1, 61):
        loop.wait(1)
        for seconds, guest in guests.items():
            assert guest.times_stopped == (seconds <= second)


def test_wait_is_not_rounded_to_whole_seconds() -> None:
    loop, guest = ManualLoop(), CountingWaiter()
    timer = LongPollTimer(loop)
    loop.wait(0.6)
    timer.hold(guest, 1)
    loop.wait(0.9)
    assert guest.times_stopped == 0
    loop.wait(0.1)
    assert guest.times_stopped == 1


def test_waiter_that_left_is_not_called() -> None:
    loop, guest, other = ManualLoop(), CountingWaiter(), CountingWaiter()
    timer = LongPollTimer(loop)
    for waiter in (guest, other):
        timer.hold(waiter, 5)
    timer.forget(guest, 5)
    loop.wait(5)
    assert (guest.times_stopped, other.times_stopped) == (0, 1)


def test_leaving_twice_is_harmless() -> None:
    loop, guest = ManualLoop(), CountingWaiter()
    timer = LongPollTimer(loop)
    timer.hold(guest, 5)
    timer.forget(guest, 5)
    timer.forget(guest, 5)
    loop.wait(5)
    assert guest.times_stopped == 0


def test_returning_waiter_waits_its_full_time() -> None:
    loop, guest = ManualLoop(), CountingWaiter()
    timer = LongPollTimer(loop)
    timer.hold(guest, 5)
    loop.wait(3)
    timer.forget(guest, 5)
    timer.hold(guest, 5)
    loop.wait(4)
    assert guest.times_stopped == 0
    loop.wait(1)
    assert guest.times_stopped == 1


def test_waiter_is_called_only_once() -> None:
    loop, guest = ManualLoop(), CountingWaiter()
    LongPollTimer(loop).hold(guest, 1)
    loop.wait(100)
    assert guest.times_stopped == 1
    assert loop.alarms == []


def test_one_timer_serves_all_waiters() -> None:
    loop = ManualLoop()
    timer = LongPollTimer(loop)
    for seconds in (60, 30, 45, 30, 1):
        timer.hold(CountingWaiter(), seconds)
    assert loop.alarms == [1]
    loop.wait(1)
    assert loop.alarms == [29]


def test_many_simultaneous_timeouts_are_handled_in_batches() -> None:
    loop = ManualLoop()
    timer = LongPollTimer(loop)
    guests = [CountingWaiter() for _ in range(1200)]
    for guest in guests:
        timer.hold(guest, 1)
    loop.now += 1
    turns = []
    while loop.alarms:
        before = sum(waiter.times_stopped for waiter in guests)
        loop.step()
        turns.append(sum(waiter.times_stopped for waiter in guests) - before)
    assert turns == [500, 500, 200]
