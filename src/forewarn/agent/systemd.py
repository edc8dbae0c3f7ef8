"""systemd: notifications from the running agent and its service's unit file.

Without systemd, notifications are dropped. A failure to send raises no error.
"""

import math
import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from forewarn.errors import InvalidInput

#: The name of the service.
NAME = "forewarn-agent.service"

_STATUS_LIMIT = 1024  # characters of a status; shown on one line
_HEARTBEATS = 2  # within the time that systemd allows

# Reasons for these settings:
# - Restart=always: a VM without its agent misses every event.
# - KillMode=mixed: SIGTERM goes only to the agent, which stops its hooks in order.
#   Processes that remain after that are killed.
# - OOMPolicy=continue: a hook that needs too much memory fails; the agent stays.
# - Hooks are children of this service and run as root. The unit therefore forbids
#   nothing that a drain, a failover or a restart could need.
_UNIT = """\
# Created by `forewarn agent install`. To change it, run: systemctl edit {name}

[Unit]
Description=Handle Scheduled Events of this VM: run hooks and approve events
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
EnvironmentFile=-/etc/default/forewarn-agent
WatchdogSec=60
Restart=always
RestartSec=5
KillMode=mixed
TimeoutStopSec=30
OOMPolicy=continue
StateDirectory=forewarn-agent
StateDirectoryMode=0700
LockPersonality=yes
RestrictRealtime=yes

[Install]
WantedBy=multi-user.target
"""

#: Escapes for characters that systemd would interpret.
_PROGRAM_ESCAPES = {"%": "%%"}
_ARGUMENT_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\n": "\\n",
    "$": "$$",
    "%": "%%",
}
_NOT_IN_PROGRAM = "'\"\\"


class SystemdNotifier:
    """The connection to systemd, if it started the agent."""

    def __init__(
        self, environment: Mapping[str, str] | None = None, *, timeout: float = 1.0
    ) -> None:
        """Create a notifier for the socket whose address is in the `environment`.

        If the socket's queue is full, each notification waits at most `timeout`
        seconds.
        """
        variables = os.environ if environment is None else environment
        self._address = _address(variables.get("NOTIFY_SOCKET", ""))
        self._timeout = timeout
        self._alive_at = -math.inf  # on the monotonic clock
        #: Seconds between two heartbeats; None if the watchdog is off.
        self.interval = _interval(variables)

    def ready(self, status: str) -> bool:
        """Report that the agent has started; return whether the notification was sent.

        `systemctl status` shows `status`.
        """
        line = " ".join(status.split())[:_STATUS_LIMIT]
        return self._notify(f"READY=1\nSTATUS={line}")

    def alive(self) -> bool:
        """Send a heartbeat if the watchdog is on; extra calls are harmless.

        This does not wait, because a full queue already contains enough heartbeats.
        """
        now = time.monotonic()
        if self.interval is None or now - self._alive_at < self.interval / 2:
            return False
        self._alive_at = now
        return self._notify("WATCHDOG=1", timeout=0.0)

    def stopping(self) -> bool:
        """Report that the agent is stopping; return whether the report was sent."""
        return self._notify("STOPPING=1")

    def _notify(self, text: str, timeout: float | None = None) -> bool:
        """Send one notification; return whether it was accepted."""
        if self._address is None:
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
                connection.settimeout(self._timeout if timeout is None else timeout)
                connection.sendto(text.encode(errors="replace"), self._address)
        except (OSError, ValueError):
            return False
        return True


def unit_file(program: Sequence[str], config: Path) -> str:
    """Return the unit for an agent that runs `program` with the file `config`."""
    first, *rest = program
    if set(first) & {*_NOT_IN_PROGRAM}:
        raise InvalidInput(
            "systemd cannot run a program with a quote or backslash in its path:"
            f" {first}"
        )
    words = (*rest, "agent", "--config", str(config))
    command = [_quoted(first, _PROGRAM_ESCAPES)]
    command += [_quoted(word, _ARGUMENT_ESCAPES) for word in words]
    return _UNIT.format(name=NAME, command=" ".join(command))


def program(called: Path, python: str, *, is_archive: bool) -> tuple[str, ...]:
    """Return the command that runs the `called` program from any directory.

    An archive runs with the same `python`, because the one in systemd's path may be too
    old.
    """
    if called.name == "__main__.py":
        return (python, "-m", "forewarn")
    path = str(called.absolute())
    return (python, path) if is_archive else (path,)


def _address(text: str) -> str | None:
    """Return the socket's address: a path or an abstract name."""
    if text.startswith("@"):
        return "\0" + text[1:]
    return text if text.startswith("/") else None


def _interval(environment: Mapping[str, str]) -> float | None:
    """Return the seconds between heartbeats, or None if none are expected."""
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        allowed = int(environment.get("WATCHDOG_USEC", "0"))
    except ValueError:
        return None
    return allowed / 1_000_000 / _HEARTBEATS if allowed > 0 else None


def _quoted(word: str, escapes: Mapping[str, str]) -> str:
    plain = "".join(escapes.get(character, character) for character in word)
    is_bare = plain == word and not set(word) & set(" \t';")
    return word if is_bare else f'"{plain}"'
