"""Blocking connection pool for one service and errors of failed connections."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock

from forewarn.client.endpoint import Endpoint
from forewarn.client.requests import ClientRequest
from forewarn.client.transport.http1 import HttpResponse, ResponseParser, request_bytes
from forewarn.errors import ClientClosed, Lost, Misunderstood, Unreachable

_READ_SIZE = 65_536  # bytes per read

#: Seconds of a single wait; longer waits are split so that Python can handle Ctrl-C.
#: On Windows, Ctrl-C does not interrupt a system call.
_LONGEST_WAIT = 0.5 if sys.platform == "win32" else float("inf")


class BasePool:
    """The part of a connection pool without I/O: it builds requests and maps errors."""

    def __init__(self, endpoint: Endpoint, *, connect_timeout: float) -> None:
        """Create a pool for the service at `endpoint`.

        Connecting may take at most `connect_timeout` seconds. The request's own timeout
        still applies.
        """
        self._endpoint = endpoint
        self._connect_timeout = connect_timeout
        self._is_closed = False

    def _bytes_of(self, request: ClientRequest) -> bytes:
        headers = {"Host": self._endpoint.authority, **request.headers}
        target = f"{self._endpoint.prefix}{request.path}"
        return request_bytes(request.method, target, headers, request.body)

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClientClosed("this client was closed")

    @contextmanager
    def _explained_errors(self, seconds: float) -> Iterator[None]:
        """Convert failures in the block to a `ForewarnError` that explains them."""
        try:
            yield
        except OSError as error:
            self._check_open()
            raise _connection_error(error, self._endpoint, seconds) from error
        except Lost as error:
            self._check_open()
            raise Lost(f"lost the connection to {self._endpoint}: {error}") from error
        except Misunderstood as error:
            self._check_open()
            raise Misunderstood(
                f"{self._endpoint} is not a metadata service: {error}"
            ) from error

    def _no_connection(self, seconds: float) -> Unreachable:
        """Return the error for a connection attempt that timed out."""
        return Unreachable(
            f"cannot connect to {self._endpoint} within {seconds:g} s; check that"
            " this VM is in the service's fleet and has a route to the service"
        )


class ConnectionPool(BasePool):
    """A pool of connections to `endpoint`; connects when the first request is sent."""

    def __init__(self, endpoint: Endpoint, *, connect_timeout: float) -> None:
        """Create a pool for the service at `endpoint`.

        Connecting may take at most `connect_timeout` seconds. The request's own timeout
        still applies.
        """
        super().__init__(endpoint, connect_timeout=connect_timeout)
        self._lock = Lock()
        self._idle: list[socket.socket] = []
        self._busy: set[socket.socket] = set()
        self._closing = Event()
        self._process = os.getpid()

    def send(self, request: ClientRequest) -> HttpResponse:
        """Send one request; raise every failure as a `ForewarnError`."""
        deadline = time.monotonic() + request.timeout
        with self._explained_errors(request.timeout):
            return self._send_bytes(self._bytes_of(request), deadline)

    def pause(self, seconds: float) -> ClientClosed | None:
        """Wait; return `ClientClosed` early if the client is closed in the meantime."""
        deadline = time.monotonic() + seconds
        while not self._closing.wait(min(seconds, _LONGEST_WAIT)):
            seconds = deadline - time.monotonic()
            if seconds <= 0:
                return None
        return ClientClosed("this client was closed")

    def close(self) -> None:
        """Close all connections and open no more."""
        self._closing.set()
        with self._lock:
            self._is_closed = True
            self._drop_after_fork()
            idle, busy = self._idle, [*self._busy]
            self._idle = []
        for connection in idle:
            connection.close()
        for connection in busy:
            with suppress(OSError):  # already disconnected
                connection.shutdown(socket.SHUT_RDWR)  # its thread wakes and closes it

    def _send_bytes(self, data: bytes, deadline: float) -> HttpResponse:
        idle = self._take_idle()
        if idle is not None:
            parser = ResponseParser()
            try:
                return self._exchange(idle, data, parser, deadline)
            except (ConnectionError, Lost):
                if parser.has_begun:
                    raise
                self._check_open()
        return self._exchange(self._open(deadline), data, ResponseParser(), deadline)

    def _exchange(
        self,
        connection: socket.socket,
        data: bytes,
        parser: ResponseParser,
        deadline: float,
    ) -> HttpResponse:
        try:
            connection.settimeout(_left(deadline))
            with suppress(ConnectionError):  # a response may already have arrived
                connection.sendall(data)
            while not parser.is_complete:
                part = self._receive(connection, deadline)
                if not part:
                    self._check_open()  # otherwise the response seems to end
                parser.feed(part)
            received_at = time.monotonic()
        except BaseException:
            self._release(connection, keep=False)
            raise
        self._release(connection, keep=parser.stays_open)
        return parser.response(received_at)

    def _receive(self, connection: socket.socket, deadline: float) -> bytes:
        """Wait for bytes until `deadline`; return no bytes if the connection ended."""
        while True:
            connection.settimeout(min(_left(deadline), _LONGEST_WAIT))
            try:
                return connection.recv(_READ_SIZE)
            except TimeoutError as error:
                if error.errno is not None:  # a network timeout, not this wait's
                    raise
            self._check_open()  # `close` may not wake a wait on Windows

    # --- pooled connections --------------------------------------------------

    def _open(self, deadline: float) -> socket.socket:
        seconds = min(self._connect_timeout, _left(deadline))
        address = (self._endpoint.host, self._endpoint.port)
        try:
            connection = socket.create_connection(address, timeout=seconds)
        except TimeoutError as error:
            raise self._no_connection(seconds) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            if not self._is_closed:
                self._busy.add(connection)
                return connection
        connection.close()
        raise ClientClosed("this client was closed")

    def _take_idle(self) -> socket.socket | None:
        with self._lock:
            self._check_open()
            self._drop_after_fork()
            while self._idle:
                idle = self._idle.pop()
                if _is_quiet(idle):
                    self._busy.add(idle)
                    return idle
                idle.close()
        return None

    def _release(self, connection: socket.socket, *, keep: bool) -> None:
        with self._lock:
            self._busy.discard(connection)
            if keep and not self._is_closed:
                self._idle.append(connection)
                return
        connection.close()

    def _drop_after_fork(self) -> None:
        """After a fork, drop the connections of the parent process."""
        if self._process == os.getpid():
            return
        for connection in (*self._idle, *self._busy):
            connection.close()  # closes only this copy; the parent's stays open
        self._idle.clear()
        self._busy.clear()
        self._process = os.getpid()


def _is_quiet(idle: socket.socket) -> bool:
    """Return True if no unexpected data or end of stream has arrived."""
    idle.settimeout(0)
    try:
        idle.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _left(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _connection_error(
    error: OSError, endpoint: Endpoint, seconds: float
) -> Unreachable:
    """Return an error that explains a connection problem and how to fix it."""
    if isinstance(error, ConnectionRefusedError):
        return Unreachable(
            f"{endpoint} refused the connection; check that the metadata service runs"
            " and that this is its address ($FOREWARN_ENDPOINT)"
        )
    if isinstance(error, TimeoutError):
        return Unreachable(
            f"no response from {endpoint} within {seconds:g} s; it may be busy, or it"
            " is not a metadata service"
        )
    if isinstance(error, socket.gaierror):
        return Unreachable(f"cannot resolve the hostname in {endpoint}: {error}")
    if isinstance(error, ConnectionError):
        return Lost(f"lost the connection to {endpoint} before the response")
    return Unreachable(f"cannot reach {endpoint}: {error.strerror or error}")
