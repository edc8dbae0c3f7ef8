"""Who watches the metadata plane in a rehearsal, and what he is told."""

import time
from dataclasses import dataclass
from typing import Protocol

from forewarn.errors import Malformed
from forewarn.protocol.codec import decode_start_requests
from forewarn.server.identity import Directory
from forewarn.server.requests import Request
from forewarn.server.responses import Response


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request, and how it was answered."""

    at: float  # monotonic, when it was answered
    vm: str | None  # who asked; None: nobody that is known
    method: str
    path: str
    version: str  # api-version as it was given; empty: none
    is_marked: bool  # carried `Metadata: true`
    status: int  # 0: the connection was broken off instead
    events: tuple[str, ...] = ()  # that it wanted approved, as they were written
    fault: str | None = None  # what was done to it on purpose; None: nothing
    since: float = 0.0  # monotonic, when it came; one that is held is answered later


class Witness(Protocol):
    """Sees every request; all calls come from the metadata loop, and must be short."""

    def take(self, request: Request, body: bytes) -> Response | None:
        """Answer what is meant for the rehearsal itself; None: it is for the VM."""

    def came(self, vm: str | None, at: float) -> None:
        """Hear that a request came, which may be held for a while."""

    def answered(self, asked: Asked) -> None:
        """Hear how a request was answered."""


def caller(request: Request, directory: Directory, address: str) -> str | None:
    """Name the VM that asks; None: nobody that is known."""
    seat = directory.seat(address, getattr(request.route, "vm", None))
    return None if seat is None else seat.vm.name


def asked(
    request: Request,
    body: bytes,
    answer: bytes,
    vm: str | None,
    since: float,
    fault: str | None = None,
) -> Asked:
    """Tell how `request`, which came from `vm`, was answered; empty: not at all."""
    given = [value for name, value in request.query if name.lower() == "api-version"]
    return Asked(
        at=time.monotonic(),
        since=since,
        vm=vm,
        method=request.method,
        path=request.path,
        version=given[0] if given else "",
        is_marked=request.is_marked,
        status=int(answer[9:12] or b"0"),
        events=_events(body) if request.method == "POST" else (),
        fault=fault,
    )


def _events(body: bytes) -> tuple[str, ...]:
    try:
        return tuple(decode_start_requests(body))
    except Malformed:
        return ()
