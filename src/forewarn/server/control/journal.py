"""The journal: in pages, and as a stream."""

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
_KEEP_ALIVE = 15.0  # seconds between signs of life


class Streams:
    """Wakes those who follow the journal."""

    def __init__(self) -> None:
        """Begin with no followers."""
        self.is_closed = False
        self._bells: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}

    def join(self) -> asyncio.Event:
        """Get a bell that rings whenever there may be something to read."""
        bell = asyncio.Event()
        self._bells[bell] = asyncio.get_running_loop()
        return bell

    def leave(self, bell: asyncio.Event) -> None:
        """Give a bell back."""
        self._bells.pop(bell, None)

    def ring(self) -> None:
        """Wake all followers; from any thread."""
        for bell, loop in [*self._bells.items()]:
            with suppress(RuntimeError):  # its loop has ended
                loop.call_soon_threadsafe(bell.set)

    def close(self) -> None:
        """Let all followers go."""
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
        wanted = resolve(snapshot, search, only=only)
        if order == "newest":
            before = None if after is None else number(after)
            found = find_newest(snapshot, wanted, before=before, limit=limit, only=only)
        else:
            found = find(snapshot, wanted, after=number(after), limit=limit, only=only)
    return {
        "items": [entry_view(entry) for entry in found.entries],
        "next": found.position if found.has_more else None,
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
        wanted = resolve(snapshot, search, only=by.group)
        position = snapshot.position() if start is None else number(start)

    def read(after: int) -> Found | None:
        if not service.sessions.is_good(by):
            return None
        with store.snapshot() as snapshot:
            return find(snapshot, wanted, after=after, limit=_BATCH, only=by.group)

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
    """Send what `read` finds behind a position, until it finds that all is over."""
    bell = streams.join()
    try:
        yield ": the journal of forewarn\n\n"
        for text in beside.news():
            yield text
        while not streams.is_closed:
            bell.clear()
            found = await run_in_threadpool(read, position)
            if found is None:
                return
            for text in _told(found, position, beside):
                yield text
            is_end = found.position <= position
            position = max(position, found.position)
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
    """Write what was found behind a position, and what else is new."""
    for entry in found.entries:
        yield _sent(entry)
    if found.position > max(position, _last(found)):
        yield f"id: {found.position}\n\n"  # who comes back need not go back
    yield from beside.news()


def _last(found: Found) -> int:
    return found.entries[-1].position if found.entries else 0


def _sent(entry: Entry) -> str:
    view = entry_view(entry)
    head = f"id: {entry.position}\nevent: {view['fact']}\n"
    return f"{head}data: {json.dumps(view)}\n\n"
