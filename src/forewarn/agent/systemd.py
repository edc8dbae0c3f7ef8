"""What systemd is told, and how often it wants to hear that the agent lives.

Nothing here fails: without systemd nobody is told, and that is all.
"""

import math
import os
import socket
import time
from collections.abc import Mapping

_MOST = 1024  # characters of a status; it is shown in one line

_STEADY = 2  # how many signs of life fit into the time that systemd allows


class Systemd:
    """The one who started the agent, if it was systemd."""

    def __init__(
        self, environment: Mapping[str, str] | None = None, *, patience: float = 1.0
    ) -> None:
        """Learn from the `environment` where it listens.

        If its queue is full, it is waited for with `patience`, in seconds, and no more.
        """
        told = os.environ if environment is None else environment
        self._address = _address(told.get("NOTIFY_SOCKET", ""))
        self._patience = patience
        self._alive_at = -math.inf  # on the monotonic clock
        self.interval = _interval(told)

    #: Seconds between two signs of life; None: nobody waits for them.
    interval: float | None

    @property
    def is_there(self) -> bool:
        """Whether anybody listens."""
        return self._address is not None

    def ready(self, status: str = "") -> bool:
        """Say that the agent has begun its work."""
        return self._tell("READY=1", *_status(status))

    def status(self, status: str) -> bool:
        """Say in a sentence what it does, for `systemctl status`."""
        return self._tell(*_status(status))

    def alive(self) -> bool:
        """Give a sign of life, if anybody waits for it; it may be given too often.

        If the queue is full, there are enough of them in it.
        """
        now = time.monotonic()
        if self.interval is None or now - self._alive_at < self.interval / 2:
            return False
        self._alive_at = now
        return self._tell("WATCHDOG=1", patience=0.0)

    def stopping(self, status: str = "") -> bool:
        """Say that the agent is about to end."""
        return self._tell("STOPPING=1", *_status(status))

    def _tell(self, *lines: str, patience: float | None = None) -> bool:
        """Send one message; answer whether it was taken."""
        if self._address is None or not lines:
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
                wire.settimeout(self._patience if patience is None else patience)
                wire.sendto("\n".join(lines).encode(errors="replace"), self._address)
        except (OSError, ValueError):
            return False
        return True


def _address(text: str) -> str | None:
    """Find the socket: a path, or a name that is in no file system."""
    if text.startswith("@"):
        return "\0" + text[1:]
    return text if text.startswith("/") else None


def _interval(environment: Mapping[str, str]) -> float | None:
    """Reckon how often a sign of life is due; None if it is asked of somebody else."""
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        allowed = int(environment.get("WATCHDOG_USEC", "0"))
    except ValueError:
        return None
    return allowed / 1_000_000 / _STEADY if allowed > 0 else None


def _status(text: str) -> tuple[str, ...]:
    line = " ".join(text.split())[:_MOST]
    return (f"STATUS={line}",) if line else ()
