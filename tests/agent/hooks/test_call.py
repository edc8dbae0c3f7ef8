"""Cuts: cancellation that wakes waiting threads."""

import os
from select import select

from forewarn.agent.hooks.call import Cancellation


def is_awake(file: int) -> bool:
    return bool(select([file], [], [], 0)[0])


def test_a_cut_wakes_all_waiters() -> None:
    cut = Cancellation()
    with cut.wake_fd() as first, cut.wake_fd() as second:
        assert not is_awake(first)
        cut.cancel("the event is gone")
        assert is_awake(first)
        assert is_awake(second)


def test_a_finished_waiter_is_not_woken_and_leaves_no_open_file() -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    cut = Cancellation()
    with cut.wake_fd():
        pass
    cut.cancel("the event is gone")
    assert sorted(os.listdir("/proc/self/fd")) == before
