"""Shared parts of routes: dependencies, JSON responses, receipts and list pages."""

import hashlib
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Annotated, Any, TypeAlias, TypeVar

from fastapi import Depends, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import WithJsonSchema
from pydantic_core import to_json
from starlette.exceptions import HTTPException

from forewarn.core.health import Health
from forewarn.core.queries.views import Json
from forewarn.engine.engine import Engine
from forewarn.engine.fleet import FleetCommands
from forewarn.engine.idempotency import IdempotencyKey
from forewarn.engine.operations import Operations
from forewarn.engine.queries import DryRun
from forewarn.engine.readers.notifications import Notifications
from forewarn.engine.sessions import Sessions
from forewarn.engine.timers import ClockAdvance
from forewarn.engine.tokens import TokenHolder, Tokens
from forewarn.errors import InvalidInput
from forewarn.ports import Snapshot
from forewarn.server.control.auth.sign_in_links import SignInLinks
from forewarn.server.control.auth.token_limits import TokenLimits
from forewarn.server.control.auth.work_slots import WorkSlots
from forewarn.server.control.models import dry_run_view
from forewarn.server.metadata.faults.plane import InstrumentedPlane
from forewarn.server.metrics.sources import MetricSources

_T = TypeVar("_T")

#: What an endpoint returns.
Result: TypeAlias = Json | Response

_MAX_KEY = 255  # characters
_MAX_NAMES = 32  # names in a body's object; no model has this many
_DRY_RUN = "dry_run"  # query parameter of requests that support it
_SMALL = 16 * 1024  # bytes that are parsed or hashed on the event loop

