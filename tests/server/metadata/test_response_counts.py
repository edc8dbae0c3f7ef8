"""Response counters of the metadata plane by route, version and status."""

import pytest
from tests.server.support.connections import ClientConnection, a_poll
from tests.server.support.dialogs import a_post
from tests.server.support.handlers import EVENTS, HandlerHarness, a_harness

from forewarn.errors import Unavailable
from forewarn.protocol.versions import VERSIONS
from forewarn.server.metadata.limits import Admission, ConnectionLimits, RateLimit

OF_EVENTS = "/metadata/scheduledevents"
NEWEST = "2020-07-01"
APPROVAL = b'{"StartRequests":[{"EventId":"E0"}]}'


def counted(harness: HandlerHarness) -> dict[tuple[str, str, int], int]:
    """Return the nonzero counters."""
    return {(*kind,): n for kind, n in harness.handler.counts.all().items() if n}


@pytest.mark.parametrize("version", VERSIONS)
def test_documents_are_counted_by_version(version: str) -> None:
    harness = a_harness()
    for _ in range(3):
        harness.request(f"{OF_EVENTS}?api-version={version}")
    assert counted(harness) == {("scheduledevents", version, 200): 3}


def test_304_is_counted_separately() -> None:
    harness = a_harness()
    harness.request()
    harness.request(EVENTS, 'If-None-Match: "e0.0"')
    assert counted(harness) == {
        ("scheduledevents", NEWEST, 200): 1,
        ("scheduledevents", NEWEST, 304): 1,
    }


def test_long_poll_is_counted_when_it_ends() -> None:
    line = ClientConnection()
    line.send(a_poll("wait=30"))
    assert counted(line.plane.reception) == {}
    assert line.plane.long_polls.count == 1
    line.wait(30)
    assert counted(line.plane.reception) == {("scheduledevents", NEWEST, 304): 1}
    assert line.plane.long_polls.count == 0


@pytest.mark.parametrize(
    ("target", "route", "version", "status"),
    [
        (OF_EVENTS, "scheduledevents", "none", 400),
        (f"{OF_EVENTS}?api-version=2099-01-01", "scheduledevents", "other", 400),
        (f"{OF_EVENTS}/x?api-version={NEWEST}", "scheduledevents", NEWEST, 404),
        ("/metadata/instance?api-version=2021-02-01", "instance", "other", 200),
        (f"/metadata/instance?api-version={NEWEST}", "instance", NEWEST, 400),
        ("/metadata/versions", "versions", "none", 200),
        ("/metadata/elsewhere", "other", "none", 404),
        ("/" + "x" * 200, "other", "none", 404),
    ],
)
def test_other_requests_are_counted_under_few_labels(
    target: str, route: str, version: str, status: int
) -> None:
    harness = a_harness()
    assert harness.request(target).status == status
    assert counted(harness) == {(route, version, status): 1}


def test_rate_limited_request_is_counted() -> None:
    harness = a_harness(rate=RateLimit(1, lambda: 5.0))
    for _ in range(3):
        harness.request()
    assert counted(harness)["scheduledevents", NEWEST, 429] == 2


def test_invalid_request_is_counted_as_other() -> None:
    line = ClientConnection()
    line.send(b"nonsense\r\n\r\n")
    assert counted(line.plane.reception) == {("other", "none", 400): 1}


def test_approval_is_counted_when_it_ends() -> None:
    line = ClientConnection()
    line.send(a_post(APPROVAL, "Metadata: true", target=EVENTS))
    assert counted(line.plane.reception) == {}
    line.wire.approved(None)
    assert counted(line.plane.reception) == {("scheduledevents", NEWEST, 200): 1}


def test_failed_approval_is_counted_with_its_status() -> None:
    line = ClientConnection()
    line.send(a_post(APPROVAL, "Metadata: true", target=EVENTS))
    line.wire.approved(Unavailable("the disk is full"))
    assert counted(line.plane.reception) == {("scheduledevents", NEWEST, 503): 1}


def test_refused_and_dropped_connections_are_counted() -> None:
    connections = ConnectionLimits(per_vm=1, total=2)
    for caller in ("a", "a", "b"):
        connections.admit(caller)
    assert connections.count == 2
    assert connections.not_admitted == {
        Admission.REFUSED: 1,
        Admission.DROPPED: 0,
        Admission.FULL: 1,
    }
