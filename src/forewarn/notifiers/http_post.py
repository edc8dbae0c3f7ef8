"""HTTP POST with a hard deadline and redaction of secrets in error messages.

The deadline covers everything from the first address to the last byte, which no
`http.client` timeout does.
"""

import base64
import io
import socket
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Lock, Timer
from urllib.parse import SplitResult, unquote, unquote_plus, urlsplit

from forewarn.errors import Undelivered
from forewarn.formats import clean
from forewarn.notifiers.targets import url_without_secrets
from forewarn.ports import Bell

_MOST_SHOWN = 200  # characters of a response to show
_MOST_READ = 4 * _MOST_SHOWN  # bytes
_LEAST = 0.001  # seconds; a timeout of 0 would mean non-blocking
_MOST_INTERIM = 100  # interim responses before the final one
_SHORTEST = 8  # characters; shorter words are too common to redact
_INSTEAD = "***"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostResponse:
    """The response to a POST."""

    status: int
    reason: str
    text: str  # the start of the body; empty on success

    @property
    def is_success(self) -> bool:
        """Return whether the message was accepted."""
        return 200 <= self.status < 300

    def __str__(self) -> str:
        """Format the response for people."""
        suffix = f": {self.text}" if self.text else ""
        return f"{self.status} {self.reason}".rstrip() + suffix


