"""Oracles: two other HTTP/1.1 parsers to compare with, each on its own.

llhttp (via httptools) is strict where h11 is lax, and vice versa: agreeing with only
one of them proves nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import h11
import httptools

Fields: TypeAlias = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One complete request."""

    method: bytes
    target: bytes
    version: bytes
    fields: Fields
    body: bytes
    trailers: Fields = ()
    ends: int  # offset in the stream
    stays: bool  # whether the connection is kept
    is_cut_off: bool = False  # the body is missing because of an Upgrade header


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseResult:
    """Result of parsing a stream: requests, then a refusal or a wait for more data."""

    messages: tuple[Message, ...]
    refusal: str | None = None  # None if the parser waits for more data


def field(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Return a header normalized for comparison."""
    name, value = name.lower(), value.strip(b" \t")
    return name, value.lower() if name == b"transfer-encoding" else value


# --- llhttp ------------------------------------------------------------------


class _Calls:
    """Callbacks of httptools for one request."""

    def __init__(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.is_whole = self.stays = False
        self.target = self.body = b""
        self.fields: list[tuple[bytes, bytes]] = []
        self.trailers: list[tuple[bytes, bytes]] = []
        self._in_head = True

    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        (self.fields if self._in_head else self.trailers).append(field(name, value))

    def on_headers_complete(self) -> None:
        self._in_head = False

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.is_whole = True
        self.stays = self.parser.should_keep_alive()

    @property
    def has_body(self) -> bool:
        by_name = dict(self.fields)
        return b"content-length" in by_name or b"transfer-encoding" in by_name

    def message(self, ends: int) -> Message:
        return Message(
            method=self.parser.get_method(),
            target=self.target,
            version=self.parser.get_http_version().encode(),
            fields=tuple(self.fields),
            body=self.body,
            trailers=tuple(self.trailers),
            ends=ends,
            stays=self.stays,
        )


def by_llhttp(stream: bytes) -> ParseResult:
    """Parse `stream` byte by byte, as if every connection were kept.

    httptools accepts every Upgrade header and then reads no body.
    """
    calls, messages = _Calls(), list[Message]()
    for ends in range(1, len(stream) + 1):
        try:
            calls.parser.feed_data(stream[ends - 1 : ends])
        except httptools.HttpParserUpgrade:
            if calls.has_body:
                last = replace(calls.message(ends), is_cut_off=True)
                return ParseResult(messages=(*messages, last), refusal="an offer")
        except httptools.HttpParserError as problem:
            return ParseResult(messages=tuple(messages), refusal=str(problem))
        if calls.is_whole:
            messages.append(calls.message(ends))
            calls = _Calls()
    return ParseResult(messages=tuple(messages))


# --- h11 ---------------------------------------------------------------------

_MOST = 1 << 20  # bytes h11 keeps of an incomplete event; our limits are lower


def by_h11(stream: bytes) -> ParseResult:
    """Parse `stream` as if every connection were kept.

    h11 refuses empty lines before a request. RFC 9112, 2.2, says to ignore them, so as
    many as we ignore are removed here.
    """
    messages: list[Message] = []
    left = stream
    try:
        while left:
            message, left = _next_by_h11(_without_empty_lines(left), len(stream))
            if message is None:
                break
            messages.append(message)
    except h11.RemoteProtocolError as problem:
        return ParseResult(messages=tuple(messages), refusal=str(problem))
    return ParseResult(messages=tuple(messages))


def _without_empty_lines(left: bytes) -> bytes:
    for _ in range(4):
        left = left.removeprefix(b"\r\n")
    return left


def _next_by_h11(left: bytes, size: int) -> tuple[Message | None, bytes]:
    reader = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST)
    reader.receive_data(left)
    head, body = reader.next_event(), b""
    if not isinstance(head, h11.Request):
        return None, left
    while isinstance(event := reader.next_event(), h11.Data):
        body += bytes(event.data)
    if not isinstance(event, h11.EndOfMessage):
        return None, left
    rest = reader.trailing_data[0]
    message = Message(
        method=bytes(head.method),
        target=bytes(head.target),
        version=bytes(head.http_version),
        fields=_fields(head.headers),
        body=body,
        trailers=_fields(event.headers),
        ends=size - len(rest),
        stays=reader.their_state is not h11.MUST_CLOSE,
    )
    return message, rest


def _fields(headers: Iterable[tuple[bytes, bytes]]) -> Fields:
    return tuple(field(bytes(name), bytes(value)) for name, value in headers)
