"""Fault injection: error responses, and late, reset, truncated or stale ones."""

import json
from dataclasses import replace

import pytest
from tests.server.support.connections import ClientConnection, a_poll
from tests.server.support.dialogs import a_request
from tests.server.support.faulted_requests import (
    GET,
    POST,
    WRONG_POST,
    a_line,
    announce,
    approve,
    finished_requests,
)
from tests.server.support.handlers import EVENTS, QUIET, VMS, shown

from forewarn.core.faults import FaultKind, fault_of
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.errors import NotFound
from forewarn.server.metadata.faults.injection import half_of_body
from forewarn.server.metadata.handler import EnableFirst

#: All kinds but the one for which the listener is closed.
KINDS = [kind for kind in FaultKind if kind is not FaultKind.REFUSED]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_changes_what_a_poll_gets(kind: FaultKind) -> None:
    outcomes = []
    for line in (a_line(), a_line(fault_of(kind))):
        announce(line)
        line.send(GET)
        head, _, body = line.socket.written.partition(b"\r\n\r\n")
        outcomes.append((head.partition(b"\r\n")[0], body, line.socket.done))
    assert outcomes[0] != outcomes[1]


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


def test_error_body_fault_is_a_200_with_a_json_error() -> None:
    line = a_line(fault_of("error-body"))
    line.send(GET)
    (response,) = line.responses
    assert response.status == 200
    assert response.header(b"content-type") == b"application/json; charset=utf-8"
    assert json.loads(response.body) == {"error": "upstream request timeout"}


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
    with pytest.raises(NotFound, match="VM web-9 not found"):
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
    line = a_line(fault_of("503", duration=5))
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
    line = a_line(fault_of("503", duration=5, count=count), fault_of("410"))
    if count:
        line.send(GET)
    else:
        line.plane.injector.clear("f1")
    line.wait(5)
    assert line.plane.faults.kinds == ["410"]


# --- late responses ----------------------------------------------------------


def test_slow_response_shows_the_current_document() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(GET)
    line.wait(2)
    announce(line)
    assert line.statuses == []
    line.wait(1)
    (response,) = line.responses
    assert b'"DocumentIncarnation":2' in response.body
    assert finished_requests(line) == [(200, "slow")]


def test_slow_approval_is_carried_out_immediately() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(POST)
    approve(line)
    line.wait(2)
    assert line.statuses == []
    line.wait(1)
    assert line.statuses == [200]
    assert finished_requests(line) == [(200, "slow")]


def test_slow_invalid_approval_is_refused_late() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(WRONG_POST)
    assert line.statuses == []
    line.wait(3)
    assert line.statuses == [400]


def test_clearing_a_fault_does_not_affect_delayed_responses() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(GET)
    line.plane.injector.clear(None)
    line.send(GET)
    assert line.statuses == []
    line.wait(3)
    assert line.statuses == [200, 200]
    assert finished_requests(line) == [(200, "slow"), (200, None)]


def test_slow_long_poll_is_held_after_the_delay() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    line.wait(5)
    assert line.plane.waiters() == 1
    announce(line)
    assert line.statuses == [200]
    line.wait(40)
    assert finished_requests(line) == [(200, "slow")]


def test_change_does_not_speed_up_a_slow_long_poll() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    announce(line)
    assert line.statuses == []
    line.wait(3)
    assert line.statuses == [200]


def test_slow_first_call_delays_only_the_first_request() -> None:
    line = a_line(fault_of("slow-first-call", delay=3))
    line.send(GET)
    line.wait(3)
    line.send(GET)
    assert line.statuses == [200, 200]


@pytest.mark.parametrize("data", [GET, a_poll("wait=30", tag='"e0.1"'), WRONG_POST])
def test_stopping_service_responds_to_delayed_requests_immediately(data: bytes) -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(data)
    line.wire.leave()
    assert len(line.statuses) == 1
    assert line.socket.done == ["close"]
    assert line.plane.loop.alarms == []


def test_approval_that_ends_during_a_stop_gets_its_response_immediately() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(POST)
    line.wire.leave()
    approve(line)
    assert line.statuses == [200]


def test_delayed_response_to_a_closed_connection_is_dropped() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(GET)
    line.hang_up()
    line.wait(5)
    assert line.socket.written == b""
    assert line.plane.loop.alarms == []
    assert finished_requests(line) == []


# --- reset and truncated responses -------------------------------------------


def test_reset_read_gets_no_response() -> None:
    line = a_line(fault_of("reset"))
    line.send(GET)
    assert line.socket.written == b""
    assert line.socket.done == ["linger 0", "abort"]
    assert finished_requests(line) == [(0, "reset")]


