"""Body limits: how large a request body may be, and how long it may take.

A body is read completely before the application sees it, but only for requests that
the guard has accepted.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.server.error_responses import refusal

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimit:
    """Size and time of one body."""

    mib: int
    seconds: float

    @property
    def bytes(self) -> int:
        """The maximum size in bytes."""
        return self.mib * _MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyLimitTable:
    """The limits of all bodies."""

    default: BodyLimit = BodyLimit(mib=1, seconds=30)
    fleet: BodyLimit = BodyLimit(mib=64, seconds=300)  # 100,000 VMs take 20 to 40 MiB
    linger: float = 2.0  # seconds to keep reading, so that the client sees a refusal

    def of(self, scope: Scope) -> BodyLimit:
        """Return the limits of a request's body."""
        is_fleet = (scope["method"], scope["path"]) == ("PUT", "/v1/fleet")
        return self.fleet if is_fleet else self.default


class _TooLarge(Exception):
    """The body exceeds its limit."""


class BodyLimits:
    """Middleware that reads bodies, within limits of size and time."""

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
            detail = f"the body of this request may have {limit.mib} MiB at most"
            await self._refuse(receive, send, refusal(scope, 413, detail))
        except TimeoutError:
            detail = f"the body took more than {limit.seconds:g} s"
            await self._refuse(receive, send, refusal(scope, 408, detail))
        else:
            await self._app(scope, _replay(read, receive), send)

    async def _refuse(self, receive: Receive, send: Send, response: Response) -> None:
        """Respond at once, then read and drop the rest for a moment."""
        start = {"type": "http.response.start", "status": response.status_code}
        headers = [*response.raw_headers, (b"connection", b"close")]
        await send({**start, "headers": headers})
        body = {"type": "http.response.body", "body": response.body, "more_body": True}
        await send(body)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.linger):
                while (await receive()).get("more_body", False):
                    pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})


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
    """Return a `receive` that replays the messages in `read`, then continues."""
    left = iter(read)

    async def receive_replayed() -> Message:
        message = next(left, None)
        return await receive() if message is None else message

    return receive_replayed
