"""Endpoints for maintenance operations and their events."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from forewarn.core.lifecycle.model import Event, Maintenance, Phase
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
    Service,
    Write,
    number,
    page,
)
from forewarn.server.control.models import (
    Announcement,
    Json,
    Reason,
    SeenBy,
    announced_view,
    event_view,
    explanation_view,
    maintenance_view,
    order_of,
    preview_view,
    story_view,
    word,
    written,
)

router = APIRouter(tags=["maintenances"])


# --- maintenance operations --------------------------------------------------


@router.post("/v1/maintenances", status_code=201)
def announce(service: Service, asked: Write, body: Announcement) -> Json:
    """Announce maintenance; several acts are several maintenances."""

    def render(made: Sequence[Maintenance], snapshot: Snapshot) -> str:
        del snapshot
        return written(announced_view(made))

    once = asked.once(201, render)
    return announced_view(
        service.engine.announce(order_of(body), by=asked.by, once=once)
    )


@router.post("/v1/maintenances/preview")
def preview(service: Service, by: Caller, body: Announcement) -> Json:
    """Show what would be announced, and what each would wait for; change nothing."""
    previews = queries.preview(service.engine, order_of(body), by=by.name)
    return {
        "maintenances": [preview_view(previewed.maintenance) for previewed in previews],
        "explained": [
            explanation_view(previewed.explanation) for previewed in previews
        ],
    }


@router.get("/v1/maintenances")
def list_maintenances(
    service: Service,
    by: Caller,
    phase: Annotated[list[str] | None, Query(description="may be repeated")] = None,
    limit: Limit = 100,
    after: After = None,
) -> Json:
    """List maintenances in the order of announcement."""
    phases = [word(Phase, item, "phase") for item in phase or ()]
    service.engine.save_observations()
    with service.engine.store.snapshot() as snapshot:
        rows = snapshot.maintenances(
            phases=phases, after=number(after), limit=limit + 1, group=by.group
        )
        return page(
            rows,
            limit,
            lambda item: _view(shown_to(by, item[1]), snapshot),
            lambda item: item[0],
        )


@router.get("/v1/maintenances/{id}")
def get_maintenance(service: Service, by: Caller, id: str) -> Json:
    """Show a maintenance, by its own id or that of one of its events."""
    service.engine.save_observations()
    with service.engine.store.snapshot() as snapshot:
        return _view(find_for(by, snapshot, id), snapshot)


@router.get("/v1/maintenances/{id}/explain")
def explain(service: Service, by: Caller, id: str) -> Json:
    """Explain what a maintenance waits for, since when, and who could open it."""
    return explanation_view(explain_maintenance(service.engine, id, group=by.group))


@router.get("/v1/maintenances/{id}/story")
def story(service: Service, by: Caller, id: str) -> Json:
    """Tell the whole life of a maintenance, in order."""
    return story_view(story_of_maintenance(service.engine, id, group=by.group))


@router.post("/v1/maintenances/{id}/cancel")
def cancel(service: Service, asked: Write, id: str, body: Reason | None = None) -> Json:
    """Call a maintenance off; only possible before it has started."""
    reason = body.reason if body else None
    once = asked.once(200, _render)
    done = service.engine.cancel(id, by=asked.by, reason=reason, once=once)
    return _shown(service, done)


@router.post("/v1/maintenances/{id}/complete")
def complete(service: Service, asked: Write, id: str) -> Json:
    """Say that the work is done and the duration over."""
    once = asked.once(200, _render)
    return _shown(service, service.engine.complete(id, by=asked.by, once=once))


@router.post("/v1/maintenances/{id}/retry")
def retry(service: Service, asked: Write, id: str) -> Json:
    """Let the driver try again what is still to do of a stuck maintenance."""
    once = asked.once(200, _render)
    return _shown(service, service.engine.retry(id, by=asked.by, once=once))


@router.post("/v1/maintenances/{id}/close")
def close(service: Service, asked: Write, id: str, body: Reason | None = None) -> Json:
    """Give a stuck maintenance up."""
    reason = body.reason if body else None
    once = asked.once(200, _render)
    done = service.engine.close(id, by=asked.by, reason=reason, once=once)
    return _shown(service, done)


# --- events ------------------------------------------------------------------


@router.get("/v1/events")
def list_events(
    service: Service,
    by: Caller,
    phase: Annotated[list[str] | None, Query(description="may be repeated")] = None,
    limit: Limit = 100,
    after: After = None,
) -> Json:
    """List events in the order of announcement."""
    phases = [word(Phase, item, "phase") for item in phase or ()]
    service.engine.save_observations()
    with service.engine.store.snapshot() as snapshot:
        rows = _events(snapshot, by, phases, after, limit + 1)
        return page(
            rows,
            limit,
            lambda item: event_view(item[1], item[2], _seen_by(snapshot)),
            lambda item: item[0],
        )


@router.get("/v1/events/{id}")
def get_event(service: Service, by: Caller, id: str) -> Json:
    """Show an event."""
    service.engine.save_observations()
    with service.engine.store.snapshot() as snapshot:
        maintenance, event = find_event(snapshot, id, group=by.group)
        return event_view(maintenance, event, _seen_by(snapshot))


@router.post("/v1/events/{id}/approve")
def approve(service: Service, asked: Write, id: str) -> Json:
    """Approve an event on behalf of the operator, or of the group that it is for."""

    def view(found: Maintenance, snapshot: Snapshot) -> Json:
        return event_view(found, found.event(id.upper()), _seen_by(snapshot))

    def render(found: Maintenance, snapshot: Snapshot) -> str:
        return written(view(found, snapshot))

    once = asked.once(200, render)
    approved = service.engine.approve(
        id, by=asked.by, group=asked.holder.group, once=once
    )
    with service.engine.store.snapshot() as snapshot:
        return view(approved, snapshot)


# --- reading and showing -----------------------------------------------------


def _seen_by(snapshot: Snapshot) -> SeenBy:
    return lambda event: [sight.vm for sight in snapshot.seen(event)]


def _view(found: Maintenance, snapshot: Snapshot) -> Json:
    return maintenance_view(found, _seen_by(snapshot))


def _render(found: Maintenance, snapshot: Snapshot) -> str:
    return written(_view(found, snapshot))


def _shown(service: Service, found: Maintenance) -> Json:
    with service.engine.store.snapshot() as snapshot:
        return _view(found, snapshot)


def _events(
    snapshot: Snapshot,
    by: TokenHolder,
    phases: Sequence[Phase],
    after: str | None,
    limit: int,
) -> list[tuple[str, Maintenance, Event]]:
    """Return events after the cursor, which counts maintenances and events in them."""
    first, _, skipped = (after or "0.0").partition(".")
    position, skip = number(first), number(skipped or "0")
    begin = position - 1 if skip else position
    rows: list[tuple[str, Maintenance, Event]] = []
    while len(rows) < limit:
        listed = snapshot.maintenances(
            phases=phases, after=begin, limit=limit, group=by.group
        )
        for ordinal, maintenance in listed:
            start = skip if ordinal == position else 0
            rows += [
                (f"{ordinal}.{i}", maintenance, event)
                for i, event in enumerate(maintenance.events, 1)
                if i > start and by.group in (None, event.group)
            ]
            begin = ordinal
        if len(listed) < limit:
            break
    return rows[:limit]
