"""Long polls: held until the document changes, the wait ends or the VM leaves."""

from dataclasses import replace

import pytest
from tests.server.support.connections import ClientConnection, FakePlane, a_poll
from tests.server.support.dialogs import ParsedResponse, a_request
from tests.server.support.handlers import (
    EVENTS,
    HOUR,
    NOON,
    QUIET,
    SECOND,
    VMS,
    WEB,
    a_harness,
    an_event,
    shown,
)

from forewarn.core.fleet import VM
from forewarn.engine.readers.documents import AudienceView, DocumentUpdate
from forewarn.errors import Unavailable
from forewarn.server.metadata.handler import EnableFirst

EVENT = b'"EventId":"E0"'
GET = a_request(EVENTS, "Metadata: true")


def a_change(*what: AudienceView) -> DocumentUpdate:
    return DocumentUpdate(position=1, shown=what or [shown(WEB, an_event())])


def applied(said: ParsedResponse) -> bytes | None:
    return said.header(b"preference-applied")


# --- end of a long poll ------------------------------------------------------


def test_long_poll_is_held_until_the_document_changes() -> None:
    line = ClientConnection()
    line.send(a_poll())
    line.wait(29)
    assert line.socket.written == b""
    line.plane.change(a_change())
    (response,) = line.responses
    assert (response.status, applied(response)) == (200, b"wait=30")
    assert response.header(b"etag") == b'"e0.1"'
    assert EVENT in response.body


def test_long_poll_is_held_for_the_requested_time() -> None:
    line = ClientConnection()
    line.send(a_poll())
    line.wait(29)
    assert line.socket.written == b""
    line.wait(1)
    (response,) = line.responses
    assert (response.status, applied(response), response.body) == (304, b"wait=30", b"")
    assert response.header(b"etag") == b'"e0.0"'


@pytest.mark.parametrize("wait", ["61", "3600", "99999999999999999999"])
def test_long_poll_is_held_for_at_most_a_minute(wait: str) -> None:
    line = ClientConnection()
    line.send(a_poll(f"wait={wait}"))
    line.wait(59)
    assert line.socket.written == b""
    line.wait(1)
    (response,) = line.responses
    assert (response.status, applied(response)) == (304, b"wait=60")


def test_changed_document_is_returned_immediately() -> None:
    line = ClientConnection(FakePlane(a_harness(shown(WEB, an_event()))))
    line.send(a_poll())
    (response,) = line.responses
    assert (response.status, applied(response)) == (200, b"wait=30")
    assert EVENT in response.body


def test_each_change_ends_one_long_poll() -> None:
    line = ClientConnection()
    for number in range(3):
        line.send(a_poll(tag=f'"e0.{number}"'))
        assert len(line.responses) == number
        line.plane.change(a_change(shown(incarnation=number + 1)))
        assert line.statuses == [200] * (number + 1)


def test_connection_close_applies_after_the_long_poll() -> None:
    line = ClientConnection()
    line.send(a_poll("wait=1", "Connection: close"))
    assert line.socket.done == []
    line.wait(1)
    assert line.responses[0].header(b"connection") == b"close"
    assert line.socket.done == ["close"]


# --- requests that are not held ----------------------------------------------


def test_request_without_an_etag_is_not_held() -> None:
    line = ClientConnection()
    line.send(a_poll(tag=None))
    (response,) = line.responses
    assert (response.status, applied(response)) == (200, None)


def test_wait_of_zero_is_not_held() -> None:
    line = ClientConnection()
    line.send(a_poll("wait=0"))
    (response,) = line.responses
    assert (response.status, applied(response)) == (304, b"wait=0")


# --- woken clients -----------------------------------------------------------


def test_change_wakes_all_waiters_of_the_document() -> None:
    plane = FakePlane()
    lines = [
        ClientConnection(plane, peer) for peer in ("10.0.0.1", "10.0.0.2", "fd00::2")
    ]
    for line in lines:
        line.send(a_poll())
    plane.change(a_change())
    assert [line.statuses for line in lines] == [[200]] * 3


def test_change_in_another_group_wakes_no_waiter() -> None:
    listening = replace(QUIET, last_request=NOON)
    line = ClientConnection(FakePlane(a_harness(shown(WEB), shown(listening))))
    line.send(a_poll())
    woken = line.plane.handler.directory.update(a_change(shown(listening, an_event())))
    assert list(woken) == []
    assert line.plane.waiters() == 1


