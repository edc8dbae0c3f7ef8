"""Delayed first requests: approvals, clients that leave, and a stopping service."""

import pytest
from tests.server.support.connections import ClientConnection, FakePlane
from tests.server.support.dialogs import a_post
from tests.server.support.first_requests import (
    DELAY,
    GET,
    POST,
    a_caller,
    a_first_call,
    a_plane,
    approve,
    listen,
)
from tests.server.support.handlers import EVENTS, a_harness

from forewarn.errors import InvalidInput, Unavailable
from forewarn.server.metadata.handler import ApproveFirst

# --- approvals ---------------------------------------------------------------


def test_approval_is_carried_out_immediately_and_confirmed_late() -> None:
    line = a_first_call(data=POST)
    deferred = line.plane.deferred[-1]
    assert isinstance(deferred, ApproveFirst)
    assert (deferred.vm, deferred.events) == ("quiet-0", ("E0",))
    approve(line)
    line.wait(DELAY - 1)
    assert line.statuses == []
    line.wait(1)
    assert line.statuses == [200]


@pytest.mark.parametrize(
    ("problem", "status"), [(InvalidInput("no"), 400), (Unavailable("full"), 503)]
)
def test_failed_approval_is_reported_late(problem: Exception, status: int) -> None:
    line = a_first_call(data=POST)
    approve(line, problem)
    assert line.statuses == []
    line.wait(DELAY)
    assert line.statuses == [status]


def test_invalid_approval_is_reported_late() -> None:
    line = a_first_call(data=a_post(b"{}", "Metadata: true", target=EVENTS))
    assert line.statuses == []
    line.wait(DELAY)
    assert line.statuses == [400]


def test_only_the_end_of_the_delay_ends_the_wait() -> None:
    line = a_first_call(data=POST)
    approve(line)
    line.wire.wake()  # for the earlier wait
    assert line.statuses == []
    line.wait(DELAY)
    assert line.statuses == [200]


def test_approval_that_outlasts_the_delay_gets_its_response_immediately() -> None:
    plane = a_plane()
    a_first_call(plane)
    line = a_caller(plane)
    line.send(POST)
    plane.wait(DELAY)
    approve(line)
    assert line.statuses == [200]


# --- clients that leave, and a stopping service ------------------------------


def test_closed_connection_leaves_nothing_behind() -> None:
    line = a_first_call()
    line.hang_up()
    assert line.plane.wires == set()
    line.wait(DELAY)
    assert line.socket.written == b""
    assert line.plane.loop.alarms == []


def test_later_clients_are_not_delayed_if_the_first_one_left() -> None:
    line = a_first_call()
    line.hang_up()
    line.wait(DELAY)
    other = a_caller(line.plane)
    other.send(GET)
    assert other.statuses == [200]


@pytest.mark.parametrize("data", [GET, POST])
def test_half_closed_client_gets_its_response_immediately(data: bytes) -> None:
    line = a_first_call(data=data)
    if data is POST:
        approve(line)
    assert line.wire.eof_received() is True
    assert line.statuses == [200]
    assert line.socket.done == ["close"]


def test_half_closed_client_gets_all_its_responses() -> None:
    line = a_first_call(data=GET + GET + POST)
    assert line.wire.eof_received() is True
    assert line.statuses == [200, 200]
    approve(line)
    assert line.statuses == [200, 200, 200]
    assert line.socket.done[-1] == "close"


@pytest.mark.parametrize("data", [GET, POST])
def test_stopping_service_responds_to_first_requests_immediately(data: bytes) -> None:
    line = a_first_call(data=data)
    if data is POST:
        approve(line)
    line.wire.leave()
    (response,) = line.responses
    assert (response.status, response.header(b"connection")) == (200, b"close")
    assert line.socket.done == ["close"]


@pytest.mark.parametrize("data", [GET, POST])
def test_stopping_service_does_not_delay_a_group_being_enabled(data: bytes) -> None:
    line = a_caller(a_plane())
    line.send(data)
    line.wire.leave()
    listen(line)
    if data is POST:
        approve(line)
    assert line.statuses == [200]


def test_stopping_service_does_not_delay_an_approving_first_request() -> None:
    line = a_first_call(data=POST)
    line.wire.leave()
    assert line.statuses == []
    approve(line)
    assert line.statuses == [200]


def test_delayed_request_does_not_count_as_idle() -> None:
    line = ClientConnection(FakePlane(a_harness(first_call_delay=120)), peer="10.0.0.3")
    line.send(GET)
    listen(line)
    line.wait(120)
    assert line.statuses == [200]
    assert line.socket.done == []
