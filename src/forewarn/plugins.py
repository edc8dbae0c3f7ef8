"""Plug-ins: drivers and notifiers that installed packages declare as entry points.

An error in a plug-in is reported in one line that names the plug-in.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forewarn.configfile.values import inline_toml, one_of
from forewarn.errors import CannotStart, InvalidInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginKind:
    """A kind of plug-in: its noun, entry point group and required method."""

    noun: str
    group: str
    method: str
    ours: Sequence[str]  # names of the built-in ones, which cannot be replaced

    def names(self) -> Sequence[str]:
        """Return all names, built-in ones first."""
        installed = {entry_point.name for entry_point in self._entry_points()}
        return [*self.ours, *sorted(installed - {*self.ours})]

    def read_name(self, value: object) -> str:
        """Parse one of the names, ignoring case."""
        if isinstance(value, str) and value.lower() in self.ours:
            return value.lower()  # without searching for plug-ins, which is slow
        return one_of(*self.names())(value)

    def make(self, name: str, options: Mapping[str, object]) -> Any:
        """Create the installed plug-in `name`."""
        for entry_point in self._entry_points():
            if entry_point.name == name:
                break
        else:
            listed = ", ".join(self.names())
            raise CannotStart(
                f"unknown {self.noun} {name!r}; expected one of: {listed}"
            )
        plugin = f"the {self.noun} {name} ({entry_point.value})"
        try:
            instance = entry_point.load()(**options)
        except (Exception, SystemExit) as error:
            raise CannotStart(f"cannot load {plugin}: {_text(error)}") from error
        if not callable(getattr(instance, self.method, None)):
            raise CannotStart(f"{plugin} has no method {self.method}")
        return instance

    def _entry_points(self) -> "Iterator[EntryPoint]":
        # Imported late, because it takes as long as all other imports combined.
        from importlib.metadata import entry_points

        yield from entry_points(group=self.group)


def read_options(value: object) -> dict[str, object]:
    """Parse a plug-in's options: a table, or a TOML inline table in the environment.

    Errors do not quote the value, because it may contain a password.
    """
    table = inline_toml(value)
    if isinstance(table, dict):
        return table
    raise InvalidInput('expected a table, such as { key = "value" }')


def open_plugin(plugin: object, name: str) -> None:
    """Call the plug-in's `open`, if it has one."""
    open_it = getattr(plugin, "open", None)
    if not callable(open_it):
        return
    try:
        open_it()
    except CannotStart:
        raise
    except Exception as error:
        raise CannotStart(f"cannot open {name}: {_text(error)}") from error


def close_plugin(plugin: object, name: str) -> None:
    """Call the plug-in's `close`, if it has one; log any error."""
    close_it = getattr(plugin, "close", None)
    if not callable(close_it):
        return
    try:
        close_it()
    except Exception:
        _log.exception("cannot close %s", name)


def _text(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
