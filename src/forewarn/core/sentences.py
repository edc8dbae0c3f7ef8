"""Formatting of times, durations, names and maintenance for sentences."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import count

from forewarn.core.maintenance import Maintenance

_FEW = 5
_FORESEEN = "?"  # prefix of ids in a dry run; no other id has it
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def at(moment: datetime) -> str:
    """Format a time, to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def span(length: timedelta) -> str:
    """Format a duration with its two largest units: 14 min 30 s."""
    left, parts = max(int(length.total_seconds()), 0), []
    for unit, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def few(names: Sequence[str]) -> str:
    """Join the first five names, and count the others."""
    shown = ", ".join(names[:_FEW])
    more = len(names) - _FEW
    return f"{shown} and {more} more" if more > 0 else shown


def what(maintenance: Maintenance) -> str:
    """Describe a maintenance: Reboot of host host-a (db-0, web-0)."""
    vms = few(maintenance.vms)
    if maintenance.host is None:
        return f"{maintenance.type} of {vms}"
    return f"{maintenance.type} of host {maintenance.host} ({vms})"


def foreseen_ids() -> Callable[[], str]:
    """Return a generator of placeholder ids for a dry run; sentences omit them."""
    numbers = count(1)
    return lambda: f"{_FORESEEN}{next(numbers)}"


def is_foreseen(any_id: str) -> bool:
    """Whether this id is a placeholder of a dry run."""
    return any_id.startswith(_FORESEEN)


def called(maintenance: Maintenance) -> str:
    """Name a maintenance that others wait for, by its id if it has one."""
    if is_foreseen(maintenance.id):
        return "the one before it"
    return f"maintenance {maintenance.id}"


def by_hand(command: str, any_id: str) -> str:
    """Return the operator's command for `any_id`, or "an operator" in a dry run."""
    return (
        "an operator"
        if is_foreseen(any_id)
        else f"`forewarn events {command} {any_id}`"
    )
