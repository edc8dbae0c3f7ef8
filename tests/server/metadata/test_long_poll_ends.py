"""Held requests whose client leaves, sends more, or finds the service stopping."""

from dataclasses import replace

import pytest
from tests.server.support.connections import Line, Plane, a_poll
from tests.server.support.dialogs import a_request
from tests.server.support.handlers import EVENTS, NOON, QUIET, WEB, an_event, shown

from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.errors import Unavailable

GET = a_request(EVENTS, "Metadata: true")
CHANGE = DocumentUpdate(position=1, shown=[shown(WEB, an_event())])


# --- clients that leave ------------------------------------------------------


@pytest.mark.parametrize("problem", [None, ConnectionResetError()])
def test_a_client_that_is_gone_leaves_nothing_behind(problem: Exception | None) -> None:
    line = Line()
    line.send(a_poll())
    line.hang_up(problem)
    assert line.plane.waiters() == 0
    assert line.plane.wires == set()
    line.plane.change(CHANGE)
    line.wait(100)
    assert line.socket.written == b""
    assert line.socket.done == []
    assert line.plane.loop.alarms == []


def test_a_client_that_closes_its_side_is_answered_at_once() -> None:
    line = Line()
    line.send(a_poll())
    assert line.wire.eof_received() is True
    assert line.statuses == [304]
    assert line.socket.done == ["close"]
    assert line.plane.waiters() == 0


@pytest.mark.parametrize("count", [2, 1500])
def test_a_client_that_closes_its_side_gets_all_that_it_has_asked(count: int) -> None:
    line = Line()
    line.send(a_poll())
    for _ in range(count - 1):
        line.send(a_poll())
    assert line.wire.eof_received() is True
    assert line.statuses == [304] * count
    assert line.socket.done == ["close"]


def test_a_client_that_closes_its_side_while_its_group_begins_waits_no_more() -> None:
    line = Line(peer="10.0.0.3")
    line.send(a_poll(tag="*"))
    assert line.wire.eof_received() is True
    began = shown(replace(QUIET, last_request=NOON), epoch="e1")
    line.plane.change(DocumentUpdate(position=1, shown=[began]))
    line.wire.enabled(None)
    assert line.statuses == [304]
    assert line.socket.done == ["close"]


def test_whoever_leaves_while_others_are_woken_is_not_woken() -> None:
    plane = Plane()
    lines = [Line(plane) for _ in range(3)]
    for line in lines:
        line.send(a_poll())
    woken = plane.handler.directory.update(CHANGE)
    lines[1].hang_up()
    for waiter in woken:
        waiter.wake()
    assert [line.statuses for line in lines] == [[200], [], [200]]


def test_whoever_is_answered_before_he_is_woken_may_wait_again() -> None:
    line = Line()
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


def test_no_request_ends_with_the_wait_of_an_earlier_one() -> None:
    line = Line()
    line.send(a_poll("wait=5"))
    line.plane.change(CHANGE)
    line.send(a_poll("wait=30", tag='"e0.1"'))
    line.wait(29)
    assert line.statuses == [200]
    line.wait(1)
    assert line.statuses == [200, 304]


# --- clients that send more --------------------------------------------------


def test_what_is_asked_behind_a_held_request_is_answered_after_it() -> None:
    line = Line()
    line.send(GET + a_poll() + a_request("/nowhere", "Metadata: true") + GET)
    assert line.statuses == [200]
    line.plane.change(CHANGE)
    assert line.statuses == [200, 200, 404, 200]
    assert [b"E0" in said.body for said in line.said] == [False, True, False, True]


def test_requests_that_wait_behind_each_other_wait_one_after_the_other() -> None:
    line = Line()
    line.send(a_poll("wait=2") + a_poll("wait=3") + a_poll("wait=2"))
    answered = []
    for _ in range(8):
        line.wait(1)
        answered.append(len(line.said))
    assert answered == [0, 1, 1, 1, 2, 2, 3, 3]
    assert line.plane.waiters() == 0


def test_a_client_that_sends_too_much_meanwhile_is_closed() -> None:
    line = Line()
    line.send(a_poll())
    for _ in range(5):
        line.send(b"x" * 64 * 1024)
    assert line.socket.done[:1] == ["close"]
    line.plane.change(CHANGE)
    line.wait(61)
    assert line.socket.written == b""
    assert line.plane.loop.alarms == []


def test_a_held_request_is_not_taken_for_an_idle_connection() -> None:
    line = Line()
    for _ in range(3):
        line.send(a_poll("wait=60"))
        line.wait(60)
    line.wait(70)
    assert line.statuses == [304] * 3
    assert line.socket.done == []


# --- a service that stops ----------------------------------------------------


def test_a_service_that_stops_answers_those_who_wait_for_the_last_time() -> None:
    line = Line()
    line.send(a_poll())
    line.wire.leave()
    (said,) = line.said
    assert (said.status, said.header(b"connection")) == (304, b"close")
    assert said.header(b"preference-applied") == b"wait=30"
    assert line.socket.done == ["close"]


def test_a_service_that_stops_does_not_answer_what_waits_behind() -> None:
    line = Line()
    line.send(a_poll() + a_poll() + GET)
    line.wire.leave()
    assert line.statuses == [304]
    assert line.socket.done == ["write_eof"]


def test_a_service_that_stops_finishes_what_it_has_begun() -> None:
    line = Line(peer="10.0.0.3")
    line.send(GET)
    line.wire.leave()
    assert (line.socket.written, line.socket.done) == (b"", [])
    line.wire.enabled(Unavailable("the disk is full"))
    (said,) = line.said
    assert (said.status, said.header(b"connection")) == (503, b"close")
    assert line.socket.done == ["close"]
