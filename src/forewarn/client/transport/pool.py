"""Error messages for failed connections."""

import os
import socket
import time
from contextlib import suppress
from threading import Lock

from forewarn.client.endpoint import Endpoint
from forewarn.client.requests import ClientRequest
from forewarn.client.transport.http1 import HttpResponse, ResponseParser, request
from forewarn.errors import ClientClosed, Lost, Misunderstood, Unreachable

_PIECE = 65_536  # bytes per read


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

    def ask(self, ask: ClientRequest) -> HttpResponse:
        """Send one request; every failure is raised as a `ForewarnError`."""
        deadline = time.monotonic() + ask.timeout
        headers = {"Host": self._endpoint.authority, **ask.headers}
        target = f"{self._endpoint.prefix}{ask.path}"
        data = request(ask.method, target, headers, ask.body)
        where = str(self._endpoint)
        try:
            return self._exchange(data, deadline)
        except OSError as error:
            self._refuse_if_closed()
            raise connection_error(error, where, ask.timeout) from error
        except (Lost, Misunderstood) as error:
            self._refuse_if_closed()
            raise with_endpoint(error, where) from error

    def close(self) -> None:
        """Close all connections and open no more."""
        with self._lock:
            self._is_closed = True
            self._leave_to_others()
            idle, busy = self._idle, [*self._busy]
            self._idle = []
        for connection in idle:
            connection.close()
        for connection in busy:
            _hang_up(connection)  # wakes the waiting thread, which closes it

    def _exchange(self, data: bytes, deadline: float) -> HttpResponse:
        kept = self._take()
        if kept is not None:
            incoming = ResponseParser()
            try:
                return self._talk(kept, data, incoming, deadline)
            except (ConnectionError, Lost):
                if incoming.has_begun:
                    raise
                self._refuse_if_closed()
        return self._talk(self._open(deadline), data, ResponseParser(), deadline)

    def _talk(
        self, to: socket.socket, data: bytes, incoming: ResponseParser, deadline: float
    ) -> HttpResponse:
        try:
            to.settimeout(_left(deadline))
            with suppress(ConnectionError):  # a response may already be there
                to.sendall(data)
            while not incoming.is_complete:
                to.settimeout(_left(deadline))
                part = to.recv(_PIECE)
                if not part:
                    self._refuse_if_closed()  # else the response seems to end
                incoming.feed(part)
            heard = time.monotonic()
        except BaseException:
            self._give_back(to, keep=False)
            raise
        self._give_back(to, keep=incoming.stays_open)
        return incoming.answer(heard)

    # --- pooled connections --------------------------------------------------

    def _open(self, deadline: float) -> socket.socket:
        seconds = min(self._connect_timeout, _left(deadline))
        where = (self._endpoint.host, self._endpoint.port)
        try:
            connection = socket.create_connection(where, timeout=seconds)
        except TimeoutError as error:
            raise no_connection(str(self._endpoint), seconds) from error
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            if not self._is_closed:
                self._busy.add(connection)
                return connection
        connection.close()
        raise ClientClosed("this client was closed")

    def _take(self) -> socket.socket | None:
        with self._lock:
            if self._is_closed:
                raise ClientClosed("this client was closed")
            self._leave_to_others()
            while self._idle:
                kept = self._idle.pop()
                if _is_quiet(kept):
                    self._busy.add(kept)
                    return kept
                kept.close()
        return None

    def _give_back(self, used: socket.socket, *, keep: bool) -> None:
        with self._lock:
            self._busy.discard(used)
            if keep and not self._is_closed:
                self._idle.append(used)
                return
        used.close()

    def _leave_to_others(self) -> None:
        """Drop the connections of the parent process after a fork."""
        if self._process == os.getpid():
            return
        for connection in (*self._idle, *self._busy):
            connection.close()  # closes this copy only; the parent's stays open
        self._idle.clear()
        self._busy.clear()
        self._process = os.getpid()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise ClientClosed("this client was closed")


def _is_quiet(kept: socket.socket) -> bool:
    """Return whether no unexpected data and no end of stream has arrived."""
    kept.settimeout(0)
    try:
        kept.recv(1, socket.MSG_PEEK)
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


def _hang_up(used: socket.socket) -> None:
    try:
        used.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # already disconnected
