"""The overview: maintenance operations with everything that a portal page shows."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from forewarn.core.queries.views import Json, maintenance_view
from forewarn.engine.overview import (
    WAITS,
    Overview,
    OverviewItem,
    PageCursor,
    show_named,
    show_page,
)
from forewarn.server.control import models as m
from forewarn.server.control.context import (
    After,
    Caller,
    Limit,
    ServicesDep,
    ViewRoute,
    parse_number,
)

router = APIRouter(tags=["maintenances"], route_class=ViewRoute)

_MAX_IDS = 100  # ids
_ENDED = "e"  # cursor prefix for pages of ended operations

_Id = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=255)]] | None,
    Query(
        max_length=_MAX_IDS,
        description="ID of a maintenance operation or event in any phase; may be"
        " repeated. The response contains only these operations, on one page",
    ),
]
_Since = Annotated[
    str | None,
    Query(
        description="include operations that ended since this time (RFC 3339 with a"
        " time zone)"
    ),
]


@router.get("/v1/overview", response_model=m.OverviewView)
def overview(
    services: ServicesDep,
    by: Caller,
    id: _Id = None,
    since: _Since = None,
    limit: Limit = 100,
    after: After = None,
) -> Json:
    """List live maintenance operations in order of announcement, with what each one is
    waiting for and its possible commands.

    With `since`, the list continues with operations that have ended, latest first. Each
    item lists its first 20 waits; `explain` lists all. If the journal is long, a page
    may contain few items, or none, even if more follow: continue until `next` is null.
    To avoid missing changes, follow the stream from the `position` of the first page.
    """
    engine, group = services.engine, by.group
    if id is not None:
        return _overview_view(show_named(engine, id, group=group), engine.clock.name)
    since_time = None if since is None else m.parse_time(since, "since")
    place = _parse_cursor(after)
    page = show_page(engine, since=since_time, place=place, limit=limit, group=group)
    return _overview_view(page, engine.clock.name)


def _parse_cursor(after: str | None) -> PageCursor:
    if after is not None and after.startswith(_ENDED):
        return PageCursor(before=parse_number(after.removeprefix(_ENDED)))
    return PageCursor(ordinal=parse_number(after))


def _cursor_text(cursor: PageCursor | None) -> str | None:
    if cursor is None:
        return None
    return str(cursor.ordinal) if cursor.before is None else f"{_ENDED}{cursor.before}"


def _overview_view(overview: Overview, clock: str) -> Json:
    return {
        "position": overview.position,
        "clock": clock,
        "now": overview.now,
        "items": [_item_view(item) for item in overview.items],
        "next": _cursor_text(overview.next),
    }


def _item_view(item: OverviewItem) -> Json:
    seen: dict[str, list[str]] = {}
    for sight in item.sights:
        seen.setdefault(sight.event, []).append(sight.vm)
    explanation = item.explanation
    return {
        "maintenance": maintenance_view(
            item.maintenance, lambda event: seen.get(event, ())
        ),
        "due": explanation.due,
        "waits": explanation.waits[:WAITS],
        "starts_at_latest": explanation.starts_at_latest,
        "can": item.choices,
        "seen": item.sights,
    }
