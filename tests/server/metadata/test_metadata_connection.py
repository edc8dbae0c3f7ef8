"""Socket of a metadata connection: timeouts, back pressure and closing."""

import pytest
from tests.server.support.connections import ClientConnection, a_poll
from tests.server.support.dialogs import a_post, a_request
from tests.server.support.handlers import EVENTS

GET = a_request(EVENTS, "Metadata: true")


def test_client_is_identified_by_its_address() -> None:
    line = ClientConnection(peer="10.9.9.9")
    line.send(GET)
    assert b"10.9.9.9" in line.socket.written


def test_ipv4_mapped_ipv6_address_is_the_ipv4_address() -> None:
    line = ClientConnection(peer="::ffff:10.0.0.1")
    line.send(GET)
    assert line.statuses == [200]


# --- timeouts ----------------------------------------------------------------


@pytest.mark.parametrize("part", [GET[:1], GET[:-1], a_post(b"abc")[:-1]])
def test_request_must_arrive_within_ten_seconds(part: bytes) -> None:
    line = ClientConnection()
    line.send(part)
    line.wait(9)
    assert line.socket.written == b""
    line.wait(3)
    assert line.statuses == [408]


def test_slow_trickle_does_not_extend_the_time_limit() -> None:
    line = ClientConnection()
    for byte in GET[:12]:
        line.send(bytes([byte]))
        line.wait(1)
    assert line.statuses == [408]


def test_each_request_has_its_own_ten_seconds() -> None:
    line = ClientConnection()
    line.send(GET + GET[:20])
    line.wait(6)
    line.send(GET[20:] + GET[:20])
    line.wait(6)
    assert line.statuses == [200, 200]


def test_client_that_timed_out_is_no_longer_read() -> None:
    line = ClientConnection()
    line.send(GET[:1])
    line.wait(12)
    line.send(GET)
    assert line.statuses == [408]
    assert "close" not in line.socket.done


def test_idle_connection_is_kept_for_75_seconds() -> None:
    line = ClientConnection()
    line.wait(74)
    assert line.socket.done == []
    line.wait(3)
    assert line.socket.done[:1] == ["close"]
    assert line.socket.written == b""


def test_every_request_restarts_the_75_seconds() -> None:
    line = ClientConnection()
    for _ in range(5):
        line.send(GET)
        line.wait(60)
    assert line.statuses == [200] * 5
    assert line.socket.done == []


# --- closing -----------------------------------------------------------------


def test_socket_is_closed_after_the_last_request() -> None:
    line = ClientConnection()
    line.send(a_request(EVENTS, "Metadata: true", version="1.0"))
    assert line.statuses == [200]
    assert line.socket.done == ["close"]


def test_client_can_still_read_the_response_to_an_error() -> None:
    line = ClientConnection()
    line.send(a_post(b"x" * 70_000))
    assert line.statuses == [413]
    assert line.socket.done == ["write_eof"]


def test_data_after_an_error_is_discarded_for_two_seconds() -> None:
    line = ClientConnection()
    line.send(a_post(b"x" * 70_000))
    for _ in range(2):
        line.send(b"x" * 1000)
        line.wait(1)
    assert "abort" not in line.socket.done
    line.wait(2)
    assert "abort" in line.socket.done


def test_at_most_a_megabyte_is_discarded_after_an_error() -> None:
    line = ClientConnection()
    line.send(a_post(b"x" * 70_000))
    for _ in range(17):
        line.send(b"x" * 64 * 1024)
    assert line.socket.is_paused
    line.wait(3)
    assert line.socket.done[-1] == "abort"


def test_data_after_an_error_is_read_in_turns() -> None:
    line = ClientConnection()
    line.send(a_post(b"x" * 70_000))
    for _ in range(2):
        line.send(b"x" * 1000)
    assert line.socket.done == ["write_eof", *["pause", "resume"] * 2]


def test_half_closed_idle_connection_is_closed() -> None:
    line = ClientConnection()
    line.send(GET)
    assert line.wire.eof_received() is False


def test_nothing_is_written_after_the_connection_is_lost() -> None:
    line = ClientConnection()
    line.wire.connection_lost(None)
    line.send(GET)
    line.wait(100)
    assert line.socket.written == b""
    assert line.socket.done == []


# --- clients that do not read ------------------------------------------------


def test_reading_pauses_while_the_client_does_not_read() -> None:
    line = ClientConnection()
    line.wire.pause_writing()
    line.wire.resume_writing()
    assert line.socket.done == ["pause", "resume"]


def test_client_that_does_not_read_for_ten_seconds_is_dropped() -> None:
    line = ClientConnection()
    line.wire.pause_writing()
    line.wait(10)
    assert line.socket.done == ["pause"]
    line.wait(1)
    assert line.socket.done == ["pause", "abort"]


def test_client_that_reads_occasionally_is_kept() -> None:
    line = ClientConnection()
    for _ in range(4):
        line.wire.pause_writing()
        line.wait(9)
        line.wire.resume_writing()
    assert "abort" not in line.socket.done


def test_held_client_that_does_not_read_is_dropped() -> None:
    line = ClientConnection()
    line.send(a_poll())
    line.wire.pause_writing()
    line.wait(11)
    assert line.socket.done == ["pause", "abort"]


def test_last_response_must_be_read_within_ten_seconds() -> None:
    line = ClientConnection()
    line.socket.is_read = False
    line.send(a_request(EVENTS, "Metadata: true", "Connection: close"))
    line.wait(10)
    assert line.socket.done == ["close"]
    line.wait(1)
    assert line.socket.done == ["close", "abort"]


def test_unread_responses_are_not_generated() -> None:
    line = ClientConnection()
    line.socket.is_read = False
    line.send(GET * 2000)
    assert line.socket.done == ["pause"]
    assert 64 * 1024 < len(line.socket.written) < 2 * 64 * 1024 + 1024


def test_slow_reader_gets_all_responses() -> None:
    line = ClientConnection()
    line.socket.is_read = False
    line.send(GET * 3999 + a_request(EVENTS, "Metadata: true", "Connection: close"))
    while "close" not in line.socket.done:
        line.wait(9)
        line.socket.read_all()
    assert line.statuses == [200] * 4000
    assert "abort" not in line.socket.done


def test_fast_reader_gets_all_responses_immediately() -> None:
    line = ClientConnection()
    line.send(GET * 2000 + GET[:20])
    assert line.statuses == [200] * 2000
    line.send(GET[20:])
    assert line.statuses == [200] * 2001


def test_long_poll_of_a_slow_reader_is_held() -> None:
    line = ClientConnection()
    line.socket.is_read = False
    line.send(GET * 300 + a_poll() + GET)
    line.socket.read_all()
    assert line.statuses == [200] * 300
    line.wait(30)
    assert line.statuses == [200] * 300 + [304, 200]
