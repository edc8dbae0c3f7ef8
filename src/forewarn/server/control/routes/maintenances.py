"""Endpoints for maintenance operations and their events."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import WithJsonSchema

from forewarn.configfile.values import read_choice
from forewarn.core.lifecycle.commands import PossibleCommand
from forewarn.core.lifecycle.model import Event, Maintenance, Phase
from forewarn.core.queries.explanation import Explanation
from forewarn.core.queries.story import Story
from forewarn.core.queries.views import Json, SeenBy, event_view, maintenance_view
from forewarn.engine.lookup import find_event
from forewarn.engine.queries import explain_maintenance, story_of_maintenance
from forewarn.engine.tokens import TokenHolder
from forewarn.ports import Snapshot
from forewarn.server.control import models as m
from forewarn.server.control.auth.permissions import find_for, shown_to
from forewarn.server.control.context import (
    After,
    Caller,
    Limit,
    Result,
    ServicesDep,
    ViewRoute,
    Write,
    WriteRequest,
    page,
    parse_number,
)

router = APIRouter(tags=["maintenances"], route_class=ViewRoute)

_Phases = Annotated[
    list[str] | None,
    Query(description="may be repeated"),
    WithJsonSchema({"type": "array", "items": {"type": "string", "enum": [*Phase]}}),
]

_Command = Annotated[
    PossibleCommand | None,
    Query(description="with a name, find the only operation that accepts this command"),
]

#: The result of a command on one maintenance operation.
_Changed = m.or_dry_run(m.MaintenanceView)

# --- maintenance operations --------------------------------------------------


@router.post(
    "/v1/maintenances",
    response_model=m.AnnouncedView,
    status_code=201,
    responses=m.OR_DRY_RUN,
)
def announce(services: ServicesDep, write: Write, body: m.Announcement) -> Result:
    """Announce maintenance. One request can create several maintenance operations."""
    command = partial(services.engine.announce, m.order_of(body))
    return write.run(command, m.announced_view, 201)


@router.get(
    "/v1/maintenances", response_model=m.page_of("Maintenances", m.MaintenanceView)
)
def list_maintenances(
    services: ServicesDep,
    by: Caller,
    phase: _Phases = None,
    limit: Limit = 100,
    after: After = None,
) -> Json:
    """List maintenance operations in order of announcement."""
    phases = [read_choice(Phase, item, "phase") for item in phase or ()]
    services.engine.save_observations()
    with services.engine.store.snapshot() as snapshot:
        rows = snapshot.maintenances(
            phases=phases, after=parse_number(after), limit=limit + 1, group=by.group
        )
        return page(
            rows,
            limit,
            lambda item: _view(shown_to(by, item[1]), snapshot),
            lambda item: item[0],
        )


@router.get("/v1/maintenances/{id}", response_model=m.MaintenanceView)
def get_maintenance(
    services: ServicesDep, by: Caller, id: str, command: _Command = None
) -> Json:
    """Show a maintenance operation.

    `id` is the operation's ID or GUID, the ID of one of its events, an unambiguous
    prefix of a GUID or event ID, or the name of a VM, host or group. A name identifies
    the only operation there that has not ended or, with `command`, the only one that
    accepts this command.
    """
    services.engine.save_observations()
    with services.engine.store.snapshot() as snapshot:
        return _view(find_for(by, snapshot, id, command), snapshot)


@router.get("/v1/maintenances/{id}/explain", response_model=m.ExplanationView)
def explain(services: ServicesDep, by: Caller, id: str) -> Explanation:
    """Explain what a maintenance operation is waiting for, since when, and what
    unblocks it."""
    return explain_maintenance(services.engine, id, group=by.group)


@router.get("/v1/maintenances/{id}/story", response_model=m.view_of("Story", Story))
def story(services: ServicesDep, by: Caller, id: str) -> Story:
    """Show the history of a maintenance operation in chronological order."""
    return story_of_maintenance(services.engine, id, group=by.group)


@router.post("/v1/maintenances/{id}/cancel", response_model=_Changed)
def cancel(
    services: ServicesDep, write: Write, id: str, body: m.Reason | None = None
) -> Result:
    """Cancel a maintenance operation that has not started."""
    reason = body.reason if body else None
    return _run(services, write, partial(services.engine.cancel, id, reason=reason))


@router.post("/v1/maintenances/{id}/complete", response_model=_Changed)
def complete(services: ServicesDep, write: Write, id: str) -> Result:
    """Complete a started operation: mark its work as done and end its duration."""
    return _run(services, write, partial(services.engine.complete, id))


@router.post("/v1/maintenances/{id}/retry", response_model=_Changed)
def retry(services: ServicesDep, write: Write, id: str) -> Result:
    """Run the driver again for the remaining VMs of a stuck maintenance operation."""
    return _run(services, write, partial(services.engine.retry, id))


@router.post("/v1/maintenances/{id}/close", response_model=_Changed)
def close(
    services: ServicesDep, write: Write, id: str, body: m.Reason | None = None
) -> Result:
    """Give up on a stuck maintenance operation, and close it as failed."""
    reason = body.reason if body else None
    return _run(services, write, partial(services.engine.close, id, reason=reason))


# --- events ------------------------------------------------------------------


@router.get("/v1/events", response_model=m.page_of("Events", m.EventView))
def list_events(
    services: ServicesDep,
    by: Caller,
    phase: _Phases = None,
    limit: Limit = 100,
    after: After = None,
) -> Json:
    """List events in order of announcement."""
    phases = [read_choice(Phase, item, "phase") for item in phase or ()]
    services.engine.save_observations()
    with services.engine.store.snapshot() as snapshot:
        rows = _events_page(snapshot, by, phases, after, limit + 1)
        return page(
            rows,
            limit,
            lambda item: event_view(item[1], item[2], _seen_by(snapshot)),
            lambda item: item[0],
        )


@router.get("/v1/events/{id}", response_model=m.EventView)
def get_event(services: ServicesDep, by: Caller, id: str) -> Json:
    """Show an event."""
    services.engine.save_observations()
    with services.engine.store.snapshot() as snapshot:
        maintenance, event = find_event(snapshot, id, group=by.group)
        return event_view(maintenance, event, _seen_by(snapshot))


@router.post("/v1/events/{id}/approve", response_model=m.or_dry_run(m.EventView))
def approve(services: ServicesDep, write: Write, id: str) -> Result:
    """Approve an event as an operator, or with a token of the event's group."""

    engine, group = services.engine, write.holder.group
    engine.refuse_repeated(write.idempotency_key(200, _view))  # it may have ended
    with engine.store.snapshot() as before:
        _, event = find_event(before, id, group=group)

    def view(maintenance: Maintenance, snapshot: Snapshot) -> Json:
        return event_view(maintenance, maintenance.event(event.id), _seen_by(snapshot))

    command = partial(engine.approve, event.id, group=group)
    return _run(services, write, command, view)


