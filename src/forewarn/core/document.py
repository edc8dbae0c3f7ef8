"""The Scheduled Events document of an audience."""

from collections.abc import Iterable

from forewarn.core.fleet import Audience
from forewarn.core.maintenance import Event, Maintenance, Phase
from forewarn.protocol.types import Document, EventStatus, ScheduledEvent

STATUS = {
    Phase.SCHEDULED: EventStatus.SCHEDULED,
    Phase.STARTED: EventStatus.STARTED,
}


def document(audience: Audience, maintenances: Iterable[Maintenance]) -> Document:
    """Build the document of `audience`, events in order of announcement."""
    return Document(
        incarnation=audience.incarnation, events=view(audience, maintenances)
    )


def view(
    audience: Audience, maintenances: Iterable[Maintenance]
) -> tuple[ScheduledEvent, ...]:
    """Return the events of `maintenances` that `audience` sees."""
    return tuple(
        _scheduled_event(maintenance, event)
        for maintenance in maintenances
        if maintenance.phase.is_live
        for event in maintenance.live_events
        if is_shown(event, audience)
    )


def is_shown(event: Event, audience: Audience) -> bool:
    """Whether `audience` sees `event` while it is live."""
    if event.group != audience.group:
        return False
    return audience.vm is None or audience.vm in event.resources


def _scheduled_event(maintenance: Maintenance, event: Event) -> ScheduledEvent:
    blank = maintenance.at_once or maintenance.phase is Phase.STARTED
    return ScheduledEvent(
        id=event.id,
        type=maintenance.type,
        status=STATUS[maintenance.phase],
        resources=event.resources,
        not_before=None if blank else maintenance.not_before,
        description=maintenance.description,
        source=maintenance.source,
        duration=maintenance.duration,
        paas=frozenset(event.paas),
    )
