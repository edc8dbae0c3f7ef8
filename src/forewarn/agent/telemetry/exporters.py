"""Exporters for the agent's metrics: an HTTP endpoint and a text file.

The endpoint serves /metrics and /healthz. One thread serves one request at a time and
limits the time and size of each request. A slow client can delay other clients for a
few seconds, but never the agent. The text file is for the Prometheus node exporter's
textfile collector.
"""

import json
import logging
import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from forewarn import __version__
from forewarn.agent.telemetry.logs import Conditions
from forewarn.agent.telemetry.metrics import CONTENT_TYPE, AgentMetrics
from forewarn.configfile.values import Address
from forewarn.errors import CannotStart

#: Conditions that prevent the agent from doing its job.
ALARMS = ("blind", "name-mismatch", "state-unwritable")

_HEAD_LIMIT = 8192  # bytes
_TIMEOUT = 2.0  # seconds for one request and its response
_BACKLOG = 16  # connections not served yet
_ACCEPT_PAUSE = 1.0  # seconds until the next attempt if no file descriptor is free

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}

#: Seconds between two writes when nothing happens.
_INTERVAL = 15.0
_CONDITION = "textfile-unwritable"

_log = logging.getLogger(__name__)


class HealthServer:
    """HTTP server for metrics and health."""

    def __init__(
        self,
        listen: Address,
        metrics: AgentMetrics,
        conditions: Conditions,
        *,
        timeout: float = _TIMEOUT,
    ) -> None:
        """Create and start a server that listens on `listen`."""
        self._conditions = conditions
        self._timeout = timeout
        self._pages: Mapping[str, Callable[[], tuple[int, str, str]]] = {
            "/metrics": lambda: (200, CONTENT_TYPE, metrics.render()),
            "/healthz": self._health,
        }
        self._listener = _listen(listen)
        self._is_closed = Event()
        self._thread = Thread(target=self._run, name="health", daemon=True)
        self._thread.start()

    @property
    def address(self) -> Address:
        """The address that the server listens on."""
        return Address(*self._listener.getsockname()[:2])

    def close(self) -> None:
        """Stop serving."""
        self._is_closed.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # else `accept` waits forever
        self._listener.close()
        self._thread.join(2 * self._timeout)

    def _run(self) -> None:
        while not self._is_closed.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                self._is_closed.wait(_ACCEPT_PAUSE)
                continue
            with connection:
                self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        until = time.monotonic() + self._timeout
        try:
            head = _read_head(connection, until)
            if head:
                _send(connection, self._respond(head), until)
        except OSError:
            return  # the client is gone or too slow

    def _respond(self, head: bytes) -> bytes:
        if b"\r\n\r\n" not in head:
            return _response(431, _TEXT, "the request is too long\n")
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return _response(400, _TEXT, "the request is not HTTP/1.1\n")
        if words[0] != b"GET":
            return _response(405, _TEXT, "only GET is allowed\n", "Allow: GET\r\n")
        page = self._pages.get(words[1].split(b"?", 1)[0].decode("latin-1"))
        if page is None:
            return _response(404, _TEXT, "not found; use /metrics or /healthz\n")
        try:
            return _response(*page())
        except Exception:  # the top of the thread
            _log.exception("a metrics or health request failed")
            return _response(500, _TEXT, "internal error; see the agent's log\n")

    def _health(self) -> tuple[int, str, str]:
        active = self._conditions.active()
        reasons = {name: active[name] for name in ALARMS if name in active}
        body: dict[str, object] = {"status": "failing" if reasons else "ok"}
        body |= {"version": __version__, "reasons": reasons}
        return 503 if reasons else 200, _JSON, json.dumps(body) + "\n"


class TextfileExporter:
    """A regularly updated metrics file."""

    def __init__(
        self, path: Path, metrics: AgentMetrics, conditions: Conditions
    ) -> None:
        """Create an exporter to `path` that reports failures to `conditions`."""
        self._path = path
        # Collectors only read files whose names end with `.prom`.
        self._new_path = path.with_name(f".{path.name}.new")
        self._metrics = metrics
        self._conditions = conditions
        self._due = 0.0  # on the monotonic clock
        self._written_changes = 0  # number of condition changes already written

    def due(self, monotonic: float) -> float:
        """Return the seconds until the next write is due."""
        return max(self._due - monotonic, 0.0)

    def write(self, monotonic: float, *, has_changed: bool = False) -> bool:
        """Write the file if it is due or a condition changed; return False on failure.

        When a condition begins or ends, the file is written immediately. A failure is
        logged once and retried when the file is next due.
        """
        has_changed = has_changed or self._conditions.changes != self._written_changes
        if not has_changed and monotonic < self._due:
            return True
        self._due = monotonic + _INTERVAL
        is_written = self._try()
        self._written_changes = self._conditions.changes
        return is_written

    def _try(self) -> bool:
        try:
            self._replace(self._metrics.render().encode())
        except OSError as error:
            sentence = f"cannot write {self._path}: {error.strerror or error}"
            self._conditions.report(_CONDITION, True, sentence, kind=str(error.errno))
            return False
        self._conditions.report(_CONDITION, False, f"can write {self._path} again")
        return True

    def _replace(self, text: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        number = os.open(self._new_path, flags, 0o644)
        with open(number, "wb") as file:
            os.fchmod(number, 0o644)  # despite the umask: the collector is another user
            file.write(text)
        self._new_path.replace(self._path)


# --- listening ---------------------------------------------------------------


def _listen(where: Address) -> socket.socket:
    try:
        family, socket_type, _, _, address = socket.getaddrinfo(
            where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, socket_type)
    except OSError as error:
        raise CannotStart(f"cannot serve metrics on {where}: {error}") from error
    try:
        # Otherwise a restarted agent would wait for its predecessor's connections.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        reason = error.strerror or error
        raise CannotStart(f"cannot serve metrics on {where}: {reason}") from error
    if not Address(str(address[0]), where.port).is_loopback:
        _log.warning("anyone who can reach %s can read this agent's metrics", where)
    return listener


# --- bytes -------------------------------------------------------------------


def _read_head(connection: socket.socket, until: float) -> bytes:
    """Read up to the blank line, but no more than `_HEAD_LIMIT` bytes."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _HEAD_LIMIT:
        connection.settimeout(max(until - time.monotonic(), 0.001))
        more = connection.recv(_HEAD_LIMIT - len(head))
        if not more:
            return b""
        head += more
    return head


def _send(connection: socket.socket, response: bytes, until: float) -> None:
    """Send `response` and ensure that it arrives before the connection closes."""
    connection.settimeout(max(until - time.monotonic(), 0.001))
    connection.sendall(response)
    connection.shutdown(socket.SHUT_WR)
    # Unread input would make the kernel discard the response in transit.
    left = 8 * _HEAD_LIMIT
    while left > 0:
        connection.settimeout(max(until - time.monotonic(), 0.001))
        more = connection.recv(_HEAD_LIMIT)
        if not more:
            return
        left -= len(more)


def _response(status: int, content_type: str, text: str, headers: str = "") -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        f"Cache-Control: no-store\r\nConnection: close\r\n{headers}\r\n"
    )
    return head.encode() + body
