"""What those are told who are notified of a fact: its events, as it left them.

The state may have moved on since. What an event had come to with the fact follows from
the fact alone, so that a notice that is delivered late still says what happened.
"""

from enum import StrEnum
from typing import assert_never

from forewarn.core import facts as f
from forewarn.core.maintenance import Event, Maintenance
from forewarn.protocol.types import ScheduledEvent


class Outcome(StrEnum):
    """How far an event is; metadata endpoints know only the first two."""

    #: Announced, not yet under way.
    SCHEDULED = "Scheduled"
    #: Under way.
    STARTED = "Started"
    #: Over, having started; the operator may have given it up.
    COMPLETED = "Completed"
    #: Called off, or withdrawn, before it started.
    CANCELED = "Canceled"


def told_events(fact: f.Fact, maintenance: Maintenance) -> tuple[ScheduledEvent, ...]:
    """Write the events of `maintenance` as `fact` left them."""
    return tuple(
        _told(maintenance, each, _outcome(fact, each, maintenance))
        for each in maintenance.events
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
    """What `event` came to with `fact`; it is withdrawn only before a start."""
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
        return withdrawn_at < fact.at  # at the same time, they came first
    if isinstance(fact, f.Withdrawn) and withdrawn_at == fact.at:
        order = [each.id for each in maintenance.events]  # in which they are withdrawn
        return fact.event in order[order.index(event.id) :]
    return withdrawn_at <= fact.at
