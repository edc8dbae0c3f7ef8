"""Journal entries in a few words, for a timeline."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from forewarn.core import facts as f
from forewarn.core.maintenance import Maintenance, Via
from forewarn.core.sentences import few, span

#: Number of characters shown of an id.
SHORT = 8


def offset(length: timedelta) -> str:
    """Format the time that has passed: +15:00, +1:00:00, +2d 0:00:00."""
    minutes, seconds = divmod(int(length.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"+{minutes}:{seconds:02}"
    days, hours = divmod(hours, 24)
    return f"+{f'{days}d ' if days else ''}{hours}:{minutes:02}:{seconds:02}"


def named(maintenance: Maintenance, event_id: str | None = None) -> str:
    """Name a maintenance operation or one of its events, such as "Reboot 5F3A2B1C"."""
    return f"{maintenance.type} {(event_id or maintenance.events[0].id)[:SHORT]}"


def told(fact: f.Fact, made: Mapping[str, Maintenance], began: datetime) -> str | None:
    """Describe a fact about a maintenance operation in `made`; None to omit it."""
    if isinstance(fact, f.OutageEnded):
        lasted = span(fact.outage.until - fact.outage.since)
        return f"the service is back, after {lasted}"
    if isinstance(fact, f.Announced):
        return _announced(fact.announced, began)
    if isinstance(fact, f.Approved):
        return _approved(fact, made[fact.maintenance])
    write = _BECAME.get(type(fact))
    if write is None:
        return None
    return f"{named(made[getattr(fact, 'maintenance', '')])} {write(fact)}"


def _announced(maintenance: Maintenance, began: datetime) -> str:
    when = (
        "at once"
        if maintenance.at_once
        else f"not before {offset(maintenance.not_before - began)}"
    )
    events = few([event.id[:SHORT] for event in maintenance.events])
    return f"announced {maintenance.type} {events} of {few(maintenance.vms)}, {when}"


def _approved(fact: f.Approved, maintenance: Maintenance) -> str:
    event = named(maintenance, fact.event)
    if fact.via is Via.POLICY:
        return f"{event} was approved beforehand, by the settings of {fact.group}"
    return f"{fact.by} approved {event}"


def _reason(fact: f.Canceled | f.Closed) -> str:
    return f": {fact.reason}" if fact.reason else ""


_Writer = Callable[[Any], str]  # Any, as each takes its own class of fact

#: Results of a maintenance operation.
_BECAME: Mapping[type[f.Fact], _Writer] = {
    f.Started: lambda _: "started",
    f.Completed: lambda _: "completed",
    f.Canceled: lambda fact: f"was canceled{_reason(fact)}",
    f.Closed: lambda fact: f"was given up{_reason(fact)}",
    f.WorkEnded: lambda _: "was said to be done",
    f.WorkFailed: lambda fact: f"is stuck: the driver failed on {few(fact.vms)}",
    f.WorkRetried: lambda _: "is tried again",
    f.VmsLeft: lambda fact: f"leaves out {few(fact.vms)}, who left",
    f.Withdrawn: lambda fact: f"was withdrawn for {fact.group}: its VMs have left",
}
