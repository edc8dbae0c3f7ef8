"""A TCP relay in front of a server that can stall or cut connections."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from tests.patience import PATIENCE

_DEADLINE = PATIENCE


class Relay:
    """A relay that forwards everything until configured otherwise."""

    def __init__(self, port: int) -> None:
        self._to = ("127.0.0.1", port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._speaks = Event()
        self._speaks.set()
        self._abandoned: list[Event] = []
        self._open: list[socket.socket] = []
        self._threads: list[Thread] = []
        self._lost_at: bytes | None = None
        self._is_late = False
        self._behind = b""

    def hang(self) -> None:
        """Forward nothing and close nothing."""
        self._speaks.clear()

    def abandon(self) -> None:
        """Forward nothing more of the connections so far; new ones work."""
        self._speaks.clear()
        self._abandoned.append(self._speaks)
        self._speaks = Event()
        self._speaks.set()

    def speak(self) -> None:
        """Forward everything again."""
        self._speaks.set()

    def lose(self, what: bytes, *, after: bool, behind: bytes = b"") -> None:
        """Cut the connection that sends `what`, before it arrives or `after` it has.

        Only data that follows the bytes `behind` counts.
        """
        self._lost_at, self._is_late, self._behind = what, after, behind

    def start(self) -> None:
        self._run(self._accept)

    def stop(self) -> None:
        for silence in (self._speaks, *self._abandoned):
            silence.set()
        for connection in (self._listening, *self._open):
            _close(connection)
        for thread in self._threads:
            thread.join(_DEADLINE)

    def _run(self, work: Callable[..., None], *arguments: object) -> None:
        thread = Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._to)
                self._open += [client, server]
                speaks = self._speaks
                self._run(self._pass_on, client, server, speaks)
                self._run(self._pass_on, server, client, speaks)

    def _pass_on(
        self, source: socket.socket, sink: socket.socket, speaks: Event
    ) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                speaks.wait(_DEADLINE)
                if self._must_lose(data):
                    if self._is_late:  # the server's response will be lost
                        _shut_down(source)
                        sink.sendall(data)
                        sink.shutdown(socket.SHUT_WR)
                        return  # the other direction ends when it cannot deliver
                    break
                sink.sendall(data)
        _close(source)
        _close(sink)

    def _must_lose(self, data: bytes) -> bool:
        if self._lost_at is None:
            return False
        if self._behind:
            self._behind = b"" if self._behind in data else self._behind
            return False
        if self._lost_at not in data:
            return False
        self._lost_at = None
        return True


def _shut_down(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)


def _close(each: socket.socket) -> None:
    _shut_down(each)  # wakes blocked readers
    each.close()


@contextmanager
def relayed(port: int) -> Iterator[Relay]:
    """Relay to `port` of this machine until the block ends."""
    relay = Relay(port)
    relay.start()
    try:
        yield relay
    finally:
        relay.stop()
