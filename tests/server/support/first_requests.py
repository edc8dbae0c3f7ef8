"""Groups being enabled on a plane that delays first requests."""

from dataclasses import replace
from datetime import datetime

from tests.server.support.connections import ClientConnection, FakePlane
from tests.server.support.dialogs import a_post, a_request
from tests.server.support.handlers import EVENTS, NOON, QUIET, a_harness, shown

from forewarn.engine.readers.documents import AudienceView, DocumentUpdate
from forewarn.server.metadata.handler import ApproveFirst, EnableFirst
from forewarn.server.metadata.limits import RateLimit

DELAY = 60
GET = a_request(EVENTS, "Metadata: true")
POST = a_post(b'{"StartRequests":[{"EventId":"e0"}]}', "Metadata: true", target=EVENTS)


def a_plane(*documents: AudienceView, rate: RateLimit | None = None) -> FakePlane:
    return FakePlane(a_harness(*documents, first_call_delay=DELAY, rate=rate))


def a_caller(plane: FakePlane) -> ClientConnection:
    return ClientConnection(plane, peer="10.0.0.3")


def view_after_enabling(*, at: datetime = NOON, epoch: str = "e1") -> AudienceView:
    """Return the view of the quiet group after it was enabled."""
    return shown(replace(QUIET, enabled_since=at, last_request=at), epoch=epoch)


def listen(*lines: ClientConnection, at: datetime = NOON) -> None:
    """Enable the group and notify the connections that wait for it."""
    plane = lines[0].plane
    assert isinstance(plane.deferred[-1], EnableFirst)
    plane.change(DocumentUpdate(position=1, shown=[view_after_enabling(at=at)]))
    for line in lines:
        line.wire.enabled(None)


def a_first_call(plane: FakePlane | None = None, data: bytes = GET) -> ClientConnection:
    """Return a connection whose first request enabled the group and is delayed."""
    line = a_caller(plane or a_plane())
    line.send(data)
    listen(line)
    return line


def approve(line: ClientConnection, problem: Exception | None = None) -> None:
    """Carry out the approval requested over `line`."""
    deferred = line.plane.deferred[-1]
    assert isinstance(deferred, ApproveFirst)
    line.wire.approved(problem, deferred.delay)
