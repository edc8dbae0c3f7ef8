"""Driver registry: the built-in drivers, installed plugins, and the chosen one.

`nothing` and `operator` are defined here; `script` has a module of its own.
"""

import logging
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from shlex import split
from typing import TYPE_CHECKING

from forewarn.errors import CannotStart, InvalidInput
from forewarn.ports import Driver, Report, Work

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: The entry point group of driver plugins.
GROUP = "forewarn.drivers"

#: Drivers that finish immediately; they are called one after the other.
IN_PLACE = frozenset({"nothing", "operator"})

_log = logging.getLogger(__name__)


class NothingDriver:
    """For rehearsals, and for fleets whose machines are handled elsewhere."""

    def carry_out(self, work: Work) -> Sequence[Report]:
        """Report all VMs done."""
        return [Report(vm=vm.name) for vm in work.vms]


class OperatorDriver:
    """Leaves the work open until someone runs `complete`."""

    def carry_out(self, work: Work) -> Sequence[Report]:
        """Report nothing; a person does the work."""
        del work
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverChoice:
    """The configured driver and its settings."""

    name: str
    command: Sequence[str] = ()
    timeout: float = 3600.0  # seconds; 0 for none
    grace: float = 5.0  # seconds
    lock_file: Path | None = None  # of scripts; None if the store is in memory
    options: Mapping[str, object] = field(default_factory=dict, repr=False)


# --- the chosen driver -------------------------------------------------------


_OURS: Mapping[str, Callable[[DriverChoice], Driver]] = {
    "nothing": lambda choice: NothingDriver(),
    "operator": lambda choice: OperatorDriver(),
    "script": lambda choice: _script_driver(choice),
}


def driver_names() -> Sequence[str]:
    """Return the names of all drivers, built-in ones first."""
    return [
        *_OURS,
        *sorted({entry_point.name for entry_point in _entry_points()} - _OURS.keys()),
    ]


def make_driver(choice: DriverChoice) -> Driver:
    """Create the configured driver."""
    ours = _OURS.get(choice.name)
    if ours is None:
        return _plugin(choice)
    if choice.options:
        raise CannotStart(
            f"the driver {choice.name} takes no [driver.options]; they are for drivers"
            " that are installed beside forewarn"
        )
    return ours(choice)


def open_driver(driver: Driver, cleanup: ExitStack) -> None:
    """Call the driver's `open` if it has one, and its `close` on `cleanup`."""
    open_it = getattr(driver, "open", None)
    if callable(open_it):
        try:
            open_it()
        except CannotStart:
            raise
        except Exception as error:
            raise CannotStart(
                f"the driver cannot be opened: {_error_text(error)}"
            ) from error
    cleanup.callback(_close, driver)


def _close(driver: Driver) -> None:
    close_it = getattr(driver, "close", None)
    if not callable(close_it):
        return
    try:
        close_it()
    except Exception:
        _log.exception("the driver cannot be closed")


def _script_driver(choice: DriverChoice) -> Driver:
    if not choice.command:
        raise CannotStart(
            "the driver script needs a command: set --driver-command,"
            " FOREWARN_DRIVER_COMMAND or command in [driver]"
        )
    # Imported late: every operator command reads the settings.
    from forewarn.drivers.script import ScriptDriver

    return ScriptDriver(
        choice.command,
        timeout=choice.timeout,
        grace=choice.grace,
        lock_file=choice.lock_file,
    )


def _plugin(choice: DriverChoice) -> Driver:
    matches = [
        entry_point
        for entry_point in _entry_points()
        if entry_point.name == choice.name
    ]
    if not matches:
        available = ", ".join(driver_names())
        raise CannotStart(f"there is no driver {choice.name}; there are {available}")
    try:
        instance = matches[0].load()(**choice.options)
    except (Exception, SystemExit) as error:
        raise CannotStart(
            f"the driver {choice.name} ({matches[0].value}) cannot be used:"
            f" {_error_text(error)}"
        ) from error
    if not callable(getattr(instance, "carry_out", None)):
        raise CannotStart(
            f"the driver {choice.name} ({matches[0].value}) has no method carry_out"
        )
    driver: Driver = instance
    return driver


def _entry_points() -> "Sequence[EntryPoint]":
    from importlib.metadata import entry_points  # as slow as all other imports together

    return [*entry_points(group=GROUP)]


def _error_text(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


# --- settings ----------------------------------------------------------------


def read_driver(value: object, place: str) -> str:
    """Parse the name of an available driver."""
    if isinstance(value, str) and value.lower() in _OURS:
        return value.lower()
    spellings = {name.lower(): name for name in driver_names()}
    if isinstance(value, str) and value.lower() in spellings:
        return spellings[value.lower()]
    listed = ", ".join(spellings.values())
    raise InvalidInput(f"{place}: expected one of {listed}, not {value!r}")


def read_command(value: object, place: str) -> tuple[str, ...]:
    """Parse a command: a list of words, or text split as in a shell."""
    try:
        words = split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InvalidInput(f"{place}: {error} in {value!r}") from None
    if (
        isinstance(words, list)
        and words
        and all(isinstance(word, str) for word in words)
    ):
        return tuple(words)
    raise InvalidInput(
        f"{place}: expected a command, as text or as a list of words, not {value!r}"
    )


def read_options(value: object, place: str) -> dict[str, object]:
    """Parse a table; in the environment, a TOML inline table.

    Errors do not quote the value, because it may contain a password.
    """
    try:
        table = tomllib.loads(f"_ = {value}")["_"] if isinstance(value, str) else value
    except tomllib.TOMLDecodeError:
        table = None
    if isinstance(table, dict) and all(isinstance(name, str) for name in table):
        return table
    raise InvalidInput(f'{place}: expected a table, such as {{ key = "value" }}')
