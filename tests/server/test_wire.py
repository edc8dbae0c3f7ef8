"""A connection's socket: how long it is waited for, and how it ends."""

import asyncio
from collections.abc import Sequence

import pytest
from tests.server.reception import EVENTS, NOON, a_reception
from tests.server.talk import a_post, a_request, read

from forewarn.clocks import ManualClock
from forewarn.server.limits import Connections
from forewarn.server.plane import MetadataPlane
from forewarn.server.wire import Wire

GET = a_request(EVENTS, "Metadata: true")


class Socket(asyncio.Transport):
    """Writes down what is done to it."""

    def __init__(self, peer: str) -> None:
        super().__init__({"peername": (peer, 12345)})
        self.written = b""
        self.done: list[str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.done.append("write_eof")

    def close(self) -> None:
        self.done.append("close")

    def abort(self) -> None:
        self.done.append("abort")

    def pause_reading(self) -> None:
        self.done.append("pause")

    def resume_reading(self) -> None:
        self.done.append("resume")


class Nothing:
    """Commands that are never given."""

    def approve_as_vm(self, vm_name: str, event_ids: Sequence[str]) -> None:
        raise AssertionError(vm_name)

    def listen(self, groups: Sequence[str]) -> None:
        raise AssertionError(groups)


class Line:
    """A wire between a client and the plane; seconds pass when it is said so."""

    def __init__(self, peer: str = "10.0.0.1") -> None:
        desk = a_reception().desk
        limit = Connections(per_vm=1000, total=1000)
        self.plane = MetadataPlane([], desk, Nothing(), ManualClock(NOON), limit)
        self.socket = Socket(peer)
        self.wire = Wire(self.plane)
        self.wire.connection_made(self.socket)

    def send(self, data: bytes) -> None:
        self.wire.data_received(data)

    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.plane.second += 1
            self.wire.check(self.plane.second)

    @property
    def statuses(self) -> list[int]:
        return [said.status for said in read(self.socket.written, [])]


def test_a_request_is_answered_for_the_address_it_comes_from() -> None:
    line = Line("10.9.9.9")
    line.send(GET)
    assert b"10.9.9.9" in line.socket.written


def test_an_ipv4_address_in_ipv6_is_the_ipv4_address() -> None:
    line = Line("::ffff:10.0.0.1")
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


def test_a_client_that_does_not_read_is_not_read_either() -> None:
    line = Line()
    line.wire.pause_writing()
    line.wire.resume_writing()
    assert line.socket.done == ["pause", "resume"]


def test_after_the_end_nothing_is_written() -> None:
    line = Line()
    line.wire.connection_lost(None)
    line.send(GET)
    line.wait(100)
    assert line.socket.written == b""
    assert line.socket.done == []
