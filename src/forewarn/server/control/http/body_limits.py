"""Limits on the size of a request body and on the time it may take to arrive.

A body is read completely before the application sees it, but only if the guard has
accepted a token. Without a token, a body may contain only a few bytes; a larger body is
refused before it is read.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.server.error_responses import is_arm, refusal

_KIB = 1024
_MIB = 1024 * _KIB
#: Paths whose bodies may list VMs by name.
_WITH_NAMES = frozenset({"/v1/maintenances", "/v1/faults"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimit:
    """Limits on a body's size and on the time it takes to arrive."""

    bytes: int
    seconds: float

    def __str__(self) -> str:
        """Return the maximum size in a readable unit."""
        if self.bytes >= _MIB:
            return f"{self.bytes // _MIB} MiB"
        return f"{self.bytes // _KIB} KiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimitTable:
    """The limits for each kind of body."""

    default: BodyLimit = BodyLimit(bytes=16 * _KIB, seconds=30)
    names: BodyLimit = BodyLimit(bytes=256 * _KIB, seconds=30)  # 3,000 VMs and more
    resource: BodyLimit = BodyLimit(bytes=64 * _KIB, seconds=30)  # a VM with its tags
    fleet: BodyLimit = BodyLimit(bytes=64 * _MIB, seconds=300)  # 100,000 VMs: 40 MiB
    session: BodyLimit = BodyLimit(bytes=16 * _KIB, seconds=10)
    anonymous: BodyLimit = BodyLimit(bytes=_KIB, seconds=5)  # without a token

    def of(self, scope: Scope) -> BodyLimit:
        """Return the limits for a request's body."""
        if "caller" not in scope.get("state", {}):
            return self.anonymous
        method, path = scope["method"], scope["path"]
        if (method, path) == ("PUT", "/v1/fleet"):
            return self.fleet
        if path in _WITH_NAMES:
            return self.names
        if method == "PUT" or is_arm(path):
            return self.resource
        return self.session if path == "/v1/session" else self.default


class _TooLarge(Exception):
    """The body exceeds its limit."""


class BodyLimits:
    """Middleware that reads bodies within limits on size and time."""

    def __init__(self, app: ASGIApp, limits: BodyLimitTable) -> None:
        """Wrap `app`."""
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its body, or refuse it."""
        limit = self._limits.of(scope)
        try:
            read = await _read(scope, receive, limit)
        except ClientDisconnect:
            return
        except _TooLarge:
            detail = f"the request body is larger than {limit}"
            await refusal(scope, 413, detail)(scope, receive, send)
        except TimeoutError:
            detail = f"the request body took more than {limit.seconds:g} s"
            await refusal(scope, 408, detail)(scope, receive, send)
        else:
            await self._app(scope, _replay(read, receive), send)


async def _read(scope: Scope, receive: Receive, limit: BodyLimit) -> Sequence[Message]:
    declared = Headers(scope=scope).get("content-length", "0")
    if declared.isdecimal() and int(declared) > limit.bytes:
        raise _TooLarge
    read: list[Message] = []
    size = 0
    async with asyncio.timeout(limit.seconds):
        while not read or read[-1].get("more_body", False):
            message = await receive()
            if message["type"] != "http.request":
                raise ClientDisconnect
            read.append(message)
            size += len(message.get("body", b""))
            if size > limit.bytes:
                raise _TooLarge
    return read


def _replay(read: Sequence[Message], receive: Receive) -> Receive:
    """Return a `receive` that replays the messages in `read` and then continues."""
    left = iter(read)

    async def receive_replayed() -> Message:
        message = next(left, None)
        return await receive() if message is None else message

    return receive_replayed
