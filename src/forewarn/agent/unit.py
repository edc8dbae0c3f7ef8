"""Systemd unit of the agent, as text."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from forewarn.errors import InvalidInput

#: Name of the service.
NAME = "forewarn-agent.service"

# Reasons for these settings:
# - It is always restarted: a VM without its agent misses every event.
# - KillMode=mixed: TERM goes only to the agent, which ends its hooks in order. What is
#   left after that is killed.
# - OOMPolicy=continue: a hook that needs too much memory fails; the agent stays.
# - Hooks are children of this service and run as root. So nothing is forbidden here
#   that a drain, a failover or a restart could need.
_UNIT = """\
# Made by `forewarn agent install`. To change something: systemctl edit {name}

[Unit]
Description=Prepares this VM for what is announced to it, and approves
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
_OF_A_PROGRAM = {"%": "%%"}
_OF_AN_ARGUMENT = {
    "\\": "\\\\",
    '"': '\\"',
    "\n": "\\n",
    "$": "$$",
    "%": "%%",
}
_NEVER_IN_A_PROGRAM = "'\"\\"


def unit(program: Sequence[str], config: Path) -> str:
    """Return the unit of an agent that runs `program` with the file `config`."""
    first, *rest = program
    if set(first) & {*_NEVER_IN_A_PROGRAM}:
        raise InvalidInput(f"systemd runs no program with quotes in its path: {first}")
    words = (*rest, "agent", "--config", str(config))
    command = [_quoted(first, _OF_A_PROGRAM)]
    command += [_quoted(word, _OF_AN_ARGUMENT) for word in words]
    return _UNIT.format(name=NAME, command=" ".join(command))


def program(called: Path, python: str, *, is_archive: bool) -> tuple[str, ...]:
    """Return the command that runs the `called` program from anywhere.

    An archive runs with the same `python`: the one in systemd's path may be too old.
    """
    if called.name == "__main__.py":
        return (python, "-m", "forewarn")
    path = str(called.absolute())
    return (python, path) if is_archive else (path,)


def _quoted(word: str, meanings: Mapping[str, str]) -> str:
    plain = "".join(meanings.get(character, character) for character in word)
    is_bare = plain == word and not set(word) & set(" \t';")
    return word if is_bare else f'"{plain}"'