class Sender:
    """Posts to one URL, one message at a time."""

    def __init__(self, url: str, *, timeout: float, hidden: Sequence[str] = ()) -> None:
        """Create a sender with a `timeout` in seconds; errors do not show `hidden`."""
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._host_header = parts.netloc.rpartition("@")[2]
        self._credentials = _credentials(parts.username, parts.password)
        own = (
            word for value in self._credentials.values() for word in value.split()[1:]
        )
        self._hidden = _longest_first([*hidden, *own, *_secret_words_of_url(parts)])
        self._shown = url_without_secrets(url)
        self._timeout = timeout
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._lock = Lock()  # guards the two fields below
        self._open: socket.socket | None = None
        self._is_closed = False

    def close(self) -> None:
        """Abort the current request and send no more messages."""
        with self._lock:
            self._is_closed = True
        self._shut_down()

    def post(self, body: bytes, headers: Mapping[str, str]) -> PostResponse:
        """Send `body` and return the response."""
        late = Bell()
        overdue = Timer(self._timeout, self._end_late, (late,))
        overdue.daemon = True
        overdue.start()
        try:
            with self._connected(late) as connection:
                connection.request("POST", self._path, body, self._with_own(headers))
                with connection.getresponse() as response:
                    if late.is_set():  # truncated headers look complete
                        raise TimeoutError
                    return self._response(response)
        except (OSError, HTTPException, UnicodeError) as error:
            raise Undelivered(self._problem(error, late.is_set())) from error
        finally:
            overdue.cancel()

    def _with_own(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """Add the URL's host and credentials, unless `headers` override them."""
        is_there = any(name.lower() == "authorization" for name in headers)
        own = {} if is_there else self._credentials
        return {"Host": self._host_header, **own, **headers}

    def _response(self, response: HTTPResponse) -> PostResponse:
        is_success = 200 <= response.status < 300
        body = b"" if is_success else _beginning(response)
        text = body.decode("utf-8", "replace")
        return PostResponse(
            status=response.status,
            reason=self._redacted(response.reason),
            text=self._redacted(text, is_cut=len(body) == _MOST_READ),
        )

    def _redacted(self, text: str, *, is_cut: bool = False) -> str:
        """Redact secrets and replace control characters with spaces."""
        redacted = _redact(text, self._hidden, is_cut=is_cut)
        return clean(redacted).strip()[:_MOST_SHOWN]

    # --- connection ----------------------------------------------------------

    @contextmanager
    def _connected(self, late: Bell) -> Iterator[HTTPConnection]:
        sock = self._connect(late)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is not None:
            sock = self._tls.wrap_socket(
                sock, server_hostname=self._host, do_handshake_on_connect=False
            )
        with sock:
            self._hold(sock, late)
            try:
                if isinstance(sock, ssl.SSLSocket):
                    sock.do_handshake()
                connection = HTTPConnection(self._host)
                response_class = partial(_Response, late=late)
                connection.response_class = response_class  # type: ignore[assignment]
                connection.sock = sock
                yield connection
            finally:
                self._let_go()

    def _connect(self, late: Bell) -> socket.socket:
        """Connect to the first address that responds within its share of the time."""
        until = time.monotonic() + self._timeout
        addresses = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        failure: OSError = TimeoutError()
        for number, (family, kind, protocol, _, address) in enumerate(addresses):
            if late.is_set():
                break
            left = max(until - time.monotonic(), _LEAST)
            opened = socket.socket(family, kind, protocol)
            try:
                opened.settimeout(left / (len(addresses) - number))
                opened.connect(address)
            except OSError as error:
                opened.close()
                failure = error
            else:
                opened.settimeout(self._timeout)
                return opened
        raise failure

    def _hold(self, opened: socket.socket, late: Bell) -> None:
        with self._lock:
            self._open = opened
            if self._is_closed:
                raise ConnectionAbortedError("it is being stopped")
            if late.is_set():
                raise TimeoutError

    def _let_go(self) -> None:
        with self._lock:
            self._open = None

    def _shut_down(self) -> None:
        """Shut down the connection, so that any wait on it fails."""
        with self._lock:
            if self._open is not None:
                with suppress(OSError):  # it has already ended
                    # Not `SSLSocket.shutdown`, which changes state that other threads
                    # use.
                    socket.socket.shutdown(self._open, socket.SHUT_RDWR)

    def _end_late(self, late: Bell) -> None:
        late.set()
        self._shut_down()

    # --- error messages ------------------------------------------------------

    def _problem(self, error: Exception, is_overdue: bool) -> str:
        if is_overdue or isinstance(error, TimeoutError):
            return f"{self._shown} did not respond within {self._timeout:g} s"
        if isinstance(error, ConnectionRefusedError):
            return f"{self._shown} refused the connection"
        if isinstance(error, ssl.SSLCertVerificationError):
            why = error.verify_message
            return f"{self._shown} has an untrusted certificate: {why}"
        if isinstance(error, socket.gaierror | UnicodeError):
            return f"cannot resolve {self._host}: {error}"
        if isinstance(error, ConnectionError):
            return f"{self._shown} closed the connection without a response"
        if isinstance(error, _TooManyInterim):
            most = f"more than {_MOST_INTERIM} interim responses (1xx)"
            return f"{self._shown} sent {most} but no final response"
        if isinstance(error, HTTPException):
            return f"{self._shown} did not send a valid HTTP response"
        return f"cannot reach {self._shown}: {error}"


class _TooManyInterim(HTTPException):
    """The receiver sends interim responses but never a final response."""


class _LineReader(io.BufferedReader):
    """Remembers the last line read."""

    last = b""

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line; a line without a line break is cut off."""
        self.last = super().readline(size)
        return self.last


class _Response(HTTPResponse):
    """A response with a complete head, after any interim responses (1xx)."""

    def __init__(self, sock: socket.socket, *, method: str, late: Bell) -> None:
        super().__init__(sock, method=method)
        self._lines = self.fp = _LineReader(self.fp.detach())
        self._late = late
        self._status_lines = 0

    def _read_status(self) -> tuple[str, int, str]:
        """Read a status line; the base class also calls this for each 100 response."""
        if self._late.is_set():  # buffered data may take long to parse
            raise TimeoutError
        if self._status_lines > _MOST_INTERIM:
            raise _TooManyInterim
        self._status_lines += 1
        line: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
        return line

    def begin(self) -> None:
        """Read the headers, after any interim responses such as early hints."""
        super().begin()
        while 101 < self.status < 200:
            # Headers are read only if there are none yet.
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()
        if self._lines.last.strip(b"\r\n") or not self._lines.last:
            raise ConnectionError(
                "the connection was closed before the response head was complete"
            )


def _credentials(user: str | None, password: str | None) -> Mapping[str, str]:
    if user is None:
        return {}
    pair = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def _beginning(response: HTTPResponse) -> bytes:
    try:
        return response.read(_MOST_READ)
    except (OSError, HTTPException):
        return b""


# --- redaction ---------------------------------------------------------------


def secret_words(text: str) -> Iterator[str]:
    """Yield the words in `text` that are long enough to be tokens."""
    return (word for word in text.split() if len(word) >= _SHORTEST)


def _secret_words_of_url(parts: SplitResult) -> Iterator[str]:
    """Yield the possible secrets in a URL, encoded or not.

    The possible secrets are the user, the password, and the path and query with their
    long parts.
    """
    yield from _both(parts.password or "")
    yield from secret_words(unquote(parts.username or ""))
    yield from _both(parts.query)
    values = [pair.partition("=")[2] for pair in parts.query.split("&")]
    for value in (*values, parts.path, *parts.path.split("/")):
        yield from (word for word in _both(value) if len(word) >= _SHORTEST)


def _longest_first(words: Iterable[str]) -> Sequence[str]:
    """Sort `words`, longest first, so that no word hides a longer one."""
    return sorted({*filter(None, words)}, key=len, reverse=True)


def _redact(text: str, words: Sequence[str], *, is_cut: bool = False) -> str:
    """Redact `words` in `text`; if `is_cut`, also redact a partial word at the end."""
    for word in words:
        text = text.replace(word, _INSTEAD)
    if not is_cut:
        return text
    begun = max((_begun(text, word) for word in words), default=0)
    return text[: len(text) - begun] + _INSTEAD if begun else text


def _both(coded: str) -> Iterator[str]:
    yield from (coded, unquote(coded), unquote_plus(coded))


def _begun(text: str, word: str) -> int:
    """Return how many leading characters of `word` are at the end of `text`."""
    lengths = range(len(word) - 1, 0, -1)
    return next((length for length in lengths if text.endswith(word[:length])), 0)