def test_reset_long_poll_is_closed_immediately() -> None:
    line = a_line(fault_of("reset"))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    assert line.socket.done == ["linger 0", "abort"]


def test_approval_is_carried_out_before_the_reset() -> None:
    line = a_line(fault_of("reset"))
    line.send(POST)
    assert line.socket.done == []
    approve(line)
    assert line.socket.written == b""
    assert line.socket.done == ["linger 0", "abort"]
    assert finished_requests(line) == [(0, "reset")]


@pytest.mark.parametrize(
    "data", [GET, a_poll(None, tag='"e0.1"'), a_poll("wait=30", tag='"e0.1"')]
)
def test_document_is_truncated_even_if_the_client_has_it(data: bytes) -> None:
    whole = a_line()
    whole.send(GET)
    line = a_line(fault_of("truncated"))
    line.send(data)
    (expected,) = whole.responses
    head, _, body = line.socket.written.partition(b"\r\n\r\n")
    assert b"HTTP/1.1 200 OK" in head
    assert f"Content-Length: {len(expected.body)}".encode() in head
    assert body == expected.body[: len(expected.body) // 2]
    assert line.socket.done == ["close"]
    assert finished_requests(line) == [(0, "truncated")]


def test_approval_is_carried_out_before_its_response_is_truncated() -> None:
    line = a_line(fault_of("truncated"))
    line.send(POST)
    approve(line)
    assert line.socket.written == b"HTTP/1."
    assert line.socket.done == ["close"]
    assert finished_requests(line) == [(0, "truncated")]


def test_nothing_follows_a_truncated_response() -> None:
    line = a_line(fault_of("truncated", count=1))
    line.send(GET + GET)
    truncated = line.socket.written
    line.send(GET)
    assert line.socket.written == truncated
    assert truncated.count(b"HTTP/1.1") == 1


def test_truncated_response_cannot_be_mistaken_for_a_complete_one() -> None:
    assert half_of_body(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n") == b"HTTP/1."
    assert half_of_body(b"HTTP/1.1 200 OK\r\n\r\nabcd") == b"HTTP/1.1 200 OK\r\n\r\nab"


# --- stale documents ---------------------------------------------------------


def test_stale_fault_shows_the_earlier_document() -> None:
    line = a_line(fault_of("stale"))
    announce(line)
    line.send(GET)
    (response,) = line.responses
    assert b'"DocumentIncarnation":1' in response.body
    assert response.header(b"etag") == b'"e0.1"'


def test_client_with_a_newer_etag_gets_the_stale_document() -> None:
    line = a_line(fault_of("stale"))
    announce(line)
    line.send(a_poll("wait=30", tag='"e0.2"'))
    (response,) = line.responses
    assert response.header(b"etag") == b'"e0.1"'


def test_long_poll_for_a_stale_document_times_out() -> None:
    line = a_line(fault_of("stale"))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    announce(line)
    line.wait(29)
    assert line.statuses == []
    line.wait(1)
    (response,) = line.responses
    assert (response.status, response.header(b"etag")) == (304, b'"e0.1"')
    assert finished_requests(line) == [(304, "stale")]


@pytest.mark.parametrize("how", ["cleared", "over"])
def test_end_of_a_stale_fault_shows_the_current_document(how: str) -> None:
    line = a_line(fault_of("stale", duration=5))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    announce(line)
    assert line.statuses == []
    if how == "cleared":
        line.plane.injector.clear("f1")
    else:
        line.wait(5)
    (response,) = line.responses
    assert response.header(b"etag") == b'"e0.2"'
    assert response.header(b"forewarn-faults") is None


def test_vm_that_moves_to_a_disabled_group_enables_it_despite_a_stale_fault() -> None:
    line = a_line(fault_of("stale"))
    moved = replace(VMS[0], group="quiet")
    line.plane.change(DocumentUpdate(position=2, shown=[shown(QUIET)], placed=[moved]))
    line.send(GET)
    assert line.plane.deferred == [EnableFirst(group="quiet")]


def test_reading_a_stale_document_is_recorded() -> None:
    line = a_line(fault_of("stale"))
    announce(line)
    line.send(GET)
    assert line.plane.reception.seen() == [("web-0", "E0")]


# --- waiting long polls ------------------------------------------------------


def test_new_fault_ends_waiting_long_polls() -> None:
    line = a_line()
    line.send(a_poll("wait=30", tag='"e0.1"'))
    assert line.statuses == []
    line.plane.injector.add(fault_of("503"), by="admin", at=line.plane.handler.head.now)
    line.send(a_poll("wait=30", tag='"e0.1"'))
    assert line.statuses == [304, 503]
