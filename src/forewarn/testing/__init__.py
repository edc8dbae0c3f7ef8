"""Rehearsals: test how a program takes a reboot, in milliseconds."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forewarn.testing.rehearsal import Rehearsal

__all__ = ["Rehearsal", "scheduled_events"]


def __getattr__(name: str) -> object:
    """Import what is asked for when it is: pytest imports this package every time."""
    if name == "Rehearsal":
        from forewarn.testing.rehearsal import Rehearsal

        return Rehearsal
    if name == "scheduled_events":
        from forewarn.testing.rehearsal import Rehearsal

        return Rehearsal
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
