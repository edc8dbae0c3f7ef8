"""The journal (/v1/journal), its stream (/v1/stream) and the report (/v1/report).

Side events of the stream report the clock, active faults, and limited tokens and VMs.
They are not in the journal and therefore have no ID. A client that reconnects receives
them again.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse
from pydantic import Field, WithJsonSchema

from forewarn.configfile.values import at
from forewarn.core.health import Health
from forewarn.core.lifecycle.facts import JournalEntry
from forewarn.core.queries.report import MonthlyReport, month_named
from forewarn.core.queries.search import Search, fact_kind, fold_names
from forewarn.core.queries.views import Json, entry_view, maintenance_of
from forewarn.engine.queries import (
    find_entries,
    find_newest_entries,
    report_on,
    resolve_ids,
)
from forewarn.engine.tokens import TokenHolder
from forewarn.formats import count
from forewarn.ports import Snapshot
from forewarn.server.control import models as m
from forewarn.server.control.auth.token_limits import LimitedToken
from forewarn.server.control.context import (
    After,
    Caller,
    Limit,
    Services,
    ServicesDep,
    ViewRoute,
    parse_number,
)
from forewarn.server.control.openapi import text_in
from forewarn.server.control.routes.fleet import limited_for
from forewarn.server.control.routes.rehearsal import clock_view, fault_views
from forewarn.server.metadata.limits import LimitedVm

router = APIRouter(tags=["journal"], route_class=ViewRoute)

_MAX_VALUES = 100  # per parameter
_BATCH = 100  # entries sent at once by a stream
_STEP = 500  # entries that a stream reads before other streams get a turn
_KEEP_ALIVE = 15.0  # seconds between keep-alives
_MAX_LIMITED = 3  # VMs in a side event


class SideEvent(StrEnum):
    """Kinds of events in the stream that are not journal entries."""

    #: The time, sent with each keep-alive and whenever a manual clock moves.
    CLOCK = "clock"
    #: The active faults, sent whenever they change.
    FAULTS = "faults"
    #: Tokens with refused requests in the last five minutes, and VMs with refused
    #: requests in the last hour.
    LIMITS = "limits"
    #: Problems and warnings, as in /readyz, sent whenever they change.
    HEALTH = "health"


# --- search parameters -------------------------------------------------------


def _repeatable(what: str) -> object:
    return Query(
        max_length=_MAX_VALUES, description=f"{what}; may be repeated to match any"
    )


_Name = Annotated[str, Field(min_length=1, max_length=255)]
_Names = list[_Name] | None
_Group = Annotated[_Names, _repeatable("entries that concern this group")]
_Vm = Annotated[_Names, _repeatable("entries that concern this VM")]
_By = Annotated[_Names, _repeatable("entries caused by this token or VM")]
_Fact = Annotated[_Names, _repeatable("entries that record this kind of fact")]
_Maintenance = Annotated[
    _Names,
    _repeatable(
        "entries about this maintenance operation: its ID, the ID of one of its events,"
        " or the name of a VM, host or group with only one operation that has not ended"
    ),
]
_Since = Annotated[
    str | None,
    Query(description="entries at or after this time (RFC 3339 with a time zone)"),
]
_Until = Annotated[
    str | None,
    Query(description="entries before this time (RFC 3339 with a time zone)"),
]


async def _search(
    group: _Group = None,
    vm: _Vm = None,
    by: _By = None,
    fact: _Fact = None,
    maintenance: _Maintenance = None,
) -> Search:
    """Return the search without its times; `maintenance` is not resolved."""
    return Search(
        groups=fold_names(group or ()),
        vms=fold_names(vm or ()),
        by=fold_names(by or ()),
        kinds=frozenset(map(fact_kind, fact or ())),
        maintenances=frozenset(maintenance or ()),
    )


_Search = Annotated[Search, Depends(_search)]


async def _timed_search(
    search: _Search, since: _Since = None, until: _Until = None
) -> Search:
    """Return the search with its times."""
    return replace(
        search,
        since=None if since is None else m.parse_time(since, "since"),
        until=None if until is None else m.parse_time(until, "until"),
    )


_TimedSearch = Annotated[Search, Depends(_timed_search)]

_Order = Annotated[
    Literal["oldest", "newest"], Query(description="which entries come first")
]
_Also = Annotated[
    list[SideEvent] | None,
    Query(
        description=(
            "other kinds of events to send in addition to journal entries; may be"
            " repeated"
        )
    ),
]
_EventId = Annotated[
    str | None,
    Header(),
    WithJsonSchema({"type": "string", "pattern": "^[0-9]{1,18}$"}),
]
_Month = Annotated[
    str | None, Query(description="month, such as 2026-11; default: the current month")
]
_ReportGroup = Annotated[
    str | None,
    Query(min_length=1, max_length=255, description="default: all groups"),
]

# --- endpoints ---------------------------------------------------------------


@router.get(
    "/v1/journal", response_model=m.page_of("Journal", m.EntryView), responses={404: {}}
)
def read_journal(
    services: ServicesDep,
    by: Caller,
    search: _TimedSearch,
    limit: Limit = 100,
    after: After = None,
    order: _Order = "oldest",
) -> Json:
    """Read the journal, or only the entries that match all filters.

    If the journal is long, a page may contain few entries, or none, even if more
    follow, because each request scans a limited part. Continue until `next` is null.
    """
    group = by.group
    services.engine.save_observations()
    with services.engine.store.snapshot() as snapshot:
        resolved = resolve_ids(snapshot, search, group=group)
        if order == "newest":
            before = None if after is None else parse_number(after)
            result = find_newest_entries(
                snapshot, resolved, before=before, limit=limit, group=group
            )
        else:
            result = find_entries(
                snapshot, resolved, after=parse_number(after), limit=limit, group=group
            )
        items = _views(snapshot, result.entries)
    return {
        "items": items,
        "next": result.position if result.has_more else None,
    }


@router.get(
    "/v1/stream",
    response_class=Response,
    responses={**text_in("text/event-stream"), 404: {}},
)
def stream(
    request: Request,
    services: ServicesDep,
    by: Caller,
    search: _Search,
    after: After = None,
    also: _Also = None,
    last_event_id: _EventId = None,
) -> StreamingResponse:
    """Stream journal entries as server-sent events, from now or after a position."""
    store, streams = services.engine.store, request.app.state.streams
    start = last_event_id if last_event_id is not None else after
    with store.snapshot() as snapshot:
        resolved = resolve_ids(snapshot, search, group=by.group)
        position = snapshot.position() if start is None else parse_number(start)

    def read(after: int) -> tuple[str, int] | None:
        if not services.sessions.is_good(by):
            return None
        with store.snapshot() as snapshot:
            found = find_entries(
                snapshot,
                resolved,
                after=after,
                limit=_BATCH,
                group=by.group,
                max_reads=_STEP,
            )
            views = _views(snapshot, found.entries)
        return _text(views, after, found.position), found.position

    async def read_in_turn(after: int) -> tuple[str, int] | None:
        async with services.work_slots.slot(by):
            return await run_in_threadpool(read, after)

    side_events = SideEvents(services, by, also or ())
    return StreamingResponse(
        _follow(read_in_turn, streams, position, side_events),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store"},
    )


@router.get(
    "/v1/report", response_model=m.view_of("Report", MonthlyReport), responses={404: {}}
)
def report(
    services: ServicesDep, by: Caller, month: _Month = None, group: _ReportGroup = None
) -> MonthlyReport:
    """Report on one month (UTC): what happened, and whether VMs got the promised
    notice.
    """
    del by
    with at("month"):
        named = None if month is None else month_named(month)
    return report_on(services.engine, named, group)


# --- side events -------------------------------------------------------------


class SideEvents:
    """The side events for one client of the stream."""

    def __init__(
        self, services: Services, holder: TokenHolder, also: Sequence[SideEvent]
    ) -> None:
        """Initialize the side events listed in `also` for `holder`."""
        self._engine = services.engine
        self._health = services.health
        self._plane = services.plane
        self._token_limits = services.token_limits
        self._holder = holder
        self._also = [*dict.fromkeys(also)]
        self._sent: dict[SideEvent, object] = {}

    def changed(self) -> Iterator[str]:
        """Yield events that changed since they were last sent; at first, yield all."""
        for name in self._also:
            view, identity = self._view(name)
            if name not in self._sent or self._sent[name] != identity:
                self._sent[name] = identity
                yield _side_event_text(name, view)

    def periodic(self) -> Iterator[str]:
        """Yield the events that are sent with each keep-alive."""
        if SideEvent.CLOCK in self._also:
            yield _side_event_text(SideEvent.CLOCK, clock_view(self._engine))

    def _view(self, name: SideEvent) -> tuple[Json, object]:
        """Return an event's data, and the part of it whose changes cause a resend."""
        if name is SideEvent.CLOCK:
            view = clock_view(self._engine)
            return view, view["now"] if view["clock"] == "manual" else None
        if name is SideEvent.HEALTH:
            return _health_view(self._health())
        sees_all = self._holder.group is None
        if name is SideEvent.LIMITS:
            limited = [
                _token_limit_view(token)
                for token in self._token_limits.recent()
                if sees_all or token.token == self._holder.name
            ]
            limited += _vm_limit_views(limited_for(self._holder, self._plane))
            return {"items": limited}, limited
        faults = fault_views(self._plane.faults) if sees_all else []
        # The remaining time changes on its own.
        return {"items": faults}, [{**fault, "left_seconds": None} for fault in faults]


