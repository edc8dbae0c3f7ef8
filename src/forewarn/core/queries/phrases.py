"""Phrases: times, durations, maintenance and facts in words."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance, Via
from forewarn.formats import join_names

#: Number of characters shown of an id.
SHORT = 8

_FORESEEN = "?"  # prefix of ids in a dry run; no other id has it
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))

_Writer = Callable[[Any], str]  # Any, as each takes its own class of fact

#: What becomes of a maintenance operation.
_CHANGES: Mapping[type[f.Fact], _Writer] = {
    f.Started: lambda _: "started",
    f.Completed: lambda _: "completed",
    f.Canceled: lambda fact: f"was canceled{_reason(fact)}",
    f.Closed: lambda fact: f"was given up{_reason(fact)}",
    f.WorkEnded: lambda _: "was said to be done",
    f.WorkFailed: lambda fact: f"is stuck: the driver failed on {join_names(fact.vms)}",
    f.WorkRetried: lambda _: "is tried again",
    f.VmsLeft: lambda fact: f"leaves out {join_names(fact.vms)}, who left",
    f.Withdrawn: lambda fact: f"was withdrawn for {fact.group}: its VMs have left",
}


# --- times and durations -----------------------------------------------------


def format_time(moment: datetime) -> str:
    """Format a time, to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def format_duration(length: timedelta) -> str:
    """Format a duration with its two largest units: 14 min 30 s."""
    left, parts = max(int(length.total_seconds()), 0), []
    for unit, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def format_offset(length: timedelta) -> str:
    """Format the time that has passed: +15:00, +1:00:00, +2d 0:00:00."""
    minutes, seconds = divmod(int(length.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"+{minutes}:{seconds:02}"
    days, hours = divmod(hours, 24)
    return f"+{f'{days}d ' if days else ''}{hours}:{minutes:02}:{seconds:02}"


# --- maintenance -------------------------------------------------------------


def describe(maintenance: Maintenance) -> str:
    """Describe a maintenance: Reboot of host host-a (db-0, web-0)."""
    vms = join_names(maintenance.vms)
    if maintenance.host is None:
        return f"{maintenance.type} of {vms}"
    return f"{maintenance.type} of host {maintenance.host} ({vms})"


def short_name(maintenance: Maintenance, event_id: str | None = None) -> str:
    """Name a maintenance operation or one of its events, such as "Reboot 5F3A2B1C"."""
    return f"{maintenance.type} {(event_id or maintenance.events[0].id)[:SHORT]}"


def name_of(maintenance: Maintenance) -> str:
    """Name a maintenance that others wait for, by its id if it has one."""
    if is_preview_id(maintenance.id):
        return "the one before it"
    return f"maintenance {maintenance.id}"


def command_hint(command: str, any_id: str) -> str:
    """Return the operator's command for `any_id`, or "an operator" in a dry run."""
    return (
        "an operator"
        if is_preview_id(any_id)
        else f"`forewarn events {command} {any_id}`"
    )


def preview_ids() -> Callable[[], str]:
    """Return a generator of placeholder ids for a dry run; sentences omit them."""
    numbers = count(1)
    return lambda: f"{_FORESEEN}{next(numbers)}"


def is_preview_id(any_id: str) -> bool:
    """Whether this id is a placeholder of a dry run."""
    return any_id.startswith(_FORESEEN)


# --- facts -------------------------------------------------------------------


def describe_fact(
    fact: f.Fact, maintenances: Mapping[str, Maintenance], began: datetime
) -> str | None:
    """Describe a fact about one of `maintenances`; None to omit it."""
    if isinstance(fact, f.OutageEnded):
        lasted = format_duration(fact.outage.until - fact.outage.since)
        return f"the service is back, after {lasted}"
    if isinstance(fact, f.Announced):
        return _announced(fact.announced, began)
    if isinstance(fact, f.Approved):
        return _approved(fact, maintenances[fact.maintenance])
    write = _CHANGES.get(type(fact))
    if write is None:
        return None
    maintenance = maintenances[getattr(fact, "maintenance", "")]
    return f"{short_name(maintenance)} {write(fact)}"


def _announced(maintenance: Maintenance, began: datetime) -> str:
    when = (
        "at once"
        if maintenance.at_once
        else f"not before {format_offset(maintenance.not_before - began)}"
    )
    events = join_names([event.id[:SHORT] for event in maintenance.events])
    vms = join_names(maintenance.vms)
    return f"announced {maintenance.type} {events} of {vms}, {when}"


def _approved(fact: f.Approved, maintenance: Maintenance) -> str:
    event = short_name(maintenance, fact.event)
    if fact.via is Via.POLICY:
        return f"{event} was approved beforehand, by the settings of {fact.group}"
    return f"{fact.by} approved {event}"


def _reason(fact: f.Canceled | f.Closed) -> str:
    return f": {fact.reason}" if fact.reason else ""
