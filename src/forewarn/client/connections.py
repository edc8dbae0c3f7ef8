"""Connection pool for one service, shared by any number of threads.

1. A request has one deadline, from its first byte to the last byte of the response.
2. A pooled connection that turns out to be dead is replaced once. Nothing else is sent
   twice. Bytes that arrive before a request are not its response.
3. `close` also aborts requests that run in other threads.
4. Processes never share a connection, even after a fork.
"""

import os
import socket
import time
from contextlib import suppress
from threading import Lock

from forewarn.client.asking import Ask
from forewarn.client.endpoint import Endpoint
from forewarn.client.http import Answer, Incoming, request
from forewarn.client.troubles import named, no_connection, trouble
from forewarn.errors import Closed, Lost, Misunderstood

_PIECE = 65_536  # bytes per read


class Connections:
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

    def ask(self, ask: Ask) -> Answer:
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
            raise trouble(error, where, ask.timeout) from error
        except (Lost, Misunderstood) as error:
            self._refuse_if_closed()
            raise named(error, where) from error

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

    def _exchange(self, data: bytes, deadline: float) -> Answer:
        kept = self._take()
        if kept is not None:
            incoming = Incoming()
            try:
                return self._talk(kept, data, incoming, deadline)
            except (ConnectionError, Lost):
                if incoming.has_begun:
                    raise
                self._refuse_if_closed()
        return self._talk(self._open(deadline), data, Incoming(), deadline)

    def _talk(
        self, to: socket.socket, data: bytes, incoming: Incoming, deadline: float
    ) -> Answer:
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
        raise Closed("this client was closed")

    def _take(self) -> socket.socket | None:
        with self._lock:
            if self._is_closed:
                raise Closed("this client was closed")
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
            raise Closed("this client was closed")


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
