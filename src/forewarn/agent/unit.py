"""The agent as a service of systemd: its unit, as text."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from forewarn.errors import InvalidInput

#: What the service is called.
NAME = "forewarn-agent.service"

# Why it is as it is:
# - It is restarted for ever: a VM without its agent learns of nothing.
# - KillMode=mixed: TERM goes to the agent alone, which ends its hooks as they are to
#   be ended; what is left when it has gone is killed.
# - OOMPolicy=continue: a hook that wants too much memory fails; the agent stays.
# - Hooks are children of this service, and may do what root may. So nothing is
#   forbidden here that a drain, a failover or a restart could need.
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

#: What systemd would take for something else, in a program and in its arguments.
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
    """Write the unit of an agent that `program` runs as `config` says."""
    first, *rest = program
    if set(first) & {*_NEVER_IN_A_PROGRAM}:
        raise InvalidInput(f"systemd runs no program with quotes in its path: {first}")
    words = (*rest, "agent", "--config", str(config))
    command = [_quoted(first, _OF_A_PROGRAM)]
    command += [_quoted(each, _OF_AN_ARGUMENT) for each in words]
    return _UNIT.format(name=NAME, command=" ".join(command))


def program(called: Path, python: str, *, is_archive: bool) -> tuple[str, ...]:
    """Say how the program that was `called` is called from anywhere else.

    An archive is run by the same `python`: the one that systemd would find may be
    too old.
    """
    if called.name == "__main__.py":
        return (python, "-m", "forewarn")
    path = str(called.absolute())
    return (python, path) if is_archive else (path,)


def _quoted(word: str, meanings: Mapping[str, str]) -> str:
    plain = "".join(meanings.get(each, each) for each in word)
    is_bare = plain == word and not set(word) & set(" \t';")
    return word if is_bare else f'"{plain}"'
