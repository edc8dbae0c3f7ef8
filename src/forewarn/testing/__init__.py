"""Rehearsal kit: test how a program handles a reboot, in milliseconds."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forewarn.testing.events import Event
    from forewarn.testing.rehearsal import Rehearsal
    from forewarn.testing.surroundings import scheduled_events

__all__ = ["Event", "Rehearsal", "scheduled_events"]

_MODULES = {
    "Event": "forewarn.testing.events",
    "Rehearsal": "forewarn.testing.rehearsal",
    "scheduled_events": "forewarn.testing.surroundings",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use: pytest imports this package in every run."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        module = import_module(_MODULES[name])
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == "forewarn":
            raise
        raise ImportError(
            f"a rehearsal needs the service, and {missing} is missing:"
            " pip install 'forewarn[server]'"
        ) from None
    return getattr(module, name)
