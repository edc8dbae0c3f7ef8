"""Blocking connection pool for one service, and the errors of failed connections."""

import os
import socket
import time
from contextlib import suppress
from threading import Lock

from forewarn.client.endpoint import Endpoint
from forewarn.client.requests import ClientRequest
from forewarn.client.transport.http1 import HttpResponse, ResponseParser, request_bytes
from forewarn.errors import ClientClosed, Lost, Misunderstood, Unreachable

_READ_SIZE = 65_536  # bytes per read


class ConnectionPool:
    """Pool of connections to `endpoint`; connects when the first request is sent."""

    def __init__(self, endpoint: Endpoint, *, connect_timeout: float) -> None:
        """Allow `connect_timeout` seconds to connect, within a request's timeout."""
        self._endpoint = endpoint
        self._connect_timeout = connect_timeout
        self._lock = Lock()
        self._idle: list[socket.socket] = []
        self._busy: set[socket.socket] = set()
        self._is_closed = False
        self._process = os.getpid()

    def send(self, request: ClientRequest) -> HttpResponse:
        """Send one request; every failure is raised as a `ForewarnError`."""
        deadline = time.monotonic() + request.timeout
        headers = {"Host": self._endpoint.authority, **request.headers}
        target = f"{self._endpoint.prefix}{request.path}"
        data = request_bytes(request.method, target, headers, request.body)
        endpoint = str(self._endpoint)
        try:
            return self._send_bytes(data, deadline)
        except OSError as error:
            self._check_open()
            raise connection_error(error, endpoint, request.timeout) from error
        except (Lost, Misunderstood) as error:
            self._check_open()
            raise with_endpoint(error, endpoint) from error

    def close(self) -> None:
        """Close all connections and open no more."""
        with self._lock:
            self._is_closed = True
            self._drop_after_fork()
            idle, busy = self._idle, [*self._busy]
            self._idle = []
        for connection in idle:
            connection.close()
        for connection in busy:
            _shut_down(connection)  # wakes the waiting thread, which closes it

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
            with suppress(ConnectionError):  # a response may already be there
                connection.sendall(data)
            while not parser.is_complete:
                connection.settimeout(_left(deadline))
                part = connection.recv(_READ_SIZE)
                if not part:
                    self._check_open()  # else the response seems to end
                parser.feed(part)
            received_at = time.monotonic()
        except BaseException:
            self._release(connection, keep=False)
            raise
        self._release(connection, keep=parser.stays_open)
        return parser.response(received_at)

    # --- pooled connections --------------------------------------------------

    def _open(self, deadline: float) -> socket.socket:
        seconds = min(self._connect_timeout, _left(deadline))
        address = (self._endpoint.host, self._endpoint.port)
        try:
            connection = socket.create_connection(address, timeout=seconds)
        except TimeoutError as error:
            raise no_connection(str(self._endpoint), seconds) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            if not self._is_closed:
                self._busy.add(connection)
                return connection
        connection.close()
        raise ClientClosed("this client was closed")

    def _take_idle(self) -> socket.socket | None:
        with self._lock:
            if self._is_closed:
                raise ClientClosed("this client was closed")
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
        """Drop the connections of the parent process after a fork."""
        if self._process == os.getpid():
            return
        for connection in (*self._idle, *self._busy):
            connection.close()  # closes this copy only; the parent's stays open
        self._idle.clear()
        self._busy.clear()
        self._process = os.getpid()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClientClosed("this client was closed")


def _is_quiet(idle: socket.socket) -> bool:
    """Return whether no unexpected data and no end of stream has arrived."""
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


def _shut_down(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # already disconnected


# --- errors, also of the asyncio pool ----------------------------------------


def connection_error(error: OSError, endpoint: str, seconds: float) -> Unreachable:
    """Return an error that explains what is wrong with a connection and what to do."""
    if isinstance(error, ConnectionRefusedError):
        return Unreachable(
            f"nothing answers at {endpoint}; is that the address of a metadata"
            " service, and does it run? ($FOREWARN_ENDPOINT)"
        )
    if isinstance(error, TimeoutError):
        return Unreachable(
            f"{endpoint} did not answer within {seconds:g} s; it may be busy, or not"
            " be a metadata service"
        )
    if isinstance(error, socket.gaierror):
        return Unreachable(f"no machine of the name in {endpoint} is known: {error}")
    if isinstance(error, ConnectionError):
        return Lost(f"the connection to {endpoint} broke before it had answered")
    return Unreachable(f"{endpoint} cannot be reached: {error.strerror or error}")


def no_connection(endpoint: str, seconds: float) -> Unreachable:
    """Return the error for a connection attempt that timed out."""
    return Unreachable(
        f"no connection to {endpoint} within {seconds:g} s; is this a VM that it"
        " serves, and does a route lead there?"
    )


def with_endpoint(error: Lost | Misunderstood, endpoint: str) -> Lost | Misunderstood:
    """Return `error` with the endpoint that sent the broken response."""
    if isinstance(error, Lost):
        return Lost(f"{endpoint} was lost: {error}")
    return Misunderstood(f"{endpoint} is no metadata service: {error}")
