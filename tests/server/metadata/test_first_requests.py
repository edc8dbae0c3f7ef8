"""Delay of the first request of a group that is being enabled, and its end."""

from dataclasses import replace

import pytest
from tests.server.support.connections import ClientConnection, FakePlane, a_poll
from tests.server.support.dialogs import a_post, a_request
from tests.server.support.first_requests import (
    DELAY,
    GET,
    POST,
    a_caller,
    a_first_call,
    a_plane,
    approve,
    listen,
    view_after_enabling,
)
from tests.server.support.handlers import (
    EVENTS,
    HOUR,
    NOON,
    QUIET,
    a_harness,
    an_event,
    shown,
)

from forewarn.core.fleet import Enabling
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.errors import InvalidInput, Unavailable
from forewarn.server.metadata.handler import ApproveFirst, EnableFirst
from forewarn.server.metadata.limits import RateLimit

# --- time of the response ----------------------------------------------------


def test_first_request_is_delayed() -> None:
    line = a_first_call()
    line.wait(DELAY - 1)
    assert line.statuses == []
    line.wait(1)
    assert line.statuses == [200]


def test_delayed_response_shows_the_current_document() -> None:
    line = a_first_call()
    line.wait(30)
    group = view_after_enabling().group
    line.plane.change(
        DocumentUpdate(position=2, shown=[shown(group, an_event(), epoch="e1")])
    )
    assert line.statuses == []
    line.wait(30)
    (response,) = line.responses
    assert b'"DocumentIncarnation":1' in response.body


def test_requests_during_the_delay_end_with_it() -> None:
    plane = a_plane()
    first, second, third = a_first_call(plane), a_caller(plane), a_caller(plane)
    second.send(GET)
    plane.wait(DELAY - 1)
    third.send(GET)
    assert (first.statuses, second.statuses, third.statuses) == ([], [], [])
    plane.wait(1)
    assert (first.statuses, second.statuses, third.statuses) == ([200], [200], [200])


def test_requests_before_the_enabling_end_with_the_delay() -> None:
    plane = a_plane()
    first, second = a_caller(plane), a_caller(plane)
    first.send(GET)
    second.send(GET)
    listen(first)
    plane.wait(10)
    second.wire.enabled(None)
    plane.wait(DELAY - 10)
    assert (first.statuses, second.statuses) == ([200], [200])


def test_requests_after_the_delay_are_served_immediately() -> None:
    line = a_first_call()
    line.wait(DELAY)
    line.send(GET)
    other = a_caller(line.plane)
    other.send(GET)
    assert (line.statuses, other.statuses) == ([200, 200], [200])


def test_every_enabling_has_a_delay() -> None:
    line = a_first_call()
    line.wait(DELAY)
    line.plane.reception.set_clock(NOON + 24 * HOUR)
    line.send(GET)
    listen(line, at=NOON + 24 * HOUR)
    line.wait(DELAY - 1)
    assert line.statuses == [200]
    line.wait(1)
    assert line.statuses == [200, 200]


def test_other_groups_are_not_delayed() -> None:
    plane = a_plane()
    a_first_call(plane)
    other = ClientConnection(plane, peer="10.0.0.1")
    other.send(GET)
    assert other.statuses == [200]


def test_always_enabled_group_is_never_delayed() -> None:
    line = a_first_call()
    always = replace(view_after_enabling().group, enabled=Enabling.ALWAYS)
    line.plane.change(DocumentUpdate(position=2, shown=[shown(always, epoch="e1")]))
    other = a_caller(line.plane)
    other.send(GET)
    assert other.statuses == [200]


def test_group_enabled_before_the_service_started_is_not_delayed() -> None:
    line = a_caller(a_plane(view_after_enabling()))
    line.send(GET)
    assert line.statuses == [200]


def test_without_a_configured_delay_no_request_waits() -> None:
    line = a_first_call(FakePlane(a_harness()))
    assert line.statuses == [200]
    assert line.plane.loop.alarms == []


