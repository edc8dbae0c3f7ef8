"""How many requests a second a VM may send."""

import pytest
from tests.server.support.connections import Line, Plane, a_poll
from tests.server.support.dialogs import a_post, a_request
from tests.server.support.handlers import (
    EVENTS,
    NOON,
    Reception,
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


class Watch:
    """Shows the time that it is set to."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def limited(per_second: float) -> tuple[Reception, Watch]:
    watch = Watch()
    event = shown(incarnation=0)
    return a_reception(event, rate=RateLimit(per_second, watch)), watch


def test_one_request_too_many_is_answered_429() -> None:
    reception, _ = limited(3)
    said = [reception.ask() for _ in range(5)]
    assert [each.status for each in said] == [200, 200, 200, 429, 429]
    assert said[-1].header(b"retry-after") == b"1"
    assert b'"error"' in said[-1].body


def test_after_a_while_a_vm_may_ask_again() -> None:
    reception, watch = limited(4)
    for _ in range(9):
        reception.ask()
    for _ in range(3):
        watch.now += 0.25
        assert [reception.ask().status for _ in range(2)] == [200, 429]
    watch.now += 3600
    statuses = [reception.ask().status for _ in range(5)]
    assert statuses == [200, 200, 200, 200, 429]


def test_less_than_one_request_a_second_can_be_set() -> None:
    reception, watch = limited(0.5)
    statuses = []
    for _ in range(6):
        statuses.append(reception.ask().status)
        watch.now += 1
    assert statuses == [200, 429, 200, 429, 200, 429]


def test_without_a_limit_nobody_is_refused() -> None:
    reception = a_reception()
    assert {reception.ask().status for _ in range(100)} == {200}


def test_one_vm_never_costs_another_its_turn() -> None:
    reception, _ = limited(2)
    for _ in range(50):
        reception.ask()
    assert reception.ask(address=OTHER).status == 200


def test_reading_approving_and_instance_metadata_are_counted_together() -> None:
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
def test_what_is_found_out_before_the_rate_costs_nothing(
    target: str, address: str, status: int
) -> None:
    reception, _ = limited(1)
    for _ in range(3):
        assert reception.ask(target, address=address).status == status
    assert reception.ask().status == 200


def test_a_body_is_looked_at_after_the_rate() -> None:
    reception, _ = limited(1)
    assert reception.ask(method="POST", body=b"nonsense").status == 400
    assert reception.ask(method="POST", body=b"nonsense").status == 429


def test_a_refused_request_is_noted_nowhere() -> None:
    reception, _ = limited(1)
    reception.ask()
    assert reception.asked() == {"web": NOON}
    reception.show(shown(shown().group, an_event()))
    reception.set_clock(NOON)
    assert reception.ask().status == 429
    taken = reception.notes.take()
    assert (taken.polls, taken.sights) == ({}, [])


def test_a_refused_approval_approves_nothing() -> None:
    reception, _ = limited(1)
    line = Line(Plane(reception))
    post = a_post(APPROVAL, "Metadata: true", target=EVENTS)
    line.send(GET + post)
    assert line.statuses == [200, 429]
    assert line.plane.deferred == []


def test_a_held_request_is_counted_once() -> None:
    reception, _ = limited(2)
    line = Line(Plane(reception))
    line.send(a_poll())
    more = VM(name="web-9", group="web")
    for _ in range(5):  # who leaves wakes the others of his group
        line.plane.change(DocumentUpdate(position=1, shown=[shown()], placed=[more]))
        line.plane.change(
            DocumentUpdate(position=2, shown=[shown()], removed=["web-9"])
        )
    line.plane.change(DocumentUpdate(position=3, shown=[shown(incarnation=1)]))
    line.send(GET)
    assert line.statuses == [200, 200]
    line.send(GET)
    assert line.statuses == [200, 200, 429]
