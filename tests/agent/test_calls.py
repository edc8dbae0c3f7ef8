"""A word that wakes those who wait for it."""

import os
from select import select

from forewarn.agent.calls import Cut


def is_awake(file: int) -> bool:
    return bool(select([file], [], [], 0)[0])


def test_a_cut_wakes_all_who_wait() -> None:
    cut = Cut()
    with cut.waking() as one, cut.waking() as other:
        assert not is_awake(one)
        cut.cut("the event is gone")
        assert is_awake(one)
        assert is_awake(other)


def test_who_waits_no_more_is_not_woken_and_leaves_no_file() -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    cut = Cut()
    with cut.waking():
        pass
    cut.cut("the event is gone")
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_the_first_reason_counts() -> None:
    cut = Cut()
    assert cut.reason is None
    cut.cut("the event is gone")
    cut.cut("the agent stops")
    assert cut.reason == "the event is gone"