def _token_limit_view(limited: LimitedToken) -> Json:
    refused = count(limited.refused, "request")
    return {
        "token": limited.token,
        "limit": limited.limit,
        "refused": limited.refused,
        "text": f"token {limited.token}, {refused} refused recently"
        f" ({limited.limit}: at most {limited.allowed} at once)",
    }


def _vm_limit_views(limited: Sequence[LimitedVm]) -> Iterator[Json]:
    """Yield the most recently limited VMs and the number of others."""
    for vm in limited[:_MAX_LIMITED]:
        refused = count(vm.refused, "request")
        limits = ", ".join(sorted(limit.replace("_", " ") for limit in vm.counts))
        text = f"VM {vm.name}, {refused} refused in the last hour ({limits})"
        yield {"vm": vm.name, "refused": vm.refused, "text": text}
    others = limited[_MAX_LIMITED:]
    if others:
        total = sum(vm.refused for vm in others)
        yield {"vm": None, "refused": total, "text": count(len(others), "other VM")}


def _health_view(health: Health) -> tuple[Json, object]:
    """Return problems and warnings, and separately their texts without durations."""
    items: list[Json] = [
        {"text": problem.text, "seconds": round(problem.seconds)}
        for problem in health.problems
    ]
    items += [{"text": warning, "seconds": None} for warning in health.warnings]
    return {"items": items}, [item["text"] for item in items]


