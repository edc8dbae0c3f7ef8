"""What every route needs to know: who asks, and whether he has asked before."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from forewarn.engine.causes import Causes
from forewarn.engine.engine import Engine
from forewarn.engine.fleets import Fleets
from forewarn.engine.once import Once
from forewarn.engine.timers import Advance
from forewarn.ports import Snapshot
from forewarn.server.auth import Tokens
from forewarn.server.control.problems import problem

_T = TypeVar("_T")
_LONGEST_KEY = 255

_NO_TOKEN = problem(
    401,
    "a bearer token is needed; the first start of `forewarn serve` writes one to the"
    " file `token` in its state directory",
    {"WWW-Authenticate": "Bearer"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of the service that routes use."""

    engine: Engine
    fleets: Fleets
    causes: Causes
    advance: Advance
    documents_position: Callable[[], int]


def parts(request: Request) -> Parts:
    """Find the service behind `request`."""
    found = request.app.state.parts
    if not isinstance(found, Parts):
        raise TypeError("the application was not put together")
    return found


def caller(request: Request) -> str:
    """Say who asks; the guard has found it out."""
    return str(request.state.caller)


class Guard:
    """Lets nobody near /v1 who cannot show a token, whatever else is wrong."""

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        """Stand before `app`."""
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer 401."""
        if scope["type"] == "http" and scope["path"].startswith("/v1"):
            name = self._caller(Headers(scope=scope))
            if name is None:
                await _NO_TOKEN(scope, receive, send)
                return
            scope.setdefault("state", {})["caller"] = name
        await self._app(scope, receive, send)

    def _caller(self, headers: Headers) -> str | None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        known = scheme.lower() == "bearer"
        return self._tokens.name_of(token.strip()) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request that changes something."""

    by: str
    key: str | None
    digest: str

    def once(
        self,
        status: int | Callable[[_T], int],
        render: Callable[[_T, Snapshot], str],
    ) -> Once[_T] | None:
        """Remember the answer under the idempotency key, if there is one."""
        if self.key is None:
            return None

        def answer(result: _T, snapshot: Snapshot) -> str:
            code = status if isinstance(status, int) else status(result)
            return f"{code}\n{render(result, snapshot)}"

        return Once(key=self.key, digest=self.digest, render=answer)


async def asked(
    request: Request,
    by: Annotated[str, Depends(caller)],
    idempotency_key: Annotated[
        str | None,
        Header(description="Same key and body within 24 h: same answer, done once."),
    ] = None,
) -> Asked:
    """Take down what was asked."""
    if idempotency_key is not None and not 0 < len(idempotency_key) <= _LONGEST_KEY:
        raise HTTPException(
            422, f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters"
        )
    digest = hashlib.sha256(f"{by} {request.method} {request.url.path}\n".encode())
    digest.update(await request.body())
    return Asked(by=by, key=idempotency_key, digest=digest.hexdigest())


async def raw_body(request: Request) -> bytes:
    """Read the body; whoever parses it does so off the loop."""
    return await request.body()


Service = Annotated[Parts, Depends(parts)]
Caller = Annotated[str, Depends(caller)]
Change = Annotated[Asked, Depends(asked)]
Body = Annotated[bytes, Depends(raw_body)]
