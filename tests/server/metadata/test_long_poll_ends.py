"""Long polls whose client leaves or sends more, or whose service stops."""

from dataclasses import replace

import pytest
from tests.server.support.connections import ClientConnection, FakePlane, a_poll
from tests.server.support.dialogs import a_request
from tests.server.support.handlers import EVENTS, NOON, QUIET, WEB, an_event, shown

from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.errors import Unavailable

GET = a_request(EVENTS, "Metadata: true")
CHANGE = DocumentUpdate(position=1, shown=[shown(WEB, an_event())])


# --- clients that leave ------------------------------------------------------


@pytest.mark.parametrize("problem", [None, ConnectionResetError()])
def test_closed_connection_leaves_nothing_behind(problem: Exception | None) -> None:
    line = ClientConnection()
    line.send(a_poll())
    line.hang_up(problem)
    assert line.plane.waiters() == 0
    assert line.plane.wires == set()
    line.plane.change(CHANGE)
    line.wait(100)
    assert line.socket.written == b""
    assert line.socket.done == []
    assert line.plane.loop.alarms == []


def test_half_closed_client_gets_its_response_immediately() -> None:
    line = ClientConnection()
    line.send(a_poll())
    assert line.wire.eof_received() is True
    assert line.statuses == [304]
    assert line.socket.done == ["close"]
    assert line.plane.waiters() == 0


@pytest.mark.parametrize("count", [2, 1500])
def test_half_closed_client_gets_all_its_responses(count: int) -> None:
    line = ClientConnection()
    line.send(a_poll())
    for _ in range(count - 1):
        line.send(a_poll())
    assert line.wire.eof_received() is True
    assert line.statuses == [304] * count
    assert line.socket.done[-1] == "close"


def test_half_closed_client_is_not_held_after_enabling() -> None:
    line = ClientConnection(peer="10.0.0.3")
    line.send(a_poll(tag="*"))
    assert line.wire.eof_received() is True
    enabled = shown(replace(QUIET, last_request=NOON), epoch="e1")
    line.plane.change(DocumentUpdate(position=1, shown=[enabled]))
    line.wire.enabled(None)
    assert line.statuses == [304]
    assert line.socket.done == ["close"]


def test_client_that_leaves_during_a_wake_up_is_skipped() -> None:
    plane = FakePlane()
    lines = [ClientConnection(plane) for _ in range(3)]
    for line in lines:
        line.send(a_poll())
    woken = plane.handler.directory.update(CHANGE)
    lines[1].hang_up()
    for waiter in woken:
        waiter.wake()
    assert [line.statuses for line in lines] == [[200], [], [200]]


def test_client_that_timed_out_before_its_wake_up_may_wait_again() -> None:
    line = ClientConnection()
    line.send(a_poll("wait=1"))
    (waiter,) = line.plane.handler.directory.update(CHANGE)
    line.wait(1)
    assert line.statuses == [200]
    line.send(a_poll(tag='"e0.1"'))
    waiter.wake()
    assert line.statuses == [200]
    assert line.plane.waiters() == 1
    line.wait(30)
    assert line.statuses == [200, 304]


def test_long_poll_does_not_end_with_an_earlier_timer() -> None:
    line = ClientConnection()
    line.send(a_poll("wait=5"))
    line.plane.change(CHANGE)
    line.send(a_poll("wait=30", tag='"e0.1"'))
    line.wait(29)
    assert line.statuses == [200]
    line.wait(1)
    assert line.statuses == [200, 304]


# --- clients that send more --------------------------------------------------


def test_pipelined_requests_follow_the_long_poll() -> None:
    line = ClientConnection()
    line.send(GET + a_poll() + a_request("/nowhere", "Metadata: true") + GET)
    assert line.statuses == [200]
    line.plane.change(CHANGE)
    assert line.statuses == [200, 200, 404, 200]
    assert [b"E0" in response.body for response in line.responses] == [
        False,
        True,
        False,
        True,
    ]


def test_pipelined_long_polls_wait_one_after_the_other() -> None:
    line = ClientConnection()
    line.send(a_poll("wait=2") + a_poll("wait=3") + a_poll("wait=2"))
    response_counts = []
    for _ in range(8):
        line.wait(1)
        response_counts.append(len(line.responses))
    assert response_counts == [0, 1, 1, 1, 2, 2, 3, 3]
    assert line.plane.waiters() == 0


def test_client_that_sends_too_much_while_held_is_closed() -> None:
    line = ClientConnection()
    line.send(a_poll())
    for _ in range(5):
        line.send(b"x" * 64 * 1024)
    assert line.socket.done[:1] == ["close"]
    line.plane.change(CHANGE)
    line.wait(61)
    assert line.socket.written == b""
    assert line.plane.loop.alarms == []


def test_held_connection_does_not_count_as_idle() -> None:
    line = ClientConnection()
    for _ in range(3):
        line.send(a_poll("wait=60"))
        line.wait(60)
    line.wait(70)
    assert line.statuses == [304] * 3
    assert line.socket.done == []


# --- stopping service --------------------------------------------------------


def test_stopping_service_ends_long_polls_and_connections() -> None:
    line = ClientConnection()
    line.send(a_poll())
    line.wire.leave()
    (response,) = line.responses
    assert (response.status, response.header(b"connection")) == (304, b"close")
    assert response.header(b"preference-applied") == b"wait=30"
    assert line.socket.done == ["close"]


def test_stopping_service_ignores_pipelined_requests() -> None:
    line = ClientConnection()
    line.send(a_poll() + a_poll() + GET)
    line.wire.leave()
    assert line.statuses == [304]
    assert line.socket.done == ["write_eof"]


def test_stopping_service_finishes_requests_in_progress() -> None:
    line = ClientConnection(peer="10.0.0.3")
    line.send(GET)
    line.wire.leave()
    assert (line.socket.written, line.socket.done) == (b"", [])
    line.wire.enabled(Unavailable("the disk is full"))
    (response,) = line.responses
    assert (response.status, response.header(b"connection")) == (503, b"close")
    assert line.socket.done == ["close"]
