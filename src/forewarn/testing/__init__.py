"""Rehearsal kit: test how a program handles a reboot, in milliseconds."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forewarn.testing.context import scheduled_events
    from forewarn.testing.rehearsal.event import RehearsedEvent as Event
    from forewarn.testing.rehearsal.rehearsal import Rehearsal

__all__ = ["Event", "Rehearsal", "scheduled_events"]

_PUBLIC = {
    "Event": ("forewarn.testing.rehearsal.event", "RehearsedEvent"),
    "Rehearsal": ("forewarn.testing.rehearsal.rehearsal", "Rehearsal"),
    "scheduled_events": ("forewarn.testing.context", "scheduled_events"),
}


def __getattr__(name: str) -> object:
    """Import a public name on first use, because pytest always loads this package."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module_name, attribute = _PUBLIC[name]
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == "forewarn":
            raise
        from forewarn.extras import install_hint

        raise ImportError(
            f"rehearsals require the server extra (module {missing} not found);"
            f" {install_hint('server')}"
        ) from None
    return getattr(module, attribute)
