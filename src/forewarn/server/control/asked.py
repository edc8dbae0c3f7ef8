"""Route dependencies: services, caller, body, and the idempotency key of a write."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request
from starlette.exceptions import HTTPException

from forewarn.engine.causes import Causes
from forewarn.engine.engine import Engine
from forewarn.engine.fleets import Fleets
from forewarn.engine.notifying import Notifying
from forewarn.engine.once import Once
from forewarn.engine.sessions import Sessions
from forewarn.engine.timers import Advance
from forewarn.engine.tokens import Holder, Tokens
from forewarn.ports import Snapshot
from forewarn.server.metrics.sources import Sources
from forewarn.server.plane import MetadataPlane

_T = TypeVar("_T")
_LONGEST_KEY = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of the service that routes use."""

    engine: Engine
    fleets: Fleets
    causes: Causes
    advance: Advance
    tokens: Tokens
    sessions: Sessions
    documents_position: Callable[[], int]
    notifying: Notifying
    plane: MetadataPlane
    sources: Sources


def parts(request: Request) -> Parts:
    """Return the service that handles `request`."""
    services = request.app.state.parts
    if not isinstance(services, Parts):
        raise TypeError("the application was not put together")
    return services


def caller(request: Request) -> Holder:
    """Return the caller that the guard has identified."""
    holder = request.state.caller
    if not isinstance(holder, Holder):
        raise TypeError("nobody has looked who asks")
    return holder


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One write request."""

    holder: Holder
    key: str | None  # None without an Idempotency-Key
    digest: str

    @property
    def by(self) -> str:
        """The caller's name in the journal."""
        return self.holder.name

    def once(
        self,
        status: int | Callable[[_T], int],
        render: Callable[[_T, Snapshot], str],
    ) -> Once[_T] | None:
        """Return how to store the response under the idempotency key, if any."""
        if self.key is None:
            return None

        def answer(result: _T, snapshot: Snapshot) -> str:
            code = status if isinstance(status, int) else status(result)
            return f"{code}\n{render(result, snapshot)}"

        return Once(key=self.key, digest=self.digest, render=answer)


async def asked(
    request: Request,
    holder: Annotated[Holder, Depends(caller)],
    idempotency_key: Annotated[
        str | None,
        Header(description="Same key and body within 24 h: same answer, done once."),
    ] = None,
) -> Asked:
    """Collect the caller, the idempotency key and a digest of the request."""
    if idempotency_key is not None and not 0 < len(idempotency_key) <= _LONGEST_KEY:
        raise HTTPException(
            422, f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters"
        )
    digest = hashlib.sha256(f"{request.method} {request.url.path}\n".encode())
    digest.update(await request.body())
    key = None if idempotency_key is None else _own_key(holder, idempotency_key)
    return Asked(holder=holder, key=key, digest=digest.hexdigest())


def _own_key(holder: Holder, key: str) -> str:
    """Return a key per holder, so that no one learns another's keys."""
    whose = f"{holder.token or ''} {holder.name}\n{key}"
    return hashlib.sha256(whose.encode()).hexdigest()


async def raw_body(request: Request) -> bytes:
    """Return the body; it is parsed outside the event loop."""
    return await request.body()


Service = Annotated[Parts, Depends(parts)]
Caller = Annotated[Holder, Depends(caller)]
Change = Annotated[Asked, Depends(asked)]
Body = Annotated[bytes, Depends(raw_body)]
