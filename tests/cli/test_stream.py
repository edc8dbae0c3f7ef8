"""Server-sent events: following the journal across lost connections."""

import json

import pytest
from tests.cli.support.samples import an_entry
from tests.cli.support.service import (
    Service,
    close_connection,
    json_reply,
    stream_reply,
)

from forewarn.cli.api import ControlApi
from forewarn.cli.stream import BACKOFF, follow, read
from forewarn.errors import Refused


def test_an_event_ends_with_an_empty_line() -> None:
    lines = [b"id: 1\r\n", b"event: Started\n", b"data: {\n", b"data: }\n", b"\n"]
    assert list(read(lines)) == [("1", "{\n}")]


def test_comments_and_unknown_fields_are_ignored() -> None:
    lines = [b": still here\n", b"\n", b"retry: 10\n", b"\n", b"data:x\n", b"\n"]
    assert list(read(lines)) == [(None, "x")]


def test_a_position_alone_is_an_event_without_data() -> None:
    lines = [b"id: 7\n", b"\n", b": still here\n", b"\n"]
    assert list(read(lines)) == [("7", "")]


def test_truncated_event_is_dropped() -> None:
    assert list(read([b"id: 1\n", b"data: {}\n"])) == []


def test_retries_back_off_until_an_event_arrives(service: Service) -> None:
    waited: list[float] = []
    entry = an_entry(1, "Started")
    for _ in range(len(BACKOFF) + 1):
        service.reply_with("GET", "/v1/stream", close_connection)
    service.reply_with(
        "GET", "/v1/stream", stream_reply(f"id: 1\ndata: {json.dumps(entry)}\n\n")
    )
    service.reply_with("GET", "/v1/stream", json_reply({"detail": "busy"}, 503))
    service.reply_with("GET", "/v1/stream", json_reply({"detail": "enough"}, 403))
    entries = follow(ControlApi(service.url, "secret"), 0, waited.append)
    assert next(entries) == entry
    assert waited == [*BACKOFF, BACKOFF[-1]]
    with pytest.raises(Refused, match="enough"):
        next(entries)
    assert waited[len(BACKOFF) + 1 :] == [BACKOFF[0], BACKOFF[1]]


TOO_MANY = json_reply({"detail": "32 streams"}, 429)


def test_too_many_streams_are_reported_at_the_start(service: Service) -> None:
    service.reply_with("GET", "/v1/stream", TOO_MANY)
    with pytest.raises(Refused, match="32 streams"):
        next(follow(ControlApi(service.url, "secret"), 0))


def test_too_many_streams_are_retried_after_the_first_connection(
    service: Service,
) -> None:
    waited: list[float] = []
    entry = an_entry(1, "Started")
    text = f"id: 1\ndata: {json.dumps(entry)}\n\n"
    for reply in (stream_reply(""), TOO_MANY, stream_reply(text)):
        service.reply_with("GET", "/v1/stream", reply)
    assert next(follow(ControlApi(service.url, "secret"), 0, waited.append)) == entry
    assert waited == [*BACKOFF[:2]]
