"""Clients that wait, over real sockets."""

import re
import select
import socket
import struct
from types import TracebackType
from urllib.parse import urlsplit

from tests.patience import PATIENCE
from tests.server.support.dialogs import Said, a_request, read

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.socket.close()

    def ask(self, *headers: str) -> Said:
        """Ask what is answered at once."""
        self.socket.sendall(a_request(self._target, "Metadata: true", *headers))
        return self.answer()

    def hold(self, wait: int = 60, *, tag: str | None = None) -> str:
        """Wait for another tag than `tag`, or the present one; answer that.

        What is asked before in the same breath proves that the service has begun
        to hold it.
        """
        known = tag or self.tag()
        ask = a_request(self._target, "Metadata: true")
        poll = a_request(
            self._target,
            "Metadata: true",
            f"If-None-Match: {known}",
            f"Prefer: wait={wait}",
        )
        self.socket.sendall(ask + poll)
        assert self.answer().status == 200
        assert not self.is_answered()
        return known

    def tag(self) -> str:
        tag = self.ask().header(b"etag")
        assert tag is not None
        return tag.decode()

    def is_answered(self) -> bool:
        watched = select.poll()  # select has a limit on the number of a file
        watched.register(self.socket, select.POLLIN)
        return bool(self._got or watched.poll(0))

    def answer(self) -> Said:
        """Read the next answer."""
        while b"\r\n\r\n" not in self._got:
            self._receive()
        end = self._got.index(b"\r\n\r\n") + 4
        length = _LENGTH.search(self._got, 0, end)
        end += int(length[1]) if length else 0
        while len(self._got) < end:
            self._receive()
        answer, self._got = self._got[:end], self._got[end:]
        (said,) = read(answer, ["GET"])
        return said

    def is_closed(self) -> bool:
        """Whether the service has closed the connection, and said nothing more."""
        try:
            return not self._got and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def reset(self) -> None:
        """Let the connection end at once, and not in order, when it is closed."""
        at_once = struct.pack("ii", 1, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)

    def _receive(self) -> None:
        got = self.socket.recv(65536)
        assert got, f"closed after {self._got!r}"
        self._got += got
