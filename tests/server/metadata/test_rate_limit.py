"""Rate limit of requests per VM."""

import pytest
from tests.server.support.connections import ClientConnection, FakePlane, a_poll
from tests.server.support.dialogs import a_post, a_request
from tests.server.support.handlers import (
    EVENTS,
    NOON,
    HandlerHarness,
    a_reception,
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
    return a_reception(event, rate=RateLimit(per_second, watch)), watch


def test_request_over_the_limit_gets_429() -> None:
    reception, _ = limited(3)
    responses = [reception.ask() for _ in range(5)]
    assert [response.status for response in responses] == [200, 200, 200, 429, 429]
    assert responses[-1].header(b"retry-after") == b"1"
    assert b'"error"' in responses[-1].body


def test_limit_recovers_over_time() -> None:
    reception, watch = limited(4)
    for _ in range(9):
        reception.ask()
    for _ in range(3):
        watch.now += 0.25
        assert [reception.ask().status for _ in range(2)] == [200, 429]
    watch.now += 3600
    statuses = [reception.ask().status for _ in range(5)]
    assert statuses == [200, 200, 200, 200, 429]


def test_limit_may_be_less_than_one_per_second() -> None:
    reception, watch = limited(0.5)
    statuses = []
    for _ in range(6):
        statuses.append(reception.ask().status)
        watch.now += 1
    assert statuses == [200, 429, 200, 429, 200, 429]


def test_without_a_limit_every_request_is_served() -> None:
    reception = a_reception()
    assert {reception.ask().status for _ in range(100)} == {200}


def test_limit_applies_per_vm() -> None:
    reception, _ = limited(2)
    for _ in range(50):
        reception.ask()
    assert reception.ask(address=OTHER).status == 200


def test_reads_approvals_and_instance_metadata_count_together() -> None:
    reception, _ = limited(3)
    assert reception.ask().status == 200
    assert reception.ask(INSTANCE).status == 200
    assert isinstance(reception.send(method="POST", body=APPROVAL), ApproveFirst)
    assert reception.ask().status == 429
    assert reception.ask(INSTANCE).status == 429
    assert reception.ask(method="POST", body=APPROVAL).status == 429


@pytest.mark.parametrize(
    ("target", "address", "status"),
    [
        (EVENTS, "10.9.9.9", 404),
        ("/metadata/scheduledevents?api-version=2000-01-01", "10.0.0.1", 400),
        ("/metadata/nothing", "10.0.0.1", 404),
        ("/metadata/versions", "10.0.0.1", 200),
    ],
)
def test_requests_decided_before_the_limit_do_not_count(
    target: str, address: str, status: int
) -> None:
    reception, _ = limited(1)
    for _ in range(3):
        assert reception.ask(target, address=address).status == status
    assert reception.ask().status == 200


def test_body_is_checked_after_the_limit() -> None:
    reception, _ = limited(1)
    assert reception.ask(method="POST", body=b"nonsense").status == 400
    assert reception.ask(method="POST", body=b"nonsense").status == 429


def test_refused_request_is_not_recorded() -> None:
    reception, _ = limited(1)
    reception.ask()
    assert reception.asked() == {"web": NOON}
    reception.show(shown(shown().group, an_event()))
    reception.set_clock(NOON)
    assert reception.ask().status == 429
    batch = reception.notes.take()
    assert (batch.polls, batch.sights) == ({}, [])


def test_refused_approval_approves_nothing() -> None:
    reception, _ = limited(1)
    line = ClientConnection(FakePlane(reception))
    post = a_post(APPROVAL, "Metadata: true", target=EVENTS)
    line.send(GET + post)
    assert line.statuses == [200, 429]
    assert line.plane.deferred == []


def test_long_poll_counts_once() -> None:
    reception, _ = limited(2)
    line = ClientConnection(FakePlane(reception))
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
