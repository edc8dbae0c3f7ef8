"""Prefer header: parsing of `wait` and the ETags of a long poll."""

import pytest
from tests.server.support.connections import ClientConnection, a_poll
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
def test_invalid_wait_is_ignored(prefer: str | None) -> None:
    line = ClientConnection()
    line.send(a_poll(prefer))
    (response,) = line.responses
    assert (response.status, response.header(b"preference-applied")) == (304, None)


# --- valid waits -------------------------------------------------------------


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
def test_wait_is_found_among_other_preferences(prefer: str) -> None:
    line = ClientConnection()
    line.send(a_poll(prefer))
    line.wait(6)
    assert line.socket.written == b""
    line.wait(1)
    assert line.responses[0].header(b"preference-applied") == b"wait=7"


@pytest.mark.parametrize("tag", ["*", '"e0.0", "e0.1"'])
def test_client_that_accepts_the_next_etag_gets_304(tag: str) -> None:
    line = ClientConnection()
    line.send(a_poll(tag=tag))
    line.plane.change(DocumentUpdate(position=1, shown=[shown(WEB, an_event())]))
    (response,) = line.responses
    assert (response.status, response.header(b"etag")) == (304, b'"e0.1"')