Limit = Annotated[int, Query(ge=1, le=1000, description="maximum number of items")]
After = Annotated[
    str | None, Query(description="the `next` value from the previous page")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of the service that routes use."""

    engine: Engine
    fleets: FleetCommands
    operations: Operations
    advance: ClockAdvance
    tokens: Tokens
    sessions: Sessions
    sign_in_links: SignInLinks
    documents_position: Callable[[], int]
    health: Callable[[], Health]  # reads only memory
    notifications: Notifications
    plane: InstrumentedPlane
    token_limits: TokenLimits
    work_slots: WorkSlots
    sources: MetricSources
    started_at: datetime  # by the service's clock


# Dependencies are coroutines, because FastAPI would run functions in worker threads.


async def _get_services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


def get_caller(request: Request) -> TokenHolder:
    """Return the caller that the guard identified."""
    holder: TokenHolder = request.state.caller
    return holder


async def _get_caller(request: Request) -> TokenHolder:
    if request.method != "GET" and _DRY_RUN in request.query_params:
        where = f"{request.method} {request.url.path}"
        raise HTTPException(422, f"{where} has no dry run; nothing was changed")
    return get_caller(request)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """One write request."""

    holder: TokenHolder
    key: str | None  # None without an Idempotency-Key
    digest: str  # empty without an Idempotency-Key
    is_dry_run: bool = False

    @property
    def by(self) -> str:
        """The caller's name in the journal."""
        return self.holder.name

    def idempotency_key(
        self,
        status: int | Callable[[_T], int],
        view: Callable[[_T, Snapshot], Json] | None = None,  # None without a body
    ) -> IdempotencyKey[_T] | None:
        """Return the key under which to store the response, or None without a key."""
        if self.key is None:
            return None

        def receipt(result: _T, snapshot: Snapshot) -> str:
            code = status if isinstance(status, int) else status(result)
            body = b"" if view is None else to_json(view(result, snapshot))
            return f"{code}\n{body.decode()}"

        return IdempotencyKey(
            key=self.key,
            digest=self.digest,
            holder=self.holder.token or "",  # "" means the admin token
            render=receipt,
        )

    def run(
        self,
        command: Callable[..., _T],
        view: Callable[[_T], Json],
        status: int = 200,
    ) -> Result:
        """Run an engine command for the caller; return a view of the result.

        For a dry run, return a view of what the command would do.
        """
        if self.is_dry_run:
            return self.dry_run(command)
        once: IdempotencyKey[_T] | None
        once = self.idempotency_key(status, lambda result, snapshot: view(result))
        return view(command(by=self.by, once=once))

    def dry_run(self, command: Callable[..., object]) -> Response:
        """Run an engine command and undo it; return what it would do."""
        trial = DryRun[object](group=self.holder.group)
        trial.run(command, by=self.by)
        return json_response(dry_run_view(trial), 200)


_IdempotencyHeader = Annotated[
    str | None,
    Header(
        description="key for safe retries: if the same request is repeated with"
        " this key within 24 hours, it is carried out only once and returns the"
        " same response"
    ),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": _MAX_KEY}),
]


async def _write_request(
    request: Request,
    idempotency_key: _IdempotencyHeader = None,
    dry_run: Annotated[
        bool,
        Query(
            description="show what the request would do, or why it would be refused,"
            " but change nothing; the idempotency key is ignored"
        ),
    ] = False,
) -> WriteRequest:
    """Collect what `_final_request` does, and whether this is a dry run."""
    holder = get_caller(request)
    if dry_run:
        return WriteRequest(holder=holder, key=None, digest="", is_dry_run=True)
    return await _final_request(request, holder, idempotency_key)


async def _final_request(
    request: Request,
    holder: Annotated[TokenHolder, Depends(_get_caller)],
    idempotency_key: _IdempotencyHeader = None,
) -> WriteRequest:
    """Collect the caller, the idempotency key, and a digest of the request."""
    if idempotency_key is not None and not 0 < len(idempotency_key) <= _MAX_KEY:
        raise HTTPException(
            422, f"Idempotency-Key: must have 1 to {_MAX_KEY} characters"
        )
    if idempotency_key is None:
        return WriteRequest(holder=holder, key=None, digest="")
    digest = hashlib.sha256(f"{request.method} {request.url.path}\n".encode())
    body = await request.body()
    await _run(digest.update, body)
    key = _own_key(holder, idempotency_key)
    return WriteRequest(holder=holder, key=key, digest=digest.hexdigest())


async def _raw_body(request: Request) -> bytes:
    return await request.body()


ServicesDep = Annotated[Services, Depends(_get_services)]
Caller = Annotated[TokenHolder, Depends(_get_caller)]
Write = Annotated[WriteRequest, Depends(_write_request)]
FinalWrite = Annotated[WriteRequest, Depends(_final_request)]  # has no dry run
Body = Annotated[bytes, Depends(_raw_body)]  # parsed outside the event loop


class BoundedRequest(Request):
    """A request whose body takes little time on the event loop.

    A large body is parsed in a worker thread. An object with too many keys is refused
    without validation, because pydantic would create an error for each key.
    """

    async def json(self) -> Any:
        """Parse the body."""
        body = await self.body()
        parsed = await _run(json.loads, body)
        if isinstance(parsed, dict) and len(parsed) > _MAX_NAMES:
            detail = f"the body has {len(parsed)} keys; the maximum is {_MAX_NAMES}"
            raise HTTPException(422, detail)
        return parsed


async def _run(function: Callable[[bytes], _T], body: bytes) -> _T:
    """Call `function` with a body, in a worker thread if the body is large."""
    if len(body) > _SMALL:
        return await run_in_threadpool(function, body)
    return function(body)


class ViewRoute(APIRoute):
    """A route that serializes its endpoint's result without validating it."""

    def __init__(
        self, path: str, endpoint: Callable[..., object], **options: Any
    ) -> None:
        """Create a route whose `response_model` only documents the response."""

        @wraps(endpoint)
        def respond(**values: object) -> Response:
            view = endpoint(**values)
            if isinstance(view, Response):
                return view
            if view is None:
                return Response(status_code=204)
            return json_response(view, options["status_code"] or 200)

        super().__init__(path, respond, **options)

    def get_route_handler(
        self,
    ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that reads bodies through `BoundedRequest`."""
        handle = super().get_route_handler()

        async def handle_bounded(request: Request) -> Response:
            return await handle(BoundedRequest(request.scope, request.receive))

        return handle_bounded


def json_response(
    view: object, status: int, headers: Mapping[str, str] | None = None
) -> Response:
    """Return `view` as a response."""
    return Response(to_json(view), status, headers, media_type="application/json")


def page(
    items: Sequence[_T],
    limit: int,
    view: Callable[[_T], object],
    cursor: Callable[[_T], str | int],
) -> Json:
    """Return a page of up to `limit` items; if there are more, another page follows."""
    shown = items[:limit]
    has_more = len(items) > limit
    return {
        "items": [view(item) for item in shown],
        "next": cursor(shown[-1]) if has_more and shown else None,
    }


def parse_number(after: str | None) -> int:
    """Parse a numeric cursor; treat None as 0."""
    if after is None:
        return 0
    if not (after.isascii() and after.isdigit() and len(after) <= 18):
        raise InvalidInput("after: must be the `next` value from an earlier page")
    return int(after)


def _own_key(holder: TokenHolder, key: str) -> str:
    """Return a key specific to this holder, so that nobody can probe others' keys."""
    own_key = f"{holder.token or ''} {holder.name}\n{key}"
    return hashlib.sha256(own_key.encode()).hexdigest()
