"""Requests that a fault befalls: which they are, and how they are refused."""

import pytest
from tests.server.support.connections import Line
from tests.server.support.dialogs import a_request
from tests.server.support.faulted_requests import GET, POST, a_line, heard
from tests.server.support.handlers import EVENTS

from forewarn.errors import NotFound
from forewarn.server.metadata.faults.model import fault_of

# --- refusals ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["429", "410", "500", "503"])
def test_a_refusal_is_json_with_its_status(kind: str) -> None:
    line = a_line(fault_of(kind, count=1))
    line.send(GET + GET)
    refused, answered = line.said
    assert refused.status == int(kind)
    assert refused.body.startswith(b'{ "error": "')
    assert refused.header(b"content-type") == b"application/json; charset=utf-8"
    assert answered.status == 200
    assert heard(line) == [(int(kind), kind), (200, None)]


@pytest.mark.parametrize("kind", ["429", "503"])
def test_some_refusals_say_how_long_to_wait(kind: str) -> None:
    line = a_line(fault_of(kind, retry_after=7))
    line.send(GET)
    (said,) = line.said
    assert said.header(b"retry-after") == b"7"


@pytest.mark.parametrize("kind", ["429", "410", "500", "503"])
def test_an_approval_that_is_refused_is_not_carried_out(kind: str) -> None:
    line = a_line(fault_of(kind))
    line.send(POST)
    assert line.statuses == [int(kind)]
    assert line.plane.deferred == []


def test_an_empty_answer_is_a_200_without_a_body() -> None:
    line = a_line(fault_of("empty"))
    line.send(GET)
    (said,) = line.said
    assert (said.status, said.body) == (200, b"")
    assert said.header(b"content-length") == b"0"
    assert heard(line) == [(200, "empty")]


# --- which requests ----------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (a_request(EVENTS), 400),
        (a_request("/metadata/scheduledevents", "Metadata: true"), 400),
        (a_request(EVENTS, "Metadata: true", method="PUT"), 405),
        (a_request("/metadata/versions", "Metadata: true"), 200),
        (
            a_request("/metadata/instance?api-version=2021-02-01", "Metadata: true"),
            200,
        ),
    ],
)
def test_what_is_not_about_events_is_answered_as_ever(data: bytes, status: int) -> None:
    line = a_line(fault_of("503"))
    line.send(data)
    assert line.statuses == [status]
    assert heard(line) == [(status, None)]


def test_who_is_not_known_is_told_so_as_ever() -> None:
    line = Line(a_line(fault_of("503")).plane, peer="10.9.9.9")
    line.send(GET)
    assert line.statuses == [404]


def test_a_fault_of_another_vm_is_none() -> None:
    line = a_line(fault_of("503", vms=["WEB-1"]))
    other = Line(line.plane, peer="10.0.0.2")
    line.send(GET)
    other.send(GET)
    assert (line.statuses, other.statuses) == ([200], [503])


def test_a_vm_that_there_is_not_cannot_be_befallen() -> None:
    with pytest.raises(NotFound, match="there is no VM web-9"):
        a_line(fault_of("503", vms=["web-9"]))


# --- every answer says so ----------------------------------------------------


def test_while_there_are_faults_every_answer_says_so() -> None:
    line = a_line(fault_of("503", on="approve"), fault_of("slow", vms=["web-1"]))
    line.send(GET)
    (said,) = line.said
    assert said.header(b"forewarn-faults") == b"503, slow"


def test_the_last_answer_that_is_befallen_says_so_and_the_next_does_not() -> None:
    line = a_line(fault_of("503", count=1))
    line.send(GET)
    line.wait(1)
    line.send(GET)
    first, second = line.said
    assert first.header(b"forewarn-faults") == b"503"
    assert second.header(b"forewarn-faults") is None


def test_a_fault_that_has_ended_is_forgotten_also_if_nobody_asks() -> None:
    line = a_line(fault_of("503", seconds=5))
    line.wait(4)
    assert line.plane.faults.kinds == ["503"]
    line.wait(1)
    assert line.plane.faults.kinds == []
    line.send(GET)
    assert line.statuses == [200]


@pytest.mark.parametrize("count", [1, None])
def test_the_time_of_a_fault_that_has_ended_before_ends_nothing_else(
    count: int | None,
) -> None:
    line = a_line(fault_of("503", seconds=5, count=count), fault_of("410"))
    if count:
        line.send(GET)
    else:
        line.plane.injector.clear("f1")
    line.wait(5)
    assert line.plane.faults.kinds == ["410"]
