"""Requests under fault injection, with an observer of their outcomes."""

from tests.server.support.connections import ClientConnection, FakePlane
from tests.server.support.dialogs import a_post, a_request
from tests.server.support.handlers import EVENTS, WEB, a_harness, an_event, shown

from forewarn.core.faults import Fault
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.server.metadata.handler import ApproveFirst
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import Response

GET = a_request(EVENTS, "Metadata: true")
POST = a_post(b'{"StartRequests":[{"EventId":"E0"}]}', "Metadata: true", target=EVENTS)
WRONG_POST = a_post(b"nonsense", "Metadata: true", target=EVENTS)


class RecordingRequestObserver:
    """A request observer that records finished requests."""

    def __init__(self) -> None:
        self.heard: list[RequestRecord] = []

    def intercept(self, request: Request, body: bytes) -> Response | None:
        return None

    def started(self, vm: str | None, at: float) -> None:
        pass

    def finished(self, record: RequestRecord) -> None:
        self.heard.append(record)


def a_line(*faults: Fault) -> ClientConnection:
    """Return a connection of web-0 to a plane with `faults` active."""
    plane = FakePlane(a_harness(shown(WEB, an_event())), RecordingRequestObserver())
    for fault in faults:
        plane.injector.add(fault, by="admin", at=plane.handler.head.now)
    return ClientConnection(plane)


def finished_requests(line: ClientConnection) -> list[tuple[int, str | None]]:
    assert isinstance(line.plane.observer, RecordingRequestObserver)
    return [(record.status, record.fault) for record in line.plane.observer.heard]


def approve(line: ClientConnection) -> None:
    """Carry out the approval requested over `line`."""
    assert isinstance(line.plane.deferred[-1], ApproveFirst)
    line.wire.approved(None)


def announce(line: ClientConnection) -> None:
    """Change the document of web-0."""
    update = DocumentUpdate(position=2, shown=[shown(WEB, an_event(), an_event("E1"))])
    line.plane.change(update)