def test_change_in_an_isolated_group_wakes_only_the_affected_vm() -> None:
    alone = replace(WEB, isolated=True)
    before = [shown(alone, vm="web-0"), shown(alone, vm="web-1")]
    plane = FakePlane(a_harness(*before, vms=VMS[:2], groups=(alone,)))
    web_0, web_1 = (
        ClientConnection(plane, "10.0.0.1"),
        ClientConnection(plane, "10.0.0.2"),
    )
    for line in (web_0, web_1):
        line.send(a_poll())
    plane.change(a_change(shown(alone, an_event(), vm="web-0"), before[1]))
    assert (web_0.statuses, web_1.statuses) == ([200], [])


def test_unchanged_etag_does_not_extend_the_wait() -> None:
    line = ClientConnection()
    line.send(a_poll())
    more = VM(name="web-9", group="web", addresses=("10.0.0.9",))
    for _ in range(29):
        line.wait(1)
        line.plane.change(DocumentUpdate(position=1, shown=[shown()], placed=[more]))
        line.plane.change(
            DocumentUpdate(position=2, shown=[shown()], removed=["web-9"])
        )
    assert line.plane.waiters() == 1
    line.wait(1)
    assert line.statuses == [304]


# --- recorded requests and seen events ---------------------------------------


def test_long_poll_is_recorded_at_start_and_end() -> None:
    line = ClientConnection()
    harness = line.plane.reception
    line.send(a_poll())
    assert harness.polled_groups() == {"web": NOON}
    harness.set_clock(NOON + SECOND)
    line.plane.change(a_change())
    assert harness.polled_groups() == {"web": NOON + SECOND}


def test_long_poll_records_seen_events_at_start_and_end() -> None:
    line = ClientConnection(FakePlane(a_harness(shown(WEB, an_event()))))
    harness = line.plane.reception
    line.send(a_poll(tag='"e0.1"'))
    assert harness.seen() == [("web-0", "E0")]
    line.plane.change(a_change(shown(WEB, an_event(), an_event("E1"))))
    assert harness.seen() == [("web-0", "E1")]


def test_first_long_poll_of_a_disabled_group_enables_it() -> None:
    line = ClientConnection(peer="10.0.0.3")
    line.send(a_poll())
    assert line.plane.deferred == [EnableFirst(group="quiet")]
    enabled = replace(QUIET, last_request=NOON)
    line.plane.change(a_change(shown(enabled, epoch="e1")))
    line.wire.enabled(None)
    (response,) = line.responses
    assert (response.status, applied(response)) == (200, b"wait=30")
    assert response.header(b"etag") == b'"e1.0"'


def test_first_long_poll_with_any_etag_is_held_after_enabling() -> None:
    line = ClientConnection(peer="10.0.0.3")
    line.send(a_poll(tag="*"))
    line.plane.change(a_change(shown(replace(QUIET, last_request=NOON), epoch="e1")))
    line.wire.enabled(None)
    assert line.plane.waiters("10.0.0.3") == 1
    line.wait(30)
    assert line.statuses == [304]


def test_long_poll_across_a_day_enables_the_group_again() -> None:
    enabled = replace(QUIET, last_request=NOON)
    line = ClientConnection(FakePlane(a_harness(shown(enabled))), peer="10.0.0.3")
    line.send(a_poll("wait=5"))
    line.plane.reception.set_clock(NOON + 25 * HOUR)
    line.wait(5)
    assert line.plane.deferred == [EnableFirst(group="quiet")]


# --- clients that leave ------------------------------------------------------


@pytest.mark.parametrize("problem", [None, ConnectionResetError()])
def test_closed_connection_leaves_nothing_behind(problem: Exception | None) -> None:
    line = ClientConnection()
    line.send(a_poll())
    line.hang_up(problem)
    assert line.plane.waiters() == 0
    assert line.plane.wires == set()
    line.plane.change(a_change())
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
    woken = plane.handler.directory.update(a_change())
    lines[1].hang_up()
    for waiter in woken:
        waiter.wake()
    assert [line.statuses for line in lines] == [[200], [], [200]]


def test_client_that_timed_out_before_its_wake_up_may_wait_again() -> None:
    line = ClientConnection()
    line.send(a_poll("wait=1"))
    (waiter,) = line.plane.handler.directory.update(a_change())
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
    line.plane.change(a_change())
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
    line.plane.change(a_change())
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
    line.plane.change(a_change())
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
