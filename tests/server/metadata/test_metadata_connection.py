"""A connection's socket: how long it is waited for, and how it ends."""

import pytest
from tests.server.support.connections import Line, a_poll
from tests.server.support.dialogs import a_post, a_request
from tests.server.support.handlers import EVENTS

GET = a_request(EVENTS, "Metadata: true")


def test_a_request_is_answered_for_the_address_it_comes_from() -> None:
    line = Line(peer="10.9.9.9")
    line.send(GET)
    assert b"10.9.9.9" in line.socket.written


def test_an_ipv4_address_in_ipv6_is_the_ipv4_address() -> None:
    line = Line(peer="::ffff:10.0.0.1")
    line.send(GET)
    assert line.statuses == [200]


# --- patience ----------------------------------------------------------------


@pytest.mark.parametrize("part", [GET[:1], GET[:-1], a_post(b"abc")[:-1]])
def test_a_request_has_ten_seconds_to_arrive(part: bytes) -> None:
    line = Line()
    line.send(part)
    line.wait(9)
    assert line.socket.written == b""
    line.wait(3)
    assert line.statuses == [408]


def test_a_request_that_trickles_in_has_no_more_time_than_others() -> None:
    line = Line()
    for byte in GET[:12]:
        line.send(bytes([byte]))
        line.wait(1)
    assert line.statuses == [408]


def test_each_request_has_its_own_ten_seconds() -> None:
    line = Line()
    line.send(GET + GET[:20])
    line.wait(6)
    line.send(GET[20:] + GET[:20])
    line.wait(6)
    assert line.statuses == [200, 200]


def test_a_client_that_was_too_slow_is_read_no_more() -> None:
    line = Line()
    line.send(GET[:1])
    line.wait(12)
    line.send(GET)
    assert line.statuses == [408]
    assert line.socket.done == ["write_eof"]


def test_an_idle_connection_is_kept_for_75_seconds() -> None:
    line = Line()
    line.wait(74)
    assert line.socket.done == []
    line.wait(3)
    assert line.socket.done[:1] == ["close"]
    assert line.socket.written == b""


def test_every_request_begins_the_75_seconds_anew() -> None:
    line = Line()
    for _ in range(5):
        line.send(GET)
        line.wait(60)
    assert line.statuses == [200] * 5
    assert line.socket.done == []


# --- the end -----------------------------------------------------------------


def test_after_a_last_request_the_socket_is_closed() -> None:
    line = Line()
    line.send(a_request(EVENTS, "Metadata: true", version="1.0"))
    assert line.statuses == [200]
    assert line.socket.done == ["close"]


def test_after_an_error_the_client_can_still_read_the_answer() -> None:
    line = Line()
    line.send(a_post(b"x" * 70_000))
    assert line.statuses == [413]
    assert line.socket.done == ["write_eof"]


def test_what_is_sent_after_an_error_is_dropped_for_two_seconds() -> None:
    line = Line()
    line.send(a_post(b"x" * 70_000))
    for _ in range(2):
        line.send(b"x" * 1000)
        line.wait(1)
    assert line.socket.done == ["write_eof"]
    line.wait(2)
    assert line.socket.done[:2] == ["write_eof", "abort"]


def test_of_a_large_body_a_megabyte_is_dropped_and_the_rest_left() -> None:
    line = Line()
    line.send(a_post(b"x" * 70_000))
    for _ in range(17):
        line.send(b"x" * 64 * 1024)
    assert line.socket.done == ["write_eof", "pause"]
    line.wait(3)
    assert line.socket.done[2:] == ["abort"]


def test_a_client_that_has_closed_its_side_is_closed() -> None:
    line = Line()
    line.send(GET)
    assert line.wire.eof_received() is False


def test_after_the_end_nothing_is_written() -> None:
    line = Line()
    line.wire.connection_lost(None)
    line.send(GET)
    line.wait(100)
    assert line.socket.written == b""
    assert line.socket.done == []


# --- clients that do not read ------------------------------------------------


def test_a_client_that_does_not_read_is_not_read_either() -> None:
    line = Line()
    line.wire.pause_writing()
    line.wire.resume_writing()
    assert line.socket.done == ["pause", "resume"]


def test_a_client_that_does_not_read_for_ten_seconds_is_dropped() -> None:
    line = Line()
    line.wire.pause_writing()
    line.wait(10)
    assert line.socket.done == ["pause"]
    line.wait(1)
    assert line.socket.done == ["pause", "abort"]


def test_a_client_that_reads_now_and_then_is_kept() -> None:
    line = Line()
    for _ in range(4):
        line.wire.pause_writing()
        line.wait(9)
        line.wire.resume_writing()
    assert "abort" not in line.socket.done


def test_a_held_request_does_not_keep_a_client_that_does_not_read() -> None:
    line = Line()
    line.send(a_poll())
    line.wire.pause_writing()
    line.wait(11)
    assert line.socket.done == ["pause", "abort"]


def test_a_last_answer_may_be_read_for_ten_seconds() -> None:
    line = Line()
    line.socket.is_read = False
    line.send(a_request(EVENTS, "Metadata: true", "Connection: close"))
    line.wait(10)
    assert line.socket.done == ["close"]
    line.wait(1)
    assert line.socket.done == ["close", "abort"]


def test_what_nobody_reads_is_not_made() -> None:
    line = Line()
    line.socket.is_read = False
    line.send(GET * 2000)
    assert line.socket.done == ["pause"]
    assert 64 * 1024 < len(line.socket.written) < 2 * 64 * 1024 + 1024


def test_all_that_was_asked_is_answered_as_fast_as_it_is_read() -> None:
    line = Line()
    line.socket.is_read = False
    line.send(GET * 3999 + a_request(EVENTS, "Metadata: true", "Connection: close"))
    while "close" not in line.socket.done:
        line.wait(9)
        line.socket.read_all()
    assert line.statuses == [200] * 4000
    assert "abort" not in line.socket.done


def test_who_reads_at_once_gets_all_that_was_asked_at_once() -> None:
    line = Line()
    line.send(GET * 2000 + GET[:20])
    assert line.statuses == [200] * 2000
    line.send(GET[20:])
    assert line.statuses == [200] * 2001


def test_who_reads_slowly_waits_where_he_asked_to_wait() -> None:
    line = Line()
    line.socket.is_read = False
    line.send(GET * 300 + a_poll() + GET)
    line.socket.read_all()
    assert line.statuses == [200] * 300
    line.wait(30)
    assert line.statuses == [200] * 300 + [304, 200]
