"""Phrases for times, durations, maintenance operations and facts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count as numbers_from
from typing import Any

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance, Via
from forewarn.formats import count, format_duration, join_names
from forewarn.protocol.types import EventType

#: The number of characters shown of an ID.
SHORT = 8

#: Event types as nouns.
_NOUNS: Mapping[EventType, str] = {
    EventType.FREEZE: "freeze",
    EventType.REBOOT: "reboot",
    EventType.REDEPLOY: "redeploy",
    EventType.PREEMPT: "eviction",
    EventType.TERMINATE: "deletion",
}

_FORESEEN = "?"  # prefix of dry-run IDs; no other ID has it

# --- times and durations -----------------------------------------------------


def format_time(moment: datetime) -> str:
    """Format a time, to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def format_offset(length: timedelta) -> str:
    """Format elapsed time: +15:00, +1:00:00, +2d 0:00:00."""
    minutes, seconds = divmod(int(length.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"+{minutes}:{seconds:02}"
    days, hours = divmod(hours, 24)
    return f"+{f'{days}d ' if days else ''}{hours}:{minutes:02}:{seconds:02}"


# --- maintenance -------------------------------------------------------------


def describe(maintenance: Maintenance) -> str:
    """Return a title for a maintenance operation: Reboot of host-a (db-0, web-0)."""
    return f"{maintenance.type} of {_target(maintenance)}"


def mention(maintenance: Maintenance) -> str:
    """Name a maintenance operation in a sentence: the reboot of host-a (db-0)."""
    return f"the {_NOUNS[maintenance.type]} of {_target(maintenance)}"


def capitalize(sentence: str) -> str:
    """Capitalize the first letter only."""
    return sentence[:1].upper() + sentence[1:]


def _target(maintenance: Maintenance) -> str:
    vms = join_names(maintenance.vms)
    return vms if maintenance.host is None else f"{maintenance.host} ({vms})"


def short_name(maintenance: Maintenance, event_id: str | None = None) -> str:
    """Name a maintenance operation or one of its events, such as "Reboot 5F3A2B1C"."""
    return f"{maintenance.type} {(event_id or maintenance.events[0].id)[:SHORT]}"


def start_time(maintenance: Maintenance) -> str:
    """Describe when a maintenance operation may start."""
    if maintenance.at_once:
        return "starting immediately"
    return f"not before {format_time(maintenance.not_before)}"


def circumstances(maintenance: Maintenance) -> Iterator[str]:
    """Yield what is special about an announcement, and its reason."""
    if maintenance.emergency:
        yield "emergency"
    if maintenance.reason:
        yield f"reason: {maintenance.reason}"
    disabled = [event.group for event in maintenance.events if event.disabled]
    if disabled:
        groups = join_names([*dict.fromkeys(disabled)])
        yield f"Scheduled Events disabled for {groups}"


def start_text(
    maintenance: Maintenance, at: datetime, *, is_share: bool = False
) -> str:
    """Describe the start of a maintenance operation at `at`, and why it started.

    If `maintenance` is redacted for a group (`is_share`), approvals from other groups
    are not mentioned.
    """
    if maintenance.at_once and at == maintenance.announced_at:
        return "started without notice"
    begin = f"started after {format_duration(at - maintenance.announced_at)}"
    if is_share:
        return begin
    missing = [
        event.group
        for event in maintenance.live_events
        if event.approved_at is None or event.approved_at > at
    ]
    if not missing:
        return f"{begin}, approved by all groups"
    groups = join_names([*dict.fromkeys(missing)])
    return f"{begin}, without approval from {groups}"


def preview_ids() -> Callable[[], str]:
    """Return a function that generates placeholder IDs for a dry run."""
    numbers = numbers_from(1)
    return lambda: f"{_FORESEEN}{next(numbers)}"


def is_preview_id(any_id: str) -> bool:
    """Return whether this ID is a placeholder from a dry run."""
    return any_id.startswith(_FORESEEN)


# --- facts -------------------------------------------------------------------


def fact_text(fact: f.Fact) -> str:
    """Describe a fact in words that can follow the name of a maintenance operation."""
    return _TEXTS[type(fact)](fact)


def _fleet_changed(fact: f.FleetChanged) -> str:
    added = {
        "host": [host.name for host in fact.hosts],
        "group": [group.name for group in fact.groups],
        "VM": [
            f"{vm.name} (deallocated)" if vm.deallocated else vm.name for vm in fact.vms
        ],
    }
    removed = {
        "host": fact.removed_hosts,
        "group": fact.removed_groups,
        "VM": fact.removed_vms,
    }
    parts = [_listed("added or changed", added), _listed("removed", removed)]
    what = "; ".join(part for part in parts if part)
    return f"fleet changed {by_whom(fact.by)}{': ' if what else ''}{what}"


def _listed(verb: str, names_by_noun: Mapping[str, Sequence[str]]) -> str:
    parts = [
        f"{noun} {names[0]}"
        if len(names) == 1
        else f"{count(len(names), noun)} ({join_names(names)})"
        for noun, names in names_by_noun.items()
        if names
    ]
    return f"{verb} {', '.join(parts)}" if parts else ""


def _announced(fact: f.Announced) -> str:
    maintenance = fact.announced
    when = f"{start_time(maintenance)} ({maintenance.source}, {maintenance.cause})"
    return "; ".join(
        [
            f"announced {by_whom(fact.by)}: {describe(maintenance)}, {when}",
            *circumstances(maintenance),
        ]
    )


def _approved(fact: f.Approved) -> str:
    if fact.via is Via.POLICY:
        return f"approved in advance by the settings of group {fact.group}"
    return f"approved for group {fact.group} by {fact.by} via {_WAYS[fact.via]}"


def _printed(fact: f.WorkPrinted) -> str:
    lines = [line.strip() for line in fact.output.splitlines() if line.strip()]
    if not lines:
        return "driver printed nothing"
    last = _shortened(lines[-1])
    if len(lines) == 1:
        return f"driver printed: {last}"
    return f"driver printed {len(lines)} lines; last line: {last}"


def _seen(fact: f.Seen) -> str:
    events = [*dict.fromkeys(sight.event for sight in fact.sights)]
    vms = [*dict.fromkeys(sight.vm for sight in fact.sights)]
    what = f"event {events[0]}" if len(events) == 1 else count(len(events), "event")
    return f"{what} seen by {join_names(vms)}"


def _outage_ended(fact: f.OutageEnded) -> str:
    lasted = format_duration(fact.outage.until - fact.outage.since)
    since = format_time(fact.outage.since)
    return f"the service is back after {lasted} of downtime (since {since})"


def _token_created(fact: f.TokenCreated) -> str:
    scope = f"role {fact.role}" if fact.group is None else f"group {fact.group}"
    return f"token {fact.name} created by {fact.by} ({scope})"


def _access_refused(fact: f.AccessRefused) -> str:
    total = sum(refusal.attempts for refusal in fact.refusals)
    addresses = join_names([refusal.address for refusal in fact.refusals])
    requests = count(total, "request")
    return f"rejected {requests} with an invalid token ({addresses})"


def by_whom(actor: str | None, otherwise: str = "automatically") -> str:
    """Describe who did something; None means that the service did it."""
    return otherwise if actor is None else f"by {actor}"


def _detail(text: str | None) -> str:
    words = " ".join((text or "").split())
    return f" ({_shortened(words)})" if words else ""


def _shortened(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


_WAYS: Mapping[Via, str] = {
    Via.METADATA: "the metadata endpoint",
    Via.CONTROL: "the control API",
    Via.ARM: "Azure's Resource Manager API",
}

_TEXTS: Mapping[type[f.Fact], Callable[[Any], str]] = {  # Any: one kind each
    f.FleetChanged: _fleet_changed,
    f.Enabled: lambda fact: f"Scheduled Events enabled for group {fact.group}",
    f.Announced: _announced,
    f.Approved: _approved,
    f.VmsLeft: lambda fact: (
        f"no longer affects {join_names(fact.vms)}, which left the fleet or the host"
    ),
    f.Withdrawn: lambda fact: (
        f"withdrawn for group {fact.group}: all affected VMs have left the fleet"
        " or the host"
    ),
    f.Started: lambda _: "started",
    f.WorkBegan: lambda fact: f"driver called (attempt {fact.attempt})",
    f.WorkDone: lambda fact: f"done: {join_names(fact.vms)}{_detail(fact.detail)}",
    f.WorkFailed: lambda fact: (
        f"stuck: the driver failed on {join_names(fact.vms)}{_detail(fact.detail)}"
    ),
    f.WorkPrinted: _printed,
    f.WorkRetried: lambda fact: f"retried {by_whom(fact.by)}",
    f.WorkEnded: lambda fact: f"marked as done by {fact.by}{_detail(fact.reason)}",
    f.Completed: lambda _: "completed",
    f.Canceled: lambda fact: f"canceled {by_whom(fact.by)}{_detail(fact.reason)}",
    f.Closed: lambda fact: f"closed as failed {by_whom(fact.by)}{_detail(fact.reason)}",
    f.Published: lambda fact: (
        f"new document for {fact.audience}, incarnation {fact.incarnation}"
    ),
    f.Seen: _seen,
    f.OutageEnded: _outage_ended,
    f.TokenCreated: _token_created,
    f.TokenRevoked: lambda fact: (
        f"token {fact.name} revoked {by_whom(fact.by, 'because its group was removed')}"
    ),
    f.AccessRefused: _access_refused,
}
