"""Connections to one service, kept open; any number of threads may ask at once.

Rules of this file:

1. A question has one deadline, from its first byte to the last byte of the answer.
2. A connection that was kept and turns out dead is replaced once; nothing else is
   asked twice. What was said before a question is not the answer to it.
3. `close` ends what is on its way in other threads, too.
4. No two processes ask over one connection.
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

_PIECE = 65_536  # bytes taken at once


class Connections:
    """Asks `endpoint`; opens nothing before it is asked to."""

    def __init__(self, endpoint: Endpoint, *, connect_timeout: float) -> None:
        """Take `connect_timeout` seconds for a connection, if a question has them."""
        self._endpoint = endpoint
        self._connect_timeout = connect_timeout
        self._lock = Lock()
        self._idle: list[socket.socket] = []
        self._busy: set[socket.socket] = set()
        self._is_closed = False
        self._process = os.getpid()

    def ask(self, ask: Ask) -> Answer:
        """Ask one question; every trouble becomes one of our errors."""
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
        """Close all of them, and let nobody open another."""
        with self._lock:
            self._is_closed = True
            self._leave_to_others()
            idle, busy = self._idle, [*self._busy]
            self._idle = []
        for each in idle:
            each.close()
        for each in busy:
            _hang_up(each)  # whoever waits there wakes up, and closes it

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
            with suppress(ConnectionError):  # who has heard enough may have said why
                to.sendall(data)
            while not incoming.is_complete:
                to.settimeout(_left(deadline))
                part = to.recv(_PIECE)
                if not part:
                    self._refuse_if_closed()  # here, so that it is not an answer's end
                incoming.feed(part)
            heard = time.monotonic()
        except BaseException:
            self._give_back(to, keep=False)
            raise
        self._give_back(to, keep=incoming.stays_open)
        return incoming.answer(heard)

    # --- those that are kept -------------------------------------------------

    def _open(self, deadline: float) -> socket.socket:
        seconds = min(self._connect_timeout, _left(deadline))
        where = (self._endpoint.host, self._endpoint.port)
        try:
            made = socket.create_connection(where, timeout=seconds)
        except TimeoutError as error:
            raise no_connection(str(self._endpoint), seconds) from error
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            if not self._is_closed:
                self._busy.add(made)
                return made
        made.close()
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
        """Let go of what belongs to the process that this one was split off from."""
        if self._process == os.getpid():
            return
        for each in (*self._idle, *self._busy):
            each.close()  # here only; it stays open there
        self._idle.clear()
        self._busy.clear()
        self._process = os.getpid()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise Closed("this client was closed")


def _is_quiet(kept: socket.socket) -> bool:
    """Whether nothing has come that nobody asked for, be it the end."""
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
        return  # is not connected any more, which is as good
