"""Signals stop the agent, whatever its main thread is doing at that moment."""

import signal
import threading
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
from tests.patience import PATIENCE

from forewarn.agent.agent import Stop
from forewarn.agent.main import _signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_does_not_wake_the_main_thread_stops_the_agent(
    number: signal.Signals,
) -> None:
    """Signal another thread, which is like a signal just before the main one waits."""
    agent: Any = SimpleNamespace(inbox=SimpleQueue())
    is_over = threading.Event()

    def signal_itself() -> None:
        is_over.wait(0.2)  # the main thread usually waits by then
        signal.pthread_kill(threading.get_ident(), number)
        is_over.wait(PATIENCE)

    other = threading.Thread(target=signal_itself)
    before = signal.getsignal(number)
    with _signals(agent):
        other.start()
        assert agent.inbox.get(timeout=PATIENCE / 2) == Stop()
        is_over.set()
        other.join()
    assert signal.getsignal(number) is before
    assert signal.set_wakeup_fd(-1) == -1