# --- reading and showing -----------------------------------------------------


def _seen_by(snapshot: Snapshot) -> SeenBy:
    return lambda event: [sight.vm for sight in snapshot.seen(event)]


def _view(maintenance: Maintenance, snapshot: Snapshot) -> Json:
    return maintenance_view(maintenance, _seen_by(snapshot))


def _run(
    services: ServicesDep,
    write: WriteRequest,
    command: Callable[..., Maintenance],
    view: Callable[[Maintenance, Snapshot], Json] = _view,
) -> Result:
    """Run an engine command for the caller; return a view of the result."""
    if write.is_dry_run:
        return write.dry_run(command)
    maintenance = command(by=write.by, once=write.idempotency_key(200, view))
    with services.engine.store.snapshot() as snapshot:
        return view(maintenance, snapshot)


def _events_page(
    snapshot: Snapshot,
    by: TokenHolder,
    phases: Sequence[Phase],
    after: str | None,
    limit: int,
) -> list[tuple[str, Maintenance, Event]]:
    """Return events after the cursor, which names an operation and an event."""
    first, _, skipped = (after or "0.0").partition(".")
    position, skip = parse_number(first), parse_number(skipped or "0")
    begin = position - 1 if skip else position
    rows: list[tuple[str, Maintenance, Event]] = []
    while len(rows) < limit:
        maintenances = snapshot.maintenances(
            phases=phases, after=begin, limit=limit, group=by.group
        )
        for ordinal, maintenance in maintenances:
            start = skip if ordinal == position else 0
            rows += [
                (f"{ordinal}.{i}", maintenance, event)
                for i, event in enumerate(maintenance.events, 1)
                if i > start and by.group in (None, event.group)
            ]
            begin = ordinal
        if len(maintenances) < limit:
            break
    return rows[:limit]
