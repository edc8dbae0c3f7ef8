"""Driver registry: the built-in drivers, installed plug-ins, and the chosen driver.

`nothing` and `operator` are defined here; `script` has its own module.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import split

from forewarn.configfile.values import invalid_value
from forewarn.errors import CannotStart, InvalidInput
from forewarn.plugins import PluginKind
from forewarn.ports import Driver, Report, Work

#: Drivers that finish immediately and are called one after another.
IN_PLACE = frozenset({"nothing", "operator"})


class NothingDriver:
    """Does nothing, for rehearsals and for fleets managed elsewhere."""

    def carry_out(self, work: Work) -> Sequence[Report]:
        """Report all VMs as done."""
        return [Report(vm=vm.name) for vm in work.vms]


class OperatorDriver:
    """Leaves the work open until someone runs `complete`."""

    def carry_out(self, work: Work) -> Sequence[Report]:
        """Report nothing, because a person does the work."""
        del work
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverChoice:
    """The configured driver and its settings."""

    name: str
    command: Sequence[str] = ()
    timeout: float = 3600.0  # seconds; 0 for none
    grace: float = 5.0  # seconds
    lock_file: Path | None = None  # for scripts; None if the store is in memory
    options: Mapping[str, object] = field(default_factory=dict, repr=False)


# --- the chosen driver -------------------------------------------------------


_OURS: Mapping[str, Callable[[DriverChoice], Driver]] = {
    "nothing": lambda choice: NothingDriver(),
    "operator": lambda choice: OperatorDriver(),
    "script": lambda choice: _script_driver(choice),
}

#: Built-in and installed drivers.
DRIVERS = PluginKind(
    noun="driver", group="forewarn.drivers", method="carry_out", ours=[*_OURS]
)


def make_driver(choice: DriverChoice) -> Driver:
    """Create the configured driver."""
    ours = _OURS.get(choice.name)
    if ours is None:
        driver: Driver = DRIVERS.make(choice.name, choice.options)
        return driver
    if choice.options:
        raise CannotStart(
            f"driver {choice.name} does not accept [driver.options]; only installed"
            " driver packages do"
        )
    return ours(choice)


def _script_driver(choice: DriverChoice) -> Driver:
    if not sys.platform.startswith("linux"):
        raise CannotStart(
            "the script driver requires Linux; on this system, use the driver"
            " `operator` or an installed driver"
        )
    if not choice.command:
        raise CannotStart(
            "the script driver requires a command; set --driver-command,"
            " FOREWARN_DRIVER_COMMAND, or command in [driver]"
        )
    # Imported late, because every operator command reads the settings.
    from forewarn.drivers.script import ScriptDriver

    return ScriptDriver(
        choice.command,
        timeout=choice.timeout,
        grace=choice.grace,
        lock_file=choice.lock_file,
    )


# --- settings ----------------------------------------------------------------


def read_command(value: object) -> tuple[str, ...]:
    """Parse a command: a list of words, or a string split as in a shell."""
    try:
        words = split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InvalidInput(f"{error} in {value!r}") from None
    if (
        isinstance(words, list)
        and words
        and all(isinstance(word, str) for word in words)
    ):
        return tuple(words)
    raise invalid_value("a command, as a string or a list of words", value)
