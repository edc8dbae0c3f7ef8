"""Rate limit of requests per VM."""

import pytest
from tests.server.support.connections import ClientConnection, FakePlane, a_poll
from tests.server.support.dialogs import a_post, a_request
from tests.server.support.handlers import (
    EVENTS,
    NOON,
    HandlerHarness,
    a_harness,
    an_event,
    shown,
)

from forewarn.core.fleet import VM
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.server.metadata.handler import ApproveFirst
from forewarn.server.metadata.limits import RateLimit

GET = a_request(EVENTS, "Metadata: true")
INSTANCE = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
APPROVAL = b'{"StartRequests":[{"EventId":"E0"}]}'

OTHER = "10.0.0.2"


class ManualStopwatch:
    """A manually set clock."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def limited(per_second: float) -> tuple[HandlerHarness, ManualStopwatch]:
    watch = ManualStopwatch()
    event = shown(incarnation=0)
    return a_harness(event, rate=RateLimit(per_second, watch)), watch


def test_request_over_the_limit_gets_429() -> None:
    harness, _ = limited(3)
    responses = [harness.request() for _ in range(5)]
    assert [response.status for response in responses] == [200, 200, 200, 429, 429]
    assert responses[-1].header(b"retry-after") == b"1"
    assert b'"error"' in responses[-1].body


def test_limit_recovers_over_time() -> None:
    harness, watch = limited(4)
    for _ in range(9):
        harness.request()
    for _ in range(3):
        watch.now += 0.25
        assert [harness.request().status for _ in range(2)] == [200, 429]
    watch.now += 3600
    statuses = [harness.request().status for _ in range(5)]
    assert statuses == [200, 200, 200, 200, 429]


def test_limit_may_be_less_than_one_per_second() -> None:
    harness, watch = limited(0.5)
    statuses = []
    for _ in range(6):
        statuses.append(harness.request().status)
        watch.now += 1
    assert statuses == [200, 429, 200, 429, 200, 429]


def test_limit_applies_per_vm() -> None:
    harness, _ = limited(2)
    for _ in range(50):
        harness.request()
    assert harness.request(address=OTHER).status == 200


def test_vms_that_may_burst_again_are_forgotten() -> None:
    watch = ManualStopwatch()
    limit = RateLimit(2, watch)
    for number in range(1000):
        limit.wait(f"vm-{number}")
        watch.now += 0.25
    assert [*limit._left] == ["vm-998", "vm-999"]


def test_callers_over_the_maximum_are_forgotten() -> None:
    limit = RateLimit(1, ManualStopwatch(), max_callers=2)
    for caller in ("a", "b", "b", "c"):
        limit.wait(caller)
    assert [*limit._left] == ["b", "c"]
    assert limit.wait("b") > 0
    assert limit.wait("a") == 0


def test_reads_approvals_and_instance_metadata_count_together() -> None:
    harness, _ = limited(3)
    assert harness.request().status == 200
    assert harness.request(INSTANCE).status == 200
    assert isinstance(harness.send(method="POST", body=APPROVAL), ApproveFirst)
    assert harness.request().status == 429
    assert harness.request(INSTANCE).status == 429
    assert harness.request(method="POST", body=APPROVAL).status == 429


@pytest.mark.parametrize(
    "target",
    [
        "/metadata/scheduledevents?api-version=2000-01-01",
        "/metadata/nothing",
        "/metadata/versions",
    ],
)
def test_requests_that_read_no_document_count(target: str) -> None:
    harness, _ = limited(2)
    statuses = {harness.request(target).status for _ in range(3)}
    assert len(statuses - {429}) == 1  # each gets its own response
    assert harness.request().status == 429


def test_pipelined_requests_count() -> None:
    harness, _ = limited(2)
    line = ClientConnection(FakePlane(harness))
    line.send(GET * 4)  # the same bytes, so that their head is parsed once
    assert line.statuses == [200, 200, 429, 429]


def test_malformed_requests_count() -> None:
    harness, _ = limited(2)
    for _ in range(2):
        ClientConnection(FakePlane(harness)).send(b"GET nonsense\r\n\r\n")
    assert harness.request().status == 429


def test_requests_of_unknown_addresses_do_not_count() -> None:
    harness, _ = limited(1)
    for _ in range(3):
        assert harness.request(EVENTS, address="10.9.9.9").status == 404
    assert harness.request().status == 200


def test_body_is_checked_after_the_limit() -> None:
    harness, _ = limited(1)
    assert harness.request(method="POST", body=b"nonsense").status == 400
    assert harness.request(method="POST", body=b"nonsense").status == 429


def test_refused_request_is_not_recorded() -> None:
    harness, _ = limited(1)
    harness.request()
    assert harness.polled_groups() == {"web": NOON}
    harness.show(shown(shown().group, an_event()))
    harness.set_clock(NOON)
    assert harness.request().status == 429
    batch = harness.notes.take()
    assert (batch.polls, batch.sights) == ({}, [])


def test_refused_approval_approves_nothing() -> None:
    harness, _ = limited(1)
    line = ClientConnection(FakePlane(harness))
    post = a_post(APPROVAL, "Metadata: true", target=EVENTS)
    line.send(GET + post)
    assert line.statuses == [200, 429]
    assert line.plane.deferred == []


def test_long_poll_counts_once() -> None:
    harness, _ = limited(2)
    line = ClientConnection(FakePlane(harness))
    line.send(a_poll())
    more = VM(name="web-9", group="web")
    for _ in range(5):  # removing a VM wakes the others of its group
        line.plane.change(DocumentUpdate(position=1, shown=[shown()], placed=[more]))
        line.plane.change(
            DocumentUpdate(position=2, shown=[shown()], removed=["web-9"])
        )
    line.plane.change(DocumentUpdate(position=3, shown=[shown(incarnation=1)]))
    line.send(GET)
    assert line.statuses == [200, 200]
    line.send(GET)
    assert line.statuses == [200, 200, 429]
