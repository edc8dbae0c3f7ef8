"""Long-polling clients over real sockets."""

import re
import select
import socket
import struct
from urllib.parse import urlsplit

from tests.patience import PATIENCE
from tests.server.support.dialogs import ParsedResponse, a_request, read

LONG = PATIENCE
_LENGTH = re.compile(rb"\r\nContent-Length: ([0-9]+)\r\n")


def events_of(vm: str) -> str:
    return f"/vm/{vm}/metadata/scheduledevents?api-version=2020-07-01"


class Poller:
    """A connection of one VM to the metadata plane."""

    def __init__(self, address: str, vm: str = "web-0") -> None:
        where = urlsplit(address)
        self.socket = socket.create_connection((where.hostname, where.port), LONG)
        self._target = events_of(vm)
        self._got = b""

    def __enter__(self) -> "Poller":
        return self

    def __exit__(self, *details: object) -> None:
        self.socket.close()

    def request(self, *headers: str) -> ParsedResponse:
        """Send a request that gets an immediate response, and return it."""
        self.socket.sendall(a_request(self._target, "Metadata: true", *headers))
        return self.answer()

    def hold(self, *, tag: str | None = None) -> str:
        """Start a long poll for a change from `tag`, by default the current one.

        Return the tag. A request pipelined before the poll proves that the service has
        started to hold it.
        """
        current = self.start_long_poll(60, tag=tag)
        assert not self.is_answered()
        return current

    def start_long_poll(self, wait: int, *, tag: str | None = None) -> str:
        """Start a long poll of `wait` seconds; it may be over when this returns."""
        current = tag or self.tag()
        ask = a_request(self._target, "Metadata: true")
        poll = a_request(
            self._target,
            "Metadata: true",
            f"If-None-Match: {current}",
            f"Prefer: wait={wait}",
        )
        self.socket.sendall(ask + poll)
        assert self.answer().status == 200
        return current

    def tag(self) -> str:
        tag = self.request().header(b"etag")
        assert tag is not None
        return tag.decode()

    def is_answered(self) -> bool:
        watched = select.poll()  # unlike select, poll has no limit on file descriptors
        watched.register(self.socket, select.POLLIN)
        return bool(self._got or watched.poll(0))

    def answer(self) -> ParsedResponse:
        """Read the next response."""
        while b"\r\n\r\n" not in self._got:
            self._receive()
        end = self._got.index(b"\r\n\r\n") + 4
        length = _LENGTH.search(self._got, 0, end)
        end += int(length[1]) if length else 0
        while len(self._got) < end:
            self._receive()
        answer, self._got = self._got[:end], self._got[end:]
        (response,) = read(answer, ["GET"])
        return response

    def is_closed(self) -> bool:
        """Return whether the service closed the connection without sending more."""
        try:
            return not self._got and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def reset(self) -> None:
        """Reset the connection when it is closed, instead of closing it in order."""
        no_linger = struct.pack("ii", 1, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_linger)

    def _receive(self) -> None:
        got = self.socket.recv(65536)
        assert got, f"closed after {self._got!r}"
        self._got += got
