"""Journal endpoints: pages, and a stream of server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from forewarn.core.facts import Entry
from forewarn.engine.searching import Found, find, find_newest, resolve
from forewarn.server.control.asked import Caller, Service
from forewarn.server.control.beside import Also, Beside
from forewarn.server.control.pages import After, Limit, number
from forewarn.server.control.searches import Searched, Within
from forewarn.server.control.views import Json, entry_view

router = APIRouter(tags=["journal"])

Order = Annotated[
    Literal["oldest", "newest"], Query(description="which facts come first")
]

_Also = Annotated[
    list[Also] | None,
    Query(description="what is told beside the facts; may be repeated"),
]

_BATCH = 100
_KEEP_ALIVE = 15.0  # seconds between keep-alives


class Streams:
    """Wakes the streams that follow the journal."""

    def __init__(self) -> None:
        """Start without followers."""
        self.is_closed = False
        self._bells: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    def join(self) -> asyncio.Event:
        """Return an event that is set whenever there may be something to read."""
        bell = asyncio.Event()
        self._bells[bell] = asyncio.get_running_loop()
        return bell

    def leave(self, bell: asyncio.Event) -> None:
        """Remove the event of a follower."""
        self._bells.pop(bell, None)

    def ring(self) -> None:
        """Wake all followers; safe from any thread."""
        for bell, loop in [*self._bells.items()]:
            with suppress(RuntimeError):  # its loop has ended
                loop.call_soon_threadsafe(bell.set)

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        self.ring()


@router.get("/v1/journal")
def read_journal(
    service: Service,
    by: Caller,
    search: Within,
    limit: Limit = 100,
    after: After = None,
    order: Order = "oldest",
) -> Json:
    """Read the journal, or what is asked for of it; other positions are missing.

    Of a long journal a page may hold few facts, or none, though there are more: it
    ends where it has looked at enough. Go on until `next` is null.
    """
    only = by.group
    service.engine.write_notes()
    with service.engine.store.snapshot() as snapshot:
        resolved = resolve(snapshot, search, only=only)
        if order == "newest":
            before = None if after is None else number(after)
            result = find_newest(
                snapshot, resolved, before=before, limit=limit, only=only
            )
        else:
            result = find(
                snapshot, resolved, after=number(after), limit=limit, only=only
            )
    return {
        "items": [entry_view(entry) for entry in result.entries],
        "next": result.position if result.has_more else None,
    }


@router.get("/v1/stream", response_class=StreamingResponse)
def stream(
    request: Request,
    service: Service,
    by: Caller,
    search: Searched,
    after: After = None,
    also: _Also = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Follow the journal by server-sent events, from now or after a position."""
    store, streams = service.engine.store, request.app.state.streams
    start = last_event_id if last_event_id is not None else after
    with store.snapshot() as snapshot:
        resolved = resolve(snapshot, search, only=by.group)
        position = snapshot.position() if start is None else number(start)

    def read(after: int) -> Found | None:
        if not service.sessions.is_good(by):
            return None
        with store.snapshot() as snapshot:
            return find(snapshot, resolved, after=after, limit=_BATCH, only=by.group)

    return StreamingResponse(
        _follow(read, streams, position, Beside(service, by, also or ())),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store"},
    )


async def _follow(
    read: Callable[[int], Found | None],
    streams: Streams,
    position: int,
    beside: Beside,
) -> AsyncIterator[str]:
    """Yield what `read` finds after a position, until it returns None."""
    bell = streams.join()
    try:
        yield ": the journal of forewarn\n\n"
        for text in beside.news():
            yield text
        while not streams.is_closed:
            bell.clear()
            result = await run_in_threadpool(read, position)
            if result is None:
                return
            for text in _told(result, position, beside):
                yield text
            is_end = result.position <= position
            position = max(position, result.position)
            if is_end:
                try:
                    await asyncio.wait_for(bell.wait(), _KEEP_ALIVE)
                except TimeoutError:
                    yield ": still here\n\n"
                    for text in beside.signs():
                        yield text
    finally:
        streams.leave(bell)


def _told(found: Found, position: int, beside: Beside) -> Iterator[str]:
    """Yield the entries after a position, and the side events that have changed."""
    for entry in found.entries:
        yield _sent(entry)
    if found.position > max(position, _last(found)):
        yield f"id: {found.position}\n\n"  # clients resume from here
    yield from beside.news()


def _last(found: Found) -> int:
    return found.entries[-1].position if found.entries else 0


def _sent(entry: Entry) -> str:
    view = entry_view(entry)
    head = f"id: {entry.position}\nevent: {view['fact']}\n"
    return f"{head}data: {json.dumps(view)}\n\n"
