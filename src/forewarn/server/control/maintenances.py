"""Maintenances and events."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from forewarn.core.maintenance import Event, Maintenance, Phase
from forewarn.engine import foreseeing
from forewarn.engine.lookup import find_event
from forewarn.engine.telling import explain_maintenance, tell_story
from forewarn.engine.tokens import Holder
from forewarn.ports import Snapshot
from forewarn.server.control.asked import Caller, Change, Service
from forewarn.server.control.bodies import Announcement, Reason, order_of, word
from forewarn.server.control.pages import After, Limit, number, page
from forewarn.server.control.reach import find_for, shown_to
from forewarn.server.control.views import (
    Json,
    SeenBy,
    announced_view,
    event_view,
    explanation_view,
    maintenance_view,
    preview_view,
    story_view,
    written,
)

router = APIRouter(tags=["maintenances"])


# --- maintenances ------------------------------------------------------------


@router.post("/v1/maintenances", status_code=201)
def announce(service: Service, asked: Change, body: Announcement) -> Json:
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
    made = foreseeing.preview(service.engine, order_of(body), by=by.name)
    return {
        "maintenances": [preview_view(each.maintenance) for each in made],
        "explained": [explanation_view(each.explanation) for each in made],
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
    phases = [word(Phase, each, "phase") for each in phase or ()]
    service.engine.write_notes()
    with service.engine.store.snapshot() as snapshot:
        found = snapshot.maintenances(
            phases=phases, after=number(after), limit=limit + 1, group=by.group
        )
        return page(
            found,
            limit,
            lambda each: _view(shown_to(by, each[1]), snapshot),
            lambda each: each[0],
        )


@router.get("/v1/maintenances/{id}")
def get_maintenance(service: Service, by: Caller, id: str) -> Json:
    """Show a maintenance, by its own id or that of one of its events."""
    service.engine.write_notes()
    with service.engine.store.snapshot() as snapshot:
        return _view(find_for(by, snapshot, id), snapshot)


@router.get("/v1/maintenances/{id}/explain")
def explain(service: Service, by: Caller, id: str) -> Json:
    """Explain what a maintenance waits for, since when, and who could open it."""
    return explanation_view(explain_maintenance(service.engine, id, only=by.group))


@router.get("/v1/maintenances/{id}/story")
def story(service: Service, by: Caller, id: str) -> Json:
    """Tell the whole life of a maintenance, in order."""
    return story_view(tell_story(service.engine, id, only=by.group))


@router.post("/v1/maintenances/{id}/cancel")
def cancel(
    service: Service, asked: Change, id: str, body: Reason | None = None
) -> Json:
    """Call a maintenance off; only possible before it has started."""
    reason = body.reason if body else None
    once = asked.once(200, _render)
    done = service.engine.cancel(id, by=asked.by, reason=reason, once=once)
    return _shown(service, done)


@router.post("/v1/maintenances/{id}/complete")
def complete(service: Service, asked: Change, id: str) -> Json:
    """Say that the work is done and the duration over."""
    once = asked.once(200, _render)
    return _shown(service, service.engine.complete(id, by=asked.by, once=once))


@router.post("/v1/maintenances/{id}/retry")
def retry(service: Service, asked: Change, id: str) -> Json:
    """Let the driver try again what is still to do of a stuck maintenance."""
    once = asked.once(200, _render)
    return _shown(service, service.engine.retry(id, by=asked.by, once=once))


@router.post("/v1/maintenances/{id}/close")
def close(service: Service, asked: Change, id: str, body: Reason | None = None) -> Json:
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
    phases = [word(Phase, each, "phase") for each in phase or ()]
    service.engine.write_notes()
    with service.engine.store.snapshot() as snapshot:
        found = _events(snapshot, by, phases, after, limit + 1)
        return page(
            found,
            limit,
            lambda each: event_view(each[1], each[2], _seen_by(snapshot)),
            lambda each: each[0],
        )


@router.get("/v1/events/{id}")
def get_event(service: Service, by: Caller, id: str) -> Json:
    """Show an event."""
    service.engine.write_notes()
    with service.engine.store.snapshot() as snapshot:
        found, event = find_event(snapshot, id, only=by.group)
        return event_view(found, event, _seen_by(snapshot))


@router.post("/v1/events/{id}/approve")
def approve(service: Service, asked: Change, id: str) -> Json:
    """Approve an event on behalf of the operator, or of the group that it is for."""

    def view(found: Maintenance, snapshot: Snapshot) -> Json:
        return event_view(found, found.event(id.upper()), _seen_by(snapshot))

    def render(found: Maintenance, snapshot: Snapshot) -> str:
        return written(view(found, snapshot))

    once = asked.once(200, render)
    found = service.engine.approve(id, by=asked.by, only=asked.holder.group, once=once)
    with service.engine.store.snapshot() as snapshot:
        return view(found, snapshot)


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
    by: Holder,
    phases: Sequence[Phase],
    after: str | None,
    limit: int,
) -> list[tuple[str, Maintenance, Event]]:
    """Events after the cursor, which counts maintenances and events in them."""
    first, _, skipped = (after or "0.0").partition(".")
    position, skip = number(first), number(skipped or "0")
    begin = position - 1 if skip else position
    found: list[tuple[str, Maintenance, Event]] = []
    while len(found) < limit:
        listed = snapshot.maintenances(
            phases=phases, after=begin, limit=limit, group=by.group
        )
        for ordinal, each in listed:
            start = skip if ordinal == position else 0
            found += [
                (f"{ordinal}.{i}", each, event)
                for i, event in enumerate(each.events, 1)
                if i > start and by.group in (None, event.group)
            ]
            begin = ordinal
        if len(listed) < limit:
            break
    return found[:limit]
