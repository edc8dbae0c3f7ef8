"""Finds a driver by its name: one of ours, or one that somebody installed.

Others offer theirs by an entry point of the group `forewarn.drivers`: something that
is called with the keys of `[driver.options]` and makes a driver.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from forewarn.drivers.nothing import NothingDriver
from forewarn.drivers.operator import OperatorDriver
from forewarn.drivers.script import ScriptDriver
from forewarn.errors import CannotStart
from forewarn.ports import Driver

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_log = logging.getLogger(__name__)

#: Where others offer their drivers.
GROUP = "forewarn.drivers"

#: Those that are done at once, and called one after the other.
IN_PLACE = frozenset({"nothing", "operator"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A driver, and what is set for it."""

    name: str
    command: Sequence[str] = ()
    timeout: float = 3600.0  # seconds; 0: none
    grace: float = 5.0  # seconds
    held: Path | None = None  # None: nothing outlives the service
    options: Mapping[str, object] = field(default_factory=dict, repr=False)


_OURS: Mapping[str, Callable[[Choice], Driver]] = {
    "nothing": lambda choice: NothingDriver(),
    "operator": lambda choice: OperatorDriver(),
    "script": lambda choice: _script(choice),
}


def names() -> Sequence[str]:
    """All drivers that there are, ours first."""
    return [*_OURS, *sorted({each.name for each in _offered()} - _OURS.keys())]


def make_driver(choice: Choice) -> Driver:
    """Make the driver that was chosen."""
    ours = _OURS.get(choice.name)
    if ours is None:
        return _others(choice)
    if choice.options:
        raise CannotStart(
            f"the driver {choice.name} takes no [driver.options]; they are for drivers"
            " that are installed beside forewarn"
        )
    return ours(choice)


def open_driver(driver: Driver, cleanup: ExitStack) -> None:
    """Open `driver`, if it wants to be, and close it with `cleanup`."""
    open_it = getattr(driver, "open", None)
    if callable(open_it):
        try:
            open_it()
        except CannotStart:
            raise
        except Exception as error:
            raise CannotStart(f"the driver cannot be opened: {_told(error)}") from error
    cleanup.callback(_close, driver)


def _close(driver: Driver) -> None:
    close_it = getattr(driver, "close", None)
    if not callable(close_it):
        return
    try:
        close_it()
    except Exception:
        _log.exception("the driver cannot be closed")


def _script(choice: Choice) -> Driver:
    if not choice.command:
        raise CannotStart(
            "the driver script needs a command: set --driver-command,"
            " FOREWARN_DRIVER_COMMAND or command in [driver]"
        )
    return ScriptDriver(
        choice.command,
        timeout=choice.timeout,
        grace=choice.grace,
        held=choice.held,
    )


def _others(choice: Choice) -> Driver:
    found = [each for each in _offered() if each.name == choice.name]
    if not found:
        known = ", ".join(names())
        raise CannotStart(f"there is no driver {choice.name}; there are {known}")
    try:
        made = found[0].load()(**choice.options)
    except (Exception, SystemExit) as error:
        raise CannotStart(
            f"the driver {choice.name} ({found[0].value}) cannot be used:"
            f" {_told(error)}"
        ) from error
    if not callable(getattr(made, "carry_out", None)):
        raise CannotStart(
            f"the driver {choice.name} ({found[0].value}) has no method carry_out"
        )
    driver: Driver = made
    return driver


def _offered() -> "Sequence[EntryPoint]":
    from importlib.metadata import entry_points  # takes as long as all the rest

    return [*entry_points(group=GROUP)]


def _told(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
