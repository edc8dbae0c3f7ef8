"""The journal: in pages, and as a stream."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from forewarn.ports import Store
from forewarn.server.control.asked import Caller, Service
from forewarn.server.control.pages import After, Limit, number, page
from forewarn.server.control.views import Json, entry_view

router = APIRouter(tags=["journal"])

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
    service: Service, by: Caller, limit: Limit = 100, after: After = None
) -> Json:
    """Read the journal; positions have no gaps."""
    del by
    service.engine.write_notes()
    found = service.engine.store.facts(number(after), limit + 1)
    return page(found, limit, entry_view, lambda entry: entry.position)


@router.get("/v1/stream", response_class=StreamingResponse)
def stream(
    request: Request,
    service: Service,
    by: Caller,
    after: After = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Follow the journal by server-sent events, from now or after a position."""
    del by
    store, streams = service.engine.store, request.app.state.streams
    start = last_event_id if last_event_id is not None else after
    if start is None:
        with store.snapshot() as snapshot:
            position = snapshot.position()
    else:
        position = number(start)
    return StreamingResponse(
        _follow(store, streams, position),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store"},
    )


async def _follow(store: Store, streams: Streams, position: int) -> AsyncIterator[str]:
    bell = streams.join()
    try:
        yield ": the journal of forewarn\n\n"
        while not streams.is_closed:
            bell.clear()
            entries = await run_in_threadpool(store.facts, position, _BATCH)
            for entry in entries:
                view = entry_view(entry)
                position = entry.position
                yield f"id: {position}\nevent: {view['fact']}\n"
                yield f"data: {json.dumps(view)}\n\n"
            if not entries:
                try:
                    await asyncio.wait_for(bell.wait(), _KEEP_ALIVE)
                except TimeoutError:
                    yield ": still here\n\n"
    finally:
        streams.leave(bell)
