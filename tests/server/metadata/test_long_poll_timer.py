"""Until when requests are held: one alarm for all of them."""

from tests.server.support.connections import Loop

from forewarn.server.metadata.waits import LongPollTimer


class Guest:
    """Somebody who waits."""

    def __init__(self) -> None:
        self.times_stopped = 0

    def stop_waiting(self) -> None:
        self.times_stopped += 1


def test_everybody_waits_as_long_as_he_would() -> None:
    loop = Loop()
    timer = LongPollTimer(loop)
    guests = {seconds: Guest() for seconds in (7, 3, 60, 1, 30)}
    for seconds, guest in guests.items():
        timer.hold(guest, seconds)
    for second in range(1, 61):
        loop.wait(1)
        for seconds, guest in guests.items():
            assert guest.times_stopped == (seconds <= second)


def test_a_wait_is_not_cut_to_whole_seconds() -> None:
    loop, guest = Loop(), Guest()
    timer = LongPollTimer(loop)
    loop.wait(0.6)
    timer.hold(guest, 1)
    loop.wait(0.9)
    assert guest.times_stopped == 0
    loop.wait(0.1)
    assert guest.times_stopped == 1


def test_whoever_has_left_is_not_called() -> None:
    loop, guest, other = Loop(), Guest(), Guest()
    timer = LongPollTimer(loop)
    for each in (guest, other):
        timer.hold(each, 5)
    timer.forget(guest, 5)
    loop.wait(5)
    assert (guest.times_stopped, other.times_stopped) == (0, 1)


def test_whoever_leaves_twice_has_left() -> None:
    loop, guest = Loop(), Guest()
    timer = LongPollTimer(loop)
    timer.hold(guest, 5)
    timer.forget(guest, 5)
    timer.forget(guest, 5)
    loop.wait(5)
    assert guest.times_stopped == 0


def test_whoever_comes_again_waits_anew() -> None:
    loop, guest = Loop(), Guest()
    timer = LongPollTimer(loop)
    timer.hold(guest, 5)
    loop.wait(3)
    timer.forget(guest, 5)
    timer.hold(guest, 5)
    loop.wait(4)
    assert guest.times_stopped == 0
    loop.wait(1)
    assert guest.times_stopped == 1


def test_nobody_is_called_twice_though_he_does_nothing_about_it() -> None:
    loop, guest = Loop(), Guest()
    LongPollTimer(loop).hold(guest, 1)
    loop.wait(100)
    assert guest.times_stopped == 1
    assert loop.alarms == []


def test_there_is_one_alarm_however_many_wait() -> None:
    loop = Loop()
    timer = LongPollTimer(loop)
    for seconds in (60, 30, 45, 30, 1):
        timer.hold(Guest(), seconds)
    assert loop.alarms == [1]
    loop.wait(1)
    assert loop.alarms == [29]


def test_many_who_are_done_with_at_once_are_called_some_at_a_time() -> None:
    loop = Loop()
    timer = LongPollTimer(loop)
    guests = [Guest() for _ in range(1200)]
    for guest in guests:
        timer.hold(guest, 1)
    loop.now += 1
    turns = []
    while loop.alarms:
        before = sum(each.times_stopped for each in guests)
        loop.step()
        turns.append(sum(each.times_stopped for each in guests) - before)
    assert turns == [500, 500, 200]
