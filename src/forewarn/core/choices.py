"""What can be asked of a maintenance now: whatever would be accepted, and do something.

Tells what `commands` would do; the tests hold one against the other.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum

from forewarn.core.maintenance import Maintenance, Phase


class Choice(StrEnum):
    """One of the commands for a maintenance or its events."""

    #: Approve one of its events.
    APPROVE = "approve"
    #: Call it off.
    CANCEL = "cancel"
    #: Take the work for done and the duration for over.
    COMPLETE = "complete"
    #: Let the driver try again.
    RETRY = "retry"
    #: Give it up.
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
    """Name what can be asked of `maintenance`."""
    return tuple(each for each, possible in _POSSIBLE.items() if possible(maintenance))
