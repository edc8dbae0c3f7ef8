"""First calls that approve, whose client leaves, or that find the service stopping."""

import pytest
from tests.server.support.connections import Line, Plane
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
from tests.server.support.handlers import EVENTS, a_reception

from forewarn.errors import InvalidInput, Unavailable
from forewarn.server.metadata.handler import ApproveFirst

# --- approvals ---------------------------------------------------------------


def test_an_approval_is_carried_out_at_once_and_answered_late() -> None:
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
def test_an_approval_that_fails_is_answered_late_too(
    problem: Exception, status: int
) -> None:
    line = a_first_call(data=POST)
    approve(line, problem)
    assert line.statuses == []
    line.wait(DELAY)
    assert line.statuses == [status]


def test_an_approval_that_makes_no_sense_is_answered_late_too() -> None:
    line = a_first_call(data=a_post(b"{}", "Metadata: true", target=EVENTS))
    assert line.statuses == []
    line.wait(DELAY)
    assert line.statuses == [400]


def test_nothing_but_the_end_of_the_delay_wakes_it() -> None:
    line = a_first_call(data=POST)
    approve(line)
    line.wire.wake()  # on account of what it waited for before
    assert line.statuses == []
    line.wait(DELAY)
    assert line.statuses == [200]


def test_an_approval_that_takes_longer_than_the_delay_waits_no_more() -> None:
    plane = a_plane()
    a_first_call(plane)
    line = a_caller(plane)
    line.send(POST)
    plane.wait(DELAY)
    approve(line)
    assert line.statuses == [200]


# --- clients that leave, and a service that stops ----------------------------


def test_a_client_that_is_gone_leaves_nothing_behind() -> None:
    line = a_first_call()
    line.hang_up()
    assert line.plane.wires == set()
    line.wait(DELAY)
    assert line.socket.written == b""
    assert line.plane.loop.alarms == []


def test_though_the_first_caller_is_gone_later_ones_are_answered_at_once() -> None:
    line = a_first_call()
    line.hang_up()
    line.wait(DELAY)
    other = a_caller(line.plane)
    other.send(GET)
    assert other.statuses == [200]


@pytest.mark.parametrize("data", [GET, POST])
def test_a_client_that_closes_its_side_is_answered_at_once(data: bytes) -> None:
    line = a_first_call(data=data)
    if data is POST:
        approve(line)
    assert line.wire.eof_received() is True
    assert line.statuses == [200]
    assert line.socket.done == ["close"]


def test_a_client_that_closes_its_side_gets_all_that_it_has_asked() -> None:
    line = a_first_call(data=GET + GET + POST)
    assert line.wire.eof_received() is True
    assert line.statuses == [200, 200]
    approve(line)
    assert line.statuses == [200, 200, 200]
    assert line.socket.done == ["close"]


@pytest.mark.parametrize("data", [GET, POST])
def test_a_service_that_stops_answers_first_calls_at_once(data: bytes) -> None:
    line = a_first_call(data=data)
    if data is POST:
        approve(line)
    line.wire.leave()
    (said,) = line.said
    assert (said.status, said.header(b"connection")) == (200, b"close")
    assert line.socket.done == ["close"]


@pytest.mark.parametrize("data", [GET, POST])
def test_a_service_that_stops_while_a_group_begins_delays_nobody(data: bytes) -> None:
    line = a_caller(a_plane())
    line.send(data)
    line.wire.leave()
    listen(line)
    if data is POST:
        approve(line)
    assert line.statuses == [200]


def test_a_service_that_stops_while_a_first_call_approves_does_not_delay_it() -> None:
    line = a_first_call(data=POST)
    line.wire.leave()
    assert line.statuses == []
    approve(line)
    assert line.statuses == [200]


def test_a_delayed_call_is_not_taken_for_an_idle_connection() -> None:
    line = Line(Plane(a_reception(first_call_delay=120)), peer="10.0.0.3")
    line.send(GET)
    listen(line)
    line.wait(120)
    assert line.statuses == [200]
    assert line.socket.done == []
