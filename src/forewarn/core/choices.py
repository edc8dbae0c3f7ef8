"""Commands that a maintenance accepts now, and that would have an effect.

The tests check these predictions against `commands`.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum

from forewarn.core.maintenance import Maintenance, Phase


class Choice(StrEnum):
    """A command for a maintenance or its events."""

    #: Approve one of its events.
    APPROVE = "approve"
    #: Cancel it.
    CANCEL = "cancel"
    #: Treat its work as done and its duration as over.
    COMPLETE = "complete"
    #: Call the driver again.
    RETRY = "retry"
    #: Give up on it.
    CLOSE = "close"


def _is_stuck(maintenance: Maintenance) -> bool:
    return maintenance.phase is Phase.STARTED and maintenance.stuck_since is not None


_POSSIBLE: Mapping[Choice, Callable[[Maintenance], bool]] = {
    Choice.APPROVE: lambda each: each.phase is Phase.SCHEDULED and not each.is_approved,
    Choice.CANCEL: lambda each: each.phase is Phase.SCHEDULED,
    Choice.COMPLETE: lambda each: (
        each.phase is Phase.STARTED and each.completed_by is None
    ),
    Choice.RETRY: _is_stuck,
    Choice.CLOSE: _is_stuck,
}


def choices(maintenance: Maintenance) -> tuple[Choice, ...]:
    """Return the commands that `maintenance` accepts now."""
    return tuple(
        choice for choice, possible in _POSSIBLE.items() if possible(maintenance)
    )
