"""Threads of planes: a failed start is raised, an early end is noticed."""

from collections.abc import Callable
from threading import Event

import pytest
from tests.patience import PATIENCE

from forewarn.server.plane_thread import PlaneThread


def is_alive(thread: PlaneThread) -> bool:
    return thread.health.is_alive


def test_failed_start_is_raised_where_it_is_awaited() -> None:
    def run(be_ready: Callable[[], None]) -> None:
        raise OSError(24, "Too many open files")

    with pytest.raises(OSError, match="Too many open files"):
        PlaneThread("metadata", run).start()


def test_thread_that_ends_early_is_logged_and_not_alive(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fail, ended = Event(), Event()

    def run(be_ready: Callable[[], None]) -> None:
        be_ready()
        assert fail.wait(PATIENCE)
        raise LookupError("no loop")

    thread = PlaneThread("metadata", run)
    thread.start()
    assert is_alive(thread)
    fail.set()
    while is_alive(thread):
        ended.wait(0.001)
    assert "thread metadata failed" in caplog.text
    assert "LookupError: no loop" in caplog.text


def test_stopped_thread_counts_as_alive() -> None:
    leave = Event()

    def run(be_ready: Callable[[], None]) -> None:
        be_ready()
        assert leave.wait(PATIENCE)

    thread = PlaneThread("metadata", run)
    thread.start()
    thread.stop(leave.set)
    assert thread.health.is_alive
