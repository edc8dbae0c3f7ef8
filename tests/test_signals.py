"""Stop signals, even if the program hangs before it waits for one."""

import signal
import subprocess
import sys

from tests.patience import PATIENCE

HANGS = """
import signal, threading
from forewarn import signals
signals._START_LIMIT = 1  # seconds
with signals.stop_on_signals() as stop:
    print("hangs", flush=True)
    threading.Event().wait()
"""
WAITS = """
from forewarn import signals
signals._START_LIMIT = 1  # seconds
with signals.stop_on_signals() as stop:
    print("waits", flush=True)
    while not stop.wait(0.01):
        pass
    stop.wait()
print("ended")
"""

HAS_A_TIMER = """
import signal
from forewarn import signals
signal.alarm(1000)
with signals.stop_on_signals() as stop:
    stop.wait(0)
print(signal.alarm(0) > 0)
"""


def signaled(program: str) -> tuple[int, str]:
    """Run `program`, send SIGTERM after its first line, and return how it ends."""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, rest


def test_signal_ends_a_program_that_hangs_before_it_waits() -> None:
    assert signaled(HANGS) == (-signal.SIGALRM, "")


def test_signal_ends_a_waiting_program_cleanly() -> None:
    assert signaled(WAITS) == (0, "ended\n")


def test_timer_of_the_program_continues() -> None:
    command = [sys.executable, "-c", HAS_A_TIMER]
    assert subprocess.check_output(command, timeout=PATIENCE) == b"True\n"
