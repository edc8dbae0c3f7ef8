"""Endpoints for maintenance operations and their events."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from forewarn.core.lifecycle.model import Event, Maintenance, Phase
from forewarn.core.queries.views import Json, SeenBy, event_view, maintenance_view
from forewarn.engine import queries
from forewarn.engine.lookup import find_event
from forewarn.engine.queries import explain_maintenance, story_of_maintenance
from forewarn.engine.tokens import TokenHolder
from forewarn.ports import Snapshot
from forewarn.server.control.auth.permissions import find_for, shown_to
from forewarn.server.control.context import (
    After,
    Caller,
    Limit,
    ServicesDep,
    Write,
    page,
    parse_number,
)
from forewarn.server.control.models import (
    Announcement,
    Reason,
    announced_view,
    explanation_view,
    order_of,
    parse_choice,
    preview_view,
    story_view,
    to_json,
)

router = APIRouter(tags=["maintenances"])


# --- maintenance operations --------------------------------------------------


@router.post("/v1/maintenances", status_code=201)
def announce(services: ServicesDep, write: Write, body: Announcement) -> Json:
    """Announce maintenance; several acts are several maintenances."""

    def render(announced: Sequence[Maintenance], snapshot: Snapshot) -> str:
        del snapshot
        return to_json(announced_view(announced))

    once = write.idempotency_key(201, render)
    return announced_view(
        services.engine.announce(order_of(body), by=write.by, once=once)
    )


@router.post("/v1/maintenances/preview")
def preview(services: ServicesDep, by: Caller, body: Announcement) -> Json:
    """Show what would be announced, and what each would wait for; change nothing."""
    previews = queries.preview(services.engine, order_of(body), by=by.name)
    return {
        "maintenances": [preview_view(previewed.maintenance) for previewed in previews],
        "explained": [
            explanation_view(previewed.explanation) for previewed in previews
        ],
    }


@router.get("/v1/maintenances")
def list_maintenances(
    services: ServicesDep,
    by: Caller,
    phase: Annotated[list[str] | None, Query(description="may be repeated")] = None,
    limit: Limit = 100,
    after: After = None,
) -> Json:
    """List maintenances in the order of announcement."""
    phases = [parse_choice(Phase, item, "phase") for item in phase or ()]
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


@router.get("/v1/maintenances/{id}")
def get_maintenance(services: ServicesDep, by: Caller, id: str) -> Json:
    """Show a maintenance, by its own id or that of one of its events."""
    services.engine.save_observations()
    with services.engine.store.snapshot() as snapshot:
        return _view(find_for(by, snapshot, id), snapshot)


@router.get("/v1/maintenances/{id}/explain")
def explain(services: ServicesDep, by: Caller, id: str) -> Json:
    """Explain what a maintenance waits for, since when, and who could open it."""
    return explanation_view(explain_maintenance(services.engine, id, group=by.group))


@router.get("/v1/maintenances/{id}/story")
def story(services: ServicesDep, by: Caller, id: str) -> Json:
    """Tell the whole life of a maintenance, in order."""
    return story_view(story_of_maintenance(services.engine, id, group=by.group))


@router.post("/v1/maintenances/{id}/cancel")
def cancel(
    services: ServicesDep, write: Write, id: str, body: Reason | None = None
) -> Json:
    """Call a maintenance off; only possible before it has started."""
    reason = body.reason if body else None
    once = write.idempotency_key(200, _render)
    maintenance = services.engine.cancel(id, by=write.by, reason=reason, once=once)
    return _current_view(services, maintenance)


@router.post("/v1/maintenances/{id}/complete")
def complete(services: ServicesDep, write: Write, id: str) -> Json:
    """Say that the work is done and the duration over."""
    once = write.idempotency_key(200, _render)
    return _current_view(services, services.engine.complete(id, by=write.by, once=once))


@router.post("/v1/maintenances/{id}/retry")
def retry(services: ServicesDep, write: Write, id: str) -> Json:
    """Let the driver try again what is still to do of a stuck maintenance."""
    once = write.idempotency_key(200, _render)
    return _current_view(services, services.engine.retry(id, by=write.by, once=once))


@router.post("/v1/maintenances/{id}/close")
def close(
    services: ServicesDep, write: Write, id: str, body: Reason | None = None
) -> Json:
    """Give a stuck maintenance up."""
    reason = body.reason if body else None
    once = write.idempotency_key(200, _render)
    maintenance = services.engine.close(id, by=write.by, reason=reason, once=once)
    return _current_view(services, maintenance)


# --- events ------------------------------------------------------------------


@router.get("/v1/events")
def list_events(
    services: ServicesDep,
    by: Caller,
    phase: Annotated[list[str] | None, Query(description="may be repeated")] = None,
    limit: Limit = 100,
    after: After = None,
) -> Json:
    """List events in the order of announcement."""
    phases = [parse_choice(Phase, item, "phase") for item in phase or ()]
    services.engine.save_observations()
    with services.engine.store.snapshot() as snapshot:
        rows = _events_page(snapshot, by, phases, after, limit + 1)
        return page(
            rows,
            limit,
            lambda item: event_view(item[1], item[2], _seen_by(snapshot)),
            lambda item: item[0],
        )


@router.get("/v1/events/{id}")
def get_event(services: ServicesDep, by: Caller, id: str) -> Json:
    """Show an event."""
    services.engine.save_observations()
    with services.engine.store.snapshot() as snapshot:
        maintenance, event = find_event(snapshot, id, group=by.group)
        return event_view(maintenance, event, _seen_by(snapshot))


@router.post("/v1/events/{id}/approve")
def approve(services: ServicesDep, write: Write, id: str) -> Json:
    """Approve an event on behalf of the operator, or of the group that it is for."""

    def view(maintenance: Maintenance, snapshot: Snapshot) -> Json:
        return event_view(
            maintenance, maintenance.event(id.upper()), _seen_by(snapshot)
        )

    def render(maintenance: Maintenance, snapshot: Snapshot) -> str:
        return to_json(view(maintenance, snapshot))

    once = write.idempotency_key(200, render)
    approved = services.engine.approve(
        id, by=write.by, group=write.holder.group, once=once
    )
    with services.engine.store.snapshot() as snapshot:
        return view(approved, snapshot)


# --- reading and showing -----------------------------------------------------


def _seen_by(snapshot: Snapshot) -> SeenBy:
    return lambda event: [sight.vm for sight in snapshot.seen(event)]


def _view(maintenance: Maintenance, snapshot: Snapshot) -> Json:
    return maintenance_view(maintenance, _seen_by(snapshot))


def _render(maintenance: Maintenance, snapshot: Snapshot) -> str:
    return to_json(_view(maintenance, snapshot))


def _current_view(services: ServicesDep, maintenance: Maintenance) -> Json:
    with services.engine.store.snapshot() as snapshot:
        return _view(maintenance, snapshot)


def _events_page(
    snapshot: Snapshot,
    by: TokenHolder,
    phases: Sequence[Phase],
    after: str | None,
    limit: int,
) -> list[tuple[str, Maintenance, Event]]:
    """Return events after the cursor, which counts maintenances and events in them."""
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
