"""A connection for thousands of polls, several at a time."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from urllib.parse import urlsplit

from tests.patience import PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class PollResponse:
    """The response to a poll."""

    status: int
    tag: str | None
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PollConnection:
    """A connection to the metadata plane."""

    connection: socket.socket
    answers: BufferedReader

    def poll(
        self, paths: Sequence[str], tag: str | None = None
    ) -> Sequence[PollResponse]:
        """Request all `paths` at once, with `tag` as If-None-Match."""
        unless = "" if tag is None else f"If-None-Match: {tag}\r\n"
        head = f"HTTP/1.1\r\nHost: here\r\nMetadata: true\r\n{unless}\r\n"
        sent = [f"GET {path} {head}" for path in paths]
        self.connection.sendall("".join(sent).encode())
        return [self._read() for _ in paths]

    def _read(self) -> PollResponse:
        _, status, _ = self.answers.readline().split(b" ", 2)
        headers = {}
        while line := self.answers.readline().strip():
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip().decode()
        body = self.answers.read(int(headers.get(b"content-length", 0)))
        return PollResponse(status=int(status), tag=headers.get(b"etag"), body=body)


@contextmanager
def a_connection(url: str) -> Iterator[PollConnection]:
    """Connect to the metadata plane at `url`."""
    parts = urlsplit(url)
    where = (str(parts.hostname), int(parts.port or 80))
    with (
        socket.create_connection(where, timeout=PATIENCE) as connection,
        connection.makefile("rb") as answers,
    ):
        yield PollConnection(connection=connection, answers=answers)
