"""The Scheduled Events document of an audience and the events in notifications."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import assert_never

from forewarn.core.fleet import Audience
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Event, Maintenance, Phase
from forewarn.protocol.types import EventStatus, ScheduledEvent

STATUS = {
    Phase.SCHEDULED: EventStatus.SCHEDULED,
    Phase.STARTED: EventStatus.STARTED,
}


class EventOutcome(StrEnum):
    """The status of an event. The metadata endpoint shows only the first two values."""

    #: Announced but not started.
    SCHEDULED = "Scheduled"
    #: In progress.
    STARTED = "Started"
    #: Started and finished, even if the operator gave up on it.
    COMPLETED = "Completed"
    #: Canceled or withdrawn before it started.
    CANCELED = "Canceled"


def views(
    audiences: Iterable[Audience], maintenances: Iterable[Maintenance]
) -> Mapping[str, tuple[ScheduledEvent, ...]]:
    """Return the events that each of `audiences` sees, keyed by the audience's name.

    Each event is read only once, because an isolated group has as many audiences as
    VMs, and a maintenance operation may have an event for each VM.
    """
    keys = {audience.name: (audience.group, audience.vm) for audience in audiences}
    shown: dict[tuple[str, str | None], list[ScheduledEvent]] = {
        key: [] for key in keys.values()
    }
    live = [item for item in maintenances if shown and item.phase.is_live]
    for maintenance in live:
        status = STATUS[maintenance.phase]
        for event in maintenance.live_events:
            for vm in (None, *event.resources):
                if (event.group, vm) in shown:
                    entry = _scheduled_event(maintenance, event, status)
                    shown[event.group, vm].append(entry)
    return {name: tuple(shown[key]) for name, key in keys.items()}


def is_shown(event: Event, audience: Audience) -> bool:
    """Return whether `audience` sees `event` while it is live."""
    if event.group != audience.group:
        return False
    return audience.vm is None or audience.vm in event.resources


def notified_events(
    fact: f.Fact, maintenance: Maintenance
) -> tuple[ScheduledEvent, ...]:
    """Return the events of `maintenance` in their state after `fact`."""
    return tuple(
        _scheduled_event(maintenance, event, _outcome(fact, event, maintenance).value)
        for event in maintenance.events
    )


def _scheduled_event(
    maintenance: Maintenance, event: Event, status: str
) -> ScheduledEvent:
    has_begun = status in (EventOutcome.STARTED, EventOutcome.COMPLETED)
    is_blank = maintenance.at_once or has_begun
    return ScheduledEvent(
        id=event.id,
        type=maintenance.type,
        status=status,
        resources=event.resources,
        not_before=None if is_blank else maintenance.not_before,
        description=maintenance.description,
        source=maintenance.source,
        duration=maintenance.duration,
        paas=frozenset(event.paas),
    )


def _outcome(fact: f.Fact, event: Event, maintenance: Maintenance) -> EventOutcome:
    """Return the status of `event` after `fact`.

    An event that has started is never withdrawn.
    """
    if event.withdrawn_at is not None and _is_withdrawn_by(fact, event, maintenance):
        return EventOutcome.CANCELED
    match fact:
        case f.VmsLeft() if _has_started_before(fact, maintenance):
            return EventOutcome.STARTED
        case f.Announced() | f.Approved() | f.VmsLeft() | f.Withdrawn():
            return EventOutcome.SCHEDULED
        case (
            f.Started()
            | f.WorkBegan()
            | f.WorkDone()
            | f.WorkFailed()
            | f.WorkPrinted()
            | f.WorkRetried()
            | f.WorkEnded()
        ):
            return EventOutcome.STARTED
        case f.Completed() | f.Closed():
            return EventOutcome.COMPLETED
        case f.Canceled():
            return EventOutcome.CANCELED
        case (
            f.FleetChanged()
            | f.Enabled()
            | f.Published()
            | f.Seen()
            | f.OutageEnded()
            | f.TokenCreated()
            | f.TokenRevoked()
            | f.AccessRefused()
        ):
            raise ValueError(
                f"{type(fact).__name__} is not about a maintenance operation"
            )
        case _:
            assert_never(fact)


def _has_started_before(fact: f.Fact, maintenance: Maintenance) -> bool:
    started_at = maintenance.started_at
    return started_at is not None and started_at < fact.at  # else it led to the start


def _is_withdrawn_by(fact: f.Fact, event: Event, maintenance: Maintenance) -> bool:
    withdrawn_at = event.withdrawn_at or fact.at
    if isinstance(fact, f.Announced):
        return False
    if isinstance(fact, f.Approved | f.VmsLeft):
        return withdrawn_at < fact.at  # earlier facts with the same time came before it
    if isinstance(fact, f.Withdrawn) and withdrawn_at == fact.at:
        order = [listed.id for listed in maintenance.events]  # the order of withdrawal
        return fact.event in order[order.index(event.id) :]
    return withdrawn_at <= fact.at
