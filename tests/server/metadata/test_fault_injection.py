"""Fault injection: which requests are affected, and error responses."""

import pytest
from tests.server.support.connections import ClientConnection
from tests.server.support.dialogs import a_request
from tests.server.support.faulted_requests import GET, POST, a_line, finished_requests
from tests.server.support.handlers import EVENTS

from forewarn.core.faults import fault_of
from forewarn.errors import NotFound

# --- error responses ---------------------------------------------------------


@pytest.mark.parametrize("kind", ["429", "410", "500", "503"])
def test_fault_status_has_a_json_body(kind: str) -> None:
    line = a_line(fault_of(kind, count=1))
    line.send(GET + GET)
    refused, answered = line.responses
    assert refused.status == int(kind)
    assert refused.body.startswith(b'{ "error": "')
    assert refused.header(b"content-type") == b"application/json; charset=utf-8"
    assert answered.status == 200
    assert finished_requests(line) == [(int(kind), kind), (200, None)]


@pytest.mark.parametrize("kind", ["429", "503"])
def test_429_and_503_have_retry_after(kind: str) -> None:
    line = a_line(fault_of(kind, retry_after=7))
    line.send(GET)
    (response,) = line.responses
    assert response.header(b"retry-after") == b"7"


@pytest.mark.parametrize("kind", ["429", "410", "500", "503"])
def test_refused_approval_is_not_carried_out(kind: str) -> None:
    line = a_line(fault_of(kind))
    line.send(POST)
    assert line.statuses == [int(kind)]
    assert line.plane.deferred == []


def test_empty_fault_is_a_200_without_a_body() -> None:
    line = a_line(fault_of("empty"))
    line.send(GET)
    (response,) = line.responses
    assert (response.status, response.body) == (200, b"")
    assert response.header(b"content-length") == b"0"
    assert finished_requests(line) == [(200, "empty")]


# --- affected requests -------------------------------------------------------


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
def test_requests_not_about_events_are_unaffected(data: bytes, status: int) -> None:
    line = a_line(fault_of("503"))
    line.send(data)
    assert line.statuses == [status]
    assert finished_requests(line) == [(status, None)]


def test_unknown_client_still_gets_404() -> None:
    line = ClientConnection(a_line(fault_of("503")).plane, peer="10.9.9.9")
    line.send(GET)
    assert line.statuses == [404]


def test_fault_for_another_vm_is_ignored() -> None:
    line = a_line(fault_of("503", vms=["WEB-1"]))
    other = ClientConnection(line.plane, peer="10.0.0.2")
    line.send(GET)
    other.send(GET)
    assert (line.statuses, other.statuses) == ([200], [503])


def test_fault_for_an_unknown_vm_is_refused() -> None:
    with pytest.raises(NotFound, match="there is no VM web-9"):
        a_line(fault_of("503", vms=["web-9"]))


# --- Forewarn-Faults header --------------------------------------------------


def test_every_response_lists_the_active_faults() -> None:
    line = a_line(fault_of("503", on="approve"), fault_of("slow", vms=["web-1"]))
    line.send(GET)
    (response,) = line.responses
    assert response.header(b"forewarn-faults") == b"503, slow"


def test_last_faulted_response_lists_the_fault_and_the_next_does_not() -> None:
    line = a_line(fault_of("503", count=1))
    line.send(GET)
    line.wait(1)
    line.send(GET)
    first, second = line.responses
    assert first.header(b"forewarn-faults") == b"503"
    assert second.header(b"forewarn-faults") is None


def test_expired_fault_is_removed_even_without_requests() -> None:
    line = a_line(fault_of("503", seconds=5))
    line.wait(4)
    assert line.plane.faults.kinds == ["503"]
    line.wait(1)
    assert line.plane.faults.kinds == []
    line.send(GET)
    assert line.statuses == [200]


@pytest.mark.parametrize("count", [1, None])
def test_expiry_of_an_ended_fault_removes_no_other_fault(
    count: int | None,
) -> None:
    line = a_line(fault_of("503", seconds=5, count=count), fault_of("410"))
    if count:
        line.send(GET)
    else:
        line.plane.injector.clear("f1")
    line.wait(5)
    assert line.plane.faults.kinds == ["410"]
