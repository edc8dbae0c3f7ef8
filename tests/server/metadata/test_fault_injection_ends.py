"""Requests that a fault befalls: answers that are late, broken off, cut or stale."""

import pytest
from tests.server.support.connections import a_poll
from tests.server.support.faulted_requests import (
    GET,
    POST,
    WRONG_POST,
    a_line,
    announce,
    approve,
    heard,
)

from forewarn.server.metadata.faults.injection import half_of_body
from forewarn.server.metadata.faults.model import fault_of

# --- late answers ------------------------------------------------------------


def test_a_slow_answer_shows_the_document_as_it_is_by_then() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(GET)
    line.wait(2)
    announce(line)
    assert line.statuses == []
    line.wait(1)
    (said,) = line.said
    assert b'"DocumentIncarnation":2' in said.body
    assert heard(line) == [(200, "slow")]


def test_an_approval_is_carried_out_at_once_and_answered_late() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(POST)
    approve(line)
    line.wait(2)
    assert line.statuses == []
    line.wait(1)
    assert line.statuses == [200]
    assert heard(line) == [(200, "slow")]


def test_that_an_approval_is_wrong_is_told_late_too() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(WRONG_POST)
    assert line.statuses == []
    line.wait(3)
    assert line.statuses == [400]


def test_a_fault_that_is_cleared_meanwhile_changes_no_late_answer() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(GET)
    line.plane.injector.clear(None)
    line.send(GET)
    assert line.statuses == []
    line.wait(3)
    assert line.statuses == [200, 200]
    assert heard(line) == [(200, "slow"), (200, None)]


def test_a_slow_poll_is_held_afterwards_as_ever() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    line.wait(5)
    assert line.plane.waiters() == 1
    announce(line)
    assert line.statuses == [200]
    line.wait(40)
    assert heard(line) == [(200, "slow")]


def test_a_change_does_not_hasten_a_slow_poll() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    announce(line)
    assert line.statuses == []
    line.wait(3)
    assert line.statuses == [200]


def test_a_first_call_is_late_and_the_next_is_not() -> None:
    line = a_line(fault_of("slow-first-call", delay=3))
    line.send(GET)
    line.wait(3)
    line.send(GET)
    assert line.statuses == [200, 200]


@pytest.mark.parametrize("data", [GET, a_poll("wait=30", tag='"e0.1"'), WRONG_POST])
def test_when_the_service_stops_who_waits_is_answered_at_once(data: bytes) -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(data)
    line.wire.leave()
    assert len(line.statuses) == 1
    assert line.socket.done == ["close"]


def test_an_approval_that_ends_when_the_service_stops_is_answered_at_once() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(POST)
    line.wire.leave()
    approve(line)
    assert line.statuses == [200]


def test_a_late_answer_to_who_has_gone_is_dropped() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(GET)
    line.hang_up()
    line.wait(5)
    assert line.socket.written == b""
    assert line.plane.loop.alarms == []
    assert heard(line) == []


# --- connections that end ----------------------------------------------------


def test_a_read_is_reset_instead_of_an_answer() -> None:
    line = a_line(fault_of("reset"))
    line.send(GET)
    assert line.socket.written == b""
    assert line.socket.done == ["linger 0", "abort"]
    assert heard(line) == [(0, "reset")]


def test_a_poll_is_reset_at_once() -> None:
    line = a_line(fault_of("reset"))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    assert line.socket.done == ["linger 0", "abort"]


def test_an_approval_is_carried_out_before_the_reset() -> None:
    line = a_line(fault_of("reset"))
    line.send(POST)
    assert line.socket.done == []
    approve(line)
    assert line.socket.written == b""
    assert line.socket.done == ["linger 0", "abort"]
    assert heard(line) == [(0, "reset")]


@pytest.mark.parametrize(
    "data", [GET, a_poll(None, tag='"e0.1"'), a_poll("wait=30", tag='"e0.1"')]
)
def test_a_document_is_cut_in_the_middle_whatever_the_caller_knows(data: bytes) -> None:
    whole = a_line()
    whole.send(GET)
    line = a_line(fault_of("truncated"))
    line.send(data)
    (expected,) = whole.said
    head, _, body = line.socket.written.partition(b"\r\n\r\n")
    assert b"HTTP/1.1 200 OK" in head
    assert f"Content-Length: {len(expected.body)}".encode() in head
    assert body == expected.body[: len(expected.body) // 2]
    assert line.socket.done == ["close"]
    assert heard(line) == [(0, "truncated")]


def test_an_approval_is_carried_out_before_its_answer_is_cut() -> None:
    line = a_line(fault_of("truncated"))
    line.send(POST)
    approve(line)
    assert line.socket.written == b"HTTP/1."
    assert line.socket.done == ["close"]
    assert heard(line) == [(0, "truncated")]


def test_after_what_was_cut_nothing_is_answered() -> None:
    line = a_line(fault_of("truncated", count=1))
    line.send(GET + GET)
    cut_off = line.socket.written
    line.send(GET)
    assert line.socket.written == cut_off
    assert cut_off.count(b"HTTP/1.1") == 1


def test_a_client_cannot_take_half_an_answer_for_a_whole_one() -> None:
    assert half_of_body(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n") == b"HTTP/1."
    assert half_of_body(b"HTTP/1.1 200 OK\r\n\r\nabcd") == b"HTTP/1.1 200 OK\r\n\r\nab"


# --- what is stale -----------------------------------------------------------


def test_what_is_stale_is_shown_as_it_was() -> None:
    line = a_line(fault_of("stale"))
    announce(line)
    line.send(GET)
    (said,) = line.said
    assert b'"DocumentIncarnation":1' in said.body
    assert said.header(b"etag") == b'"e0.1"'


def test_who_has_seen_more_is_shown_what_is_stale() -> None:
    line = a_line(fault_of("stale"))
    announce(line)
    line.send(a_poll("wait=30", tag='"e0.2"'))
    (said,) = line.said
    assert said.header(b"etag") == b'"e0.1"'


def test_a_poll_for_more_than_what_is_stale_waits_in_vain() -> None:
    line = a_line(fault_of("stale"))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    announce(line)
    line.wait(29)
    assert line.statuses == []
    line.wait(1)
    (said,) = line.said
    assert (said.status, said.header(b"etag")) == (304, b'"e0.1"')
    assert heard(line) == [(304, "stale")]


@pytest.mark.parametrize("how", ["cleared", "over"])
def test_when_it_ends_those_who_wait_see_what_is_true(how: str) -> None:
    line = a_line(fault_of("stale", seconds=5))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    announce(line)
    assert line.statuses == []
    if how == "cleared":
        line.plane.injector.clear("f1")
    else:
        line.wait(5)
    (said,) = line.said
    assert said.header(b"etag") == b'"e0.2"'
    assert said.header(b"forewarn-faults") is None


def test_what_is_stale_is_noted_to_have_been_seen() -> None:
    line = a_line(fault_of("stale"))
    announce(line)
    line.send(GET)
    assert line.plane.reception.seen() == [("web-0", "E0")]


# --- who waits already -------------------------------------------------------


def test_who_waits_for_a_change_is_let_go_so_that_he_meets_the_fault() -> None:
    line = a_line()
    line.send(a_poll("wait=30", tag='"e0.1"'))
    assert line.statuses == []
    line.plane.injector.add(fault_of("503"), by="admin", at=line.plane.handler.head.now)
    line.send(a_poll("wait=30", tag='"e0.1"'))
    assert line.statuses == [304, 503]
