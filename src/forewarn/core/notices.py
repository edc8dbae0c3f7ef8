"""Events in notifications, with the status that a fact left them in.

The state may have changed since. The status follows from the fact alone, so a
notification that is delivered late still describes what happened.
"""

from enum import StrEnum
from typing import assert_never

from forewarn.core import facts as f
from forewarn.core.maintenance import Event, Maintenance
from forewarn.protocol.types import ScheduledEvent


class Outcome(StrEnum):
    """The status of an event; the metadata endpoint has only the first two."""

    #: Announced, not started yet.
    SCHEDULED = "Scheduled"
    #: In progress.
    STARTED = "Started"
    #: Started and over, even if the operator gave up on it.
    COMPLETED = "Completed"
    #: Canceled or withdrawn before it started.
    CANCELED = "Canceled"


def told_events(fact: f.Fact, maintenance: Maintenance) -> tuple[ScheduledEvent, ...]:
    """Return the events of `maintenance` as `fact` left them."""
    return tuple(
        _told(maintenance, event, _outcome(fact, event, maintenance))
        for event in maintenance.events
    )


def _told(maintenance: Maintenance, event: Event, outcome: Outcome) -> ScheduledEvent:
    has_begun = outcome in (Outcome.STARTED, Outcome.COMPLETED)
    blank = maintenance.at_once or has_begun
    return ScheduledEvent(
        id=event.id,
        type=maintenance.type,
        status=outcome.value,
        resources=event.resources,
        not_before=None if blank else maintenance.not_before,
        description=maintenance.description,
        source=maintenance.source,
        duration=maintenance.duration,
        paas=frozenset(event.paas),
    )


def _outcome(fact: f.Fact, event: Event, maintenance: Maintenance) -> Outcome:
    """Return the status of `event` after `fact`; started events are never withdrawn."""
    if event.withdrawn_at is not None and _is_withdrawn_by(fact, event, maintenance):
        return Outcome.CANCELED
    match fact:
        case f.VmsLeft() if _has_started_before(fact, maintenance):
            return Outcome.STARTED
        case f.Announced() | f.Approved() | f.VmsLeft() | f.Withdrawn():
            return Outcome.SCHEDULED
        case (
            f.Started()
            | f.WorkBegan()
            | f.WorkDone()
            | f.WorkFailed()
            | f.WorkPrinted()
            | f.WorkRetried()
            | f.WorkEnded()
        ):
            return Outcome.STARTED
        case f.Completed() | f.Closed():
            return Outcome.COMPLETED
        case f.Canceled():
            return Outcome.CANCELED
        case (
            f.FleetChanged()
            | f.ListeningBegan()
            | f.Published()
            | f.Seen()
            | f.OutageEnded()
            | f.TokenCreated()
            | f.TokenRevoked()
            | f.AccessRefused()
        ):
            raise ValueError(f"{type(fact).__name__} is about no maintenance")
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
        return withdrawn_at < fact.at  # facts at the same time came before it
    if isinstance(fact, f.Withdrawn) and withdrawn_at == fact.at:
        order = [listed.id for listed in maintenance.events]  # the order of withdrawal
        return fact.event in order[order.index(event.id) :]
    return withdrawn_at <= fact.at
