"""Long polls: held until the document changes or the wait ends."""

from dataclasses import replace

import pytest
from tests.server.support.connections import ClientConnection, FakePlane, a_poll
from tests.server.support.dialogs import ParsedResponse
from tests.server.support.handlers import (
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
from forewarn.server.metadata.handler import EnableFirst

EVENT = b'"EventId":"E0"'


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


def test_change_of_another_group_wakes_nobody() -> None:
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
