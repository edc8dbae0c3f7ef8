"""Requests that are held: until the document changes, or for as long as was asked."""

from dataclasses import replace

import pytest
from tests.server.support.connections import Line, Plane, a_poll
from tests.server.support.dialogs import Said
from tests.server.support.handlers import (
    NOON,
    QUIET,
    SECOND,
    VMS,
    WEB,
    a_reception,
    an_event,
    shown,
)

from forewarn.core.fleet import VM
from forewarn.engine.readers.documents import AudienceView, DocumentUpdate
from forewarn.server.metadata.handler import EnableFirst

EVENT = b'"EventId":"E0"'


def a_change(*what: AudienceView) -> DocumentUpdate:
    return DocumentUpdate(position=1, shown=what or [shown(WEB, an_event())])


def applied(said: Said) -> bytes | None:
    return said.header(b"preference-applied")


# --- how it ends -------------------------------------------------------------


def test_a_request_is_held_until_the_document_changes() -> None:
    line = Line()
    line.send(a_poll())
    line.wait(29)
    assert line.socket.written == b""
    line.plane.change(a_change())
    (said,) = line.said
    assert (said.status, applied(said)) == (200, b"wait=30")
    assert said.header(b"etag") == b'"e0.1"'
    assert EVENT in said.body


def test_a_request_is_held_for_as_long_as_was_asked() -> None:
    line = Line()
    line.send(a_poll())
    line.wait(29)
    assert line.socket.written == b""
    line.wait(1)
    (said,) = line.said
    assert (said.status, applied(said), said.body) == (304, b"wait=30", b"")
    assert said.header(b"etag") == b'"e0.0"'


@pytest.mark.parametrize("wait", ["61", "3600", "99999999999999999999"])
def test_a_request_is_held_for_a_minute_at_most(wait: str) -> None:
    line = Line()
    line.send(a_poll(f"wait={wait}"))
    line.wait(59)
    assert line.socket.written == b""
    line.wait(1)
    (said,) = line.said
    assert (said.status, applied(said)) == (304, b"wait=60")


def test_a_document_that_has_changed_already_is_given_at_once() -> None:
    line = Line(Plane(a_reception(shown(WEB, an_event()))))
    line.send(a_poll())
    (said,) = line.said
    assert (said.status, applied(said)) == (200, b"wait=30")
    assert EVENT in said.body


def test_each_change_answers_one_request() -> None:
    line = Line()
    for number in range(3):
        line.send(a_poll(tag=f'"e0.{number}"'))
        assert len(line.said) == number
        line.plane.change(a_change(shown(incarnation=number + 1)))
        assert line.statuses == [200] * (number + 1)


def test_the_connection_is_kept_or_not_as_was_asked() -> None:
    line = Line()
    line.send(a_poll("wait=1", "Connection: close"))
    assert line.socket.done == []
    line.wait(1)
    assert line.said[0].header(b"connection") == b"close"
    assert line.socket.done == ["close"]


# --- what is not held --------------------------------------------------------


def test_a_request_without_a_tag_is_not_held() -> None:
    line = Line()
    line.send(a_poll(tag=None))
    (said,) = line.said
    assert (said.status, applied(said)) == (200, None)


def test_a_request_that_would_wait_for_no_time_is_answered_at_once() -> None:
    line = Line()
    line.send(a_poll("wait=0"))
    (said,) = line.said
    assert (said.status, applied(said)) == (304, b"wait=0")


# --- who is woken ------------------------------------------------------------


def test_all_who_wait_for_a_document_are_answered() -> None:
    plane = Plane()
    lines = [Line(plane, peer) for peer in ("10.0.0.1", "10.0.0.2", "fd00::2")]
    for line in lines:
        line.send(a_poll())
    plane.change(a_change())
    assert [line.statuses for line in lines] == [[200]] * 3


def test_another_groups_change_wakes_nobody() -> None:
    listening = replace(QUIET, last_request=NOON)
    line = Line(Plane(a_reception(shown(WEB), shown(listening))))
    line.send(a_poll())
    woken = line.plane.handler.directory.update(a_change(shown(listening, an_event())))
    assert list(woken) == []
    assert line.plane.waiters() == 1


def test_of_an_isolated_group_only_the_vm_concerned_is_woken() -> None:
    alone = replace(WEB, isolated=True)
    before = [shown(alone, vm="web-0"), shown(alone, vm="web-1")]
    plane = Plane(a_reception(*before, vms=VMS[:2], groups=(alone,)))
    zero, one = Line(plane, "10.0.0.1"), Line(plane, "10.0.0.2")
    for line in (zero, one):
        line.send(a_poll())
    plane.change(a_change(shown(alone, an_event(), vm="web-0"), before[1]))
    assert (zero.statuses, one.statuses) == ([200], [])


def test_a_change_that_leaves_the_tag_alone_makes_no_wait_longer() -> None:
    line = Line()
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


# --- what is noted -----------------------------------------------------------


def test_a_held_request_is_noted_when_it_comes_and_when_it_is_answered() -> None:
    line = Line()
    reception = line.plane.reception
    line.send(a_poll())
    assert reception.asked() == {"web": NOON}
    reception.set_clock(NOON + SECOND)
    line.plane.change(a_change())
    assert reception.asked() == {"web": NOON + SECOND}


def test_what_a_held_request_shows_is_seen_when_it_comes_and_when_answered() -> None:
    line = Line(Plane(a_reception(shown(WEB, an_event()))))
    reception = line.plane.reception
    line.send(a_poll(tag='"e0.1"'))
    assert reception.seen() == [("web-0", "E0")]
    line.plane.change(a_change(shown(WEB, an_event(), an_event("E1"))))
    assert reception.seen() == [("web-0", "E1")]


def test_the_first_request_of_a_silent_group_is_answered_once_it_listens() -> None:
    line = Line(peer="10.0.0.3")
    line.send(a_poll())
    assert line.plane.deferred == [EnableFirst(group="quiet")]
    began = replace(QUIET, last_request=NOON)
    line.plane.change(a_change(shown(began, epoch="e1")))
    line.wire.enabled(None)
    (said,) = line.said
    assert (said.status, applied(said)) == (200, b"wait=30")
    assert said.header(b"etag") == b'"e1.0"'


def test_a_first_request_with_any_tag_is_held_once_its_group_listens() -> None:
    line = Line(peer="10.0.0.3")
    line.send(a_poll(tag="*"))
    line.plane.change(a_change(shown(replace(QUIET, last_request=NOON), epoch="e1")))
    line.wire.enabled(None)
    assert line.plane.waiters("10.0.0.3") == 1
    line.wait(30)
    assert line.statuses == [304]