@pytest.mark.parametrize(
    "target",
    [
        "/metadata/instance?api-version=2021-02-01",
        "/metadata/versions",
        "/metadata/scheduledevents",
    ],
)
def test_other_requests_of_the_group_are_not_delayed(target: str) -> None:
    other = a_caller(a_first_call().plane)
    other.send(a_request(target, "Metadata: true"))
    assert len(other.statuses) == 1


def test_failed_enabling_gets_503_immediately() -> None:
    line = a_caller(a_plane())
    line.send(GET)
    line.wire.enabled(Unavailable("the disk is full"))
    assert line.statuses == [503]


def test_long_poll_is_held_after_the_delay() -> None:
    line = a_first_call(data=a_poll("wait=30", tag='"e1.0"'))
    line.wait(DELAY + 29)
    assert line.statuses == []
    line.wait(1)
    assert line.statuses == [304]


def test_pipelined_request_follows_the_delayed_one() -> None:
    line = a_first_call(data=GET + GET)
    line.wait(DELAY - 1)
    assert line.statuses == []
    line.wait(1)
    assert line.statuses == [200, 200]


def test_delayed_request_counts_once_for_the_rate_limit() -> None:
    line = a_first_call(a_plane(rate=RateLimit(1, lambda: 0.0)))
    line.wait(DELAY)
    assert line.statuses == [200]


# --- time --------------------------------------------------------------------


def test_delay_does_not_use_the_service_clock() -> None:
    line = a_first_call()
    line.plane.reception.set_clock(NOON + HOUR)
    line.wait(DELAY - 1)
    assert line.statuses == []


def test_waiting_client_keeps_its_group_enabled_across_a_clock_jump() -> None:
    line = a_first_call()
    line.plane.reception.set_clock(NOON + 25 * HOUR)
    line.wait(DELAY)
    assert line.statuses == [200]
    assert line.plane.reception.polled_groups() == {"quiet": NOON + 25 * HOUR}


def test_without_waiters_the_group_is_disabled_from_its_last_request() -> None:
    line = a_first_call()
    line.hang_up()
    line.plane.reception.set_clock(NOON + 25 * HOUR)
    line.wait(DELAY)
    other = a_caller(line.plane)
    other.send(GET)
    assert line.plane.deferred == [EnableFirst(group="quiet")] * 2


# --- recorded requests -------------------------------------------------------


def test_client_that_left_early_has_not_seen_the_event() -> None:
    plane = a_plane(shown(QUIET, an_event()))
    line = a_caller(plane)
    line.send(GET)
    group = view_after_enabling().group
    plane.change(
        DocumentUpdate(position=1, shown=[shown(group, an_event(), epoch="e1")])
    )
    line.wire.enabled(None)
    line.hang_up()
    plane.wait(DELAY)
    assert plane.reception.seen() == []


def test_request_is_recorded_on_arrival() -> None:
    line = a_first_call()
    line.plane.reception.polled_groups()
    line.plane.reception.set_clock(NOON + HOUR)
    a_caller(line.plane).send(GET)
    assert line.plane.reception.polled_groups() == {"quiet": NOON + HOUR}


def test_each_group_has_one_timer_for_all_waiters() -> None:
    plane = a_plane()
    a_first_call(plane)
    for _ in range(5):
        a_caller(plane).send(GET)
    assert plane.loop.alarms == [DELAY]


def test_group_is_enabled_even_without_waiters() -> None:
    plane = a_plane()
    plane.change(DocumentUpdate(position=1, shown=[view_after_enabling()]))
    group_state = plane.handler.directory.group_state("quiet")
    assert group_state is not None
    plane.first_requests.start(group_state)
    plane.wait(DELAY)
    line = a_caller(plane)
    line.send(GET)
    assert line.statuses == [200]


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
