"""How a client writes that it would rather wait, and for what."""

import pytest
from tests.server.support.connections import Line, a_poll
from tests.server.support.handlers import WEB, an_event, shown

from forewarn.engine.readers.documents import DocumentUpdate


@pytest.mark.parametrize(
    "prefer",
    [
        None,
        "wait",
        "wait=",
        "wait=-5",
        "wait=+5",
        "wait=5.5",
        "wait=5s",
        "wait=5 6",
        'wait="5',
        "waits=5",
        "await=5",
        "x;wait=5",
        "respond-async",
        'note="perhaps, wait=5"',
        'note="perhaps, wait=5, or not"',
        r'note="\", wait=5"',
    ],
)
def test_what_is_no_wait_is_ignored(prefer: str | None) -> None:
    line = Line()
    line.send(a_poll(prefer))
    (said,) = line.said
    assert (said.status, said.header(b"preference-applied")) == (304, None)


# --- how a wait is written ---------------------------------------------------


@pytest.mark.parametrize(
    "prefer",
    [
        "wait=7",
        "Wait=7",
        "WAIT = 7",
        'wait="7"',
        "wait=007",
        "wait=7;patience=much",
        "wait=7 ; patience=much",
        "respond-async, wait=7",
        "wait=7, respond-async",
        "wait=7,wait=8",
        "wait=x, wait=7",
        'note="a, b", wait=7',
        ", ,wait=7",
        "handling=lenient\r\nPrefer: wait=7",
        "wait=7\r\nprefer: wait=8",
    ],
)
def test_a_wait_is_found_among_other_preferences(prefer: str) -> None:
    line = Line()
    line.send(a_poll(prefer))
    line.wait(6)
    assert line.socket.written == b""
    line.wait(1)
    assert line.said[0].header(b"preference-applied") == b"wait=7"


@pytest.mark.parametrize("tag", ['W/"e0.0"', "e0.0", '"x", "e0.0"', "*"])
def test_a_tag_may_be_written_in_many_ways(tag: str) -> None:
    line = Line()
    line.send(a_poll(tag=tag))
    assert line.socket.written == b""
    assert line.plane.waiters() == 1


@pytest.mark.parametrize("tag", ["*", '"e0.0", "e0.1"'])
def test_who_would_take_the_next_tag_too_is_told_that_it_has_come(tag: str) -> None:
    line = Line()
    line.send(a_poll(tag=tag))
    line.plane.change(DocumentUpdate(position=1, shown=[shown(WEB, an_event())]))
    (said,) = line.said
    assert (said.status, said.header(b"etag")) == (304, b'"e0.1"')