def _side_event_text(name: SideEvent, view: Json) -> str:
    return f"event: {name}\ndata: {json.dumps(view)}\n\n"


# --- the stream --------------------------------------------------------------


class JournalStreams:
    """Wakes the streams that follow the journal."""

    def __init__(self) -> None:
        """Initialize with no followers."""
        self.is_closed = False
        self._bells: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    def join(self) -> asyncio.Event:
        """Return an event that is set whenever there may be entries to read."""
        bell = asyncio.Event()
        self._bells[bell] = asyncio.get_running_loop()
        return bell

    def leave(self, bell: asyncio.Event) -> None:
        """Remove a follower's event."""
        self._bells.pop(bell, None)

    def ring(self) -> None:
        """Wake all followers; safe to call from any thread."""
        for bell, loop in [*self._bells.items()]:
            with suppress(RuntimeError):  # its loop has ended
                loop.call_soon_threadsafe(bell.set)

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        self.ring()


async def _follow(
    read: Callable[[int], Awaitable[tuple[str, int] | None]],
    streams: JournalStreams,
    position: int,
    side_events: SideEvents,
) -> AsyncIterator[str]:
    """Yield the text and side events after `position`, until `read` returns None."""
    bell = streams.join()
    try:
        yield ": the journal of forewarn\n\n" + "".join(side_events.changed())
        while not streams.is_closed:
            bell.clear()
            result = await read(position)
            if result is None:
                return
            entries, reached = result
            if text := entries + "".join(side_events.changed()):
                yield text
            is_end = reached <= position
            position = max(position, reached)
            if is_end:
                try:
                    await asyncio.wait_for(bell.wait(), _KEEP_ALIVE)
                except TimeoutError:
                    yield ": still here\n\n" + "".join(side_events.periodic())
    finally:
        streams.leave(bell)


def _text(views: Sequence[Json], position: object, end: int) -> str:
    """Return entries as event text, including the position where clients resume."""
    texts = []
    for view in views:
        position, data = view["position"], json.dumps(view)
        texts.append(f"id: {position}\nevent: {view['fact']}\ndata: {data}\n\n")
    if position != end:
        texts.append(f"id: {end}\n\n")
    return "".join(texts)


def _views(snapshot: Snapshot, entries: Sequence[JournalEntry]) -> list[Json]:
    guids = {maintenance_of(entry.fact) for entry in entries} - {None}
    labels = snapshot.labels(*map(str, guids))
    return [entry_view(entry, labels) for entry in entries]
