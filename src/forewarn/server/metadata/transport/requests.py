"""Request head parser: converts bytes to the data that the metadata plane uses.

Parsing is strict, because a lenient parser invites request smuggling.
"""

import re
from collections.abc import Set
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

import httptools

from forewarn.server.metadata.transport.responses import CLOSE, KEEP, Response, error

MAX_HEAD = 16 * 1024  # bytes
MAX_BODY = 64 * 1024  # bytes

#: llhttp alone would accept two spaces, RTSP and ICE.
_REQUEST_LINE = re.compile(
    rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+)(?: HTTP/([0-9]\.[0-9]))?\r\n"
)
_LONE_CR_OR_LF = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)|\0")
_IPV6 = r"\[[0-9A-Za-z:.%_~-]+\]"
_PART = r"[0-9A-Za-z._~!$&'()*+,;=-]"
_NAME = rf"{_PART}*(?:%[0-9A-Fa-f]{{2}}{_PART}*)*"
_HOST = re.compile(rf"({_IPV6}|{_NAME})(?::[0-9]*)?")
#: RFC 9110, 4.2 and 7.4: a host is required, user info is forbidden; https is not used.
_ADDRESS = rf"(?i:http)://(?![/?:]|\Z)(?:{_IPV6}|{_NAME})(?::[0-9]*)?(?=[/?]|\Z)"
_TARGET = re.compile(rf"(?:{_ADDRESS}|(?=/))([^?#]*)(?:\?([^#]*))?")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})|%00")
_MAX_PARAMETERS = 100  # each costs more to parse than to send
#: Sent by browsers and not controllable by pages. Other `Sec-Fetch-...` headers
#: are not listed, because Node's fetch function sends Sec-Fetch-Mode.
_PAGE_HEADERS = frozenset({"origin", "sec-fetch-site"})
_LENGTH = re.compile(r"[0-9]{1,20}")
#: One element of a list; a comma between quotes is not a separator.
_PREFERENCE = re.compile(r'(?:"(?:[^"\\]|\\.?)*+(?:"|$)|[^",])+')
_WAIT = re.compile(
    r'[ \t]*wait[ \t]*=[ \t]*(?:([0-9]+)|"([0-9]+)")[ \t]*(?:;.*)?', re.IGNORECASE
)


class BadRequest(Exception):
    """The bytes are not a valid request, so the connection must close."""

    def __init__(self, response: Response) -> None:
        """Create an error with the connection's last response."""
        super().__init__(response.status)
        self.response = response


@dataclass(slots=True, kw_only=True)
class Request:
    """The head of a request, which can be cached as a pure function of its bytes."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    has_metadata_header: bool = False  # has `Metadata: true`
    is_forwarded: bool = False  # has X-Forwarded-For
    is_from_page: bool = False  # has a header that only browsers send
    host: str | None = None  # from the Host header, without a port; None if absent
    if_none_match: str | None = None  # None if absent
    wait: int | None = None  # seconds from `Prefer: wait` (RFC 7240); None if absent
    length: int = 0
    is_chunked: bool = False
    expects_continue: bool = False
    is_last: bool = False  # the connection closes after the response
    connection: bytes = b""  # the response's Connection line
    #: The parsed route, set when the request is handled.
    route: object = field(default=None, compare=False)
    #: The route and api-version used for counting.
    labels: tuple[str, str] | None = field(default=None, compare=False)

    @property
    def has_body(self) -> bool:
        """Return whether a body follows the head."""
        return self.length > 0 or self.is_chunked

    @property
    def is_head(self) -> bool:
        """Return whether the response must have no body."""
        return self.method == "HEAD"


class _Headers:
    """Collects the headers that httptools reports."""

    def __init__(self) -> None:
        self.fields: dict[str, list[str]] = {}
        self.completed = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        text = value.decode("latin-1").strip(" \t")
        self.fields.setdefault(name.decode("latin-1").lower(), []).append(text)

    def on_headers_complete(self) -> None:
        self.completed += 1

    def all(self, name: str) -> list[str]:
        return self.fields.get(name, [])

    def last(self, name: str) -> str | None:
        values = self.fields.get(name)
        return values[-1] if values else None


def parse_head(head: bytes) -> Request:
    """Parse one head, which ends with the first empty line."""
    method, target, version = _request_line(head)
    headers = _parse_headers(head)
    is_http_1_0 = version == b"1.0"
    host = _host(headers.all("host"), is_http_1_0=is_http_1_0)
    path, query = _split_target(method, target)
    length, is_chunked = _framing(headers)
    tokens = _tokens(headers.all("connection"))
    stays = not is_http_1_0 or "keep-alive" in tokens
    expectations = _tokens(headers.all("expect"))
    is_last = "close" in tokens or not stays or (is_http_1_0 and is_chunked)
    keep = KEEP if is_http_1_0 else b""
    return Request(
        method=method,
        path=path,
        query=query,
        has_metadata_header=(headers.last("metadata") or "").lower() == "true",
        is_forwarded="x-forwarded-for" in headers.fields,
        is_from_page=not _PAGE_HEADERS.isdisjoint(headers.fields),
        host=host,
        if_none_match=",".join(headers.all("if-none-match")) or None,
        wait=_wait(headers.all("prefer")),
        length=length,
        is_chunked=is_chunked,
        expects_continue=not is_http_1_0 and "100-continue" in expectations,
        is_last=is_last,
        connection=CLOSE if is_last else keep,
    )


def check_lines(head: bytes, since: int) -> None:
    """Raise `BadRequest` if a line in a partial head has an invalid ending.

    Bytes before `since` have already been checked.
    """
    if _LONE_CR_OR_LF.search(head, since):
        raise _lone_cr_or_lf()


def _request_line(head: bytes) -> tuple[str, str, bytes]:
    """Return the method, target and version."""
    lines = head.count(b"\r\n")
    if head.count(b"\r") != lines or head.count(b"\n") != lines or b"\0" in head:
        raise _lone_cr_or_lf()
    line = _REQUEST_LINE.match(head)
    if line is None:
        raise _bad("this is not an HTTP request")
    method, target, version = line.groups()
    if version not in (b"1.1", b"1.0"):
        raise BadRequest(error(505, "Only HTTP/1.1 and HTTP/1.0 are supported"))
    return method.decode(), target.decode(), version


def _parse_headers(head: bytes) -> _Headers:
    if b"\r\n " in head or b"\r\n\t" in head:
        raise _bad("header lines must not be folded")
    headers = _Headers()
    try:
        httptools.HttpRequestParser(headers).feed_data(head)
    except httptools.HttpParserUpgrade:
        pass  # upgrades to other protocols are ignored
    except httptools.HttpParserError as problem:
        raise _bad("this is not an HTTP request") from problem
    if headers.completed != 1:
        raise _bad("this is not a single HTTP request")
    return headers


def _host(hosts: list[str], *, is_http_1_0: bool) -> str | None:
    """Return the host from the Host header, in lower case and without a port."""
    if len(hosts) > 1 or not (hosts or is_http_1_0):
        raise _bad("a request needs exactly one Host header")
    if not hosts:
        return None
    host = _HOST.fullmatch(hosts[0])
    if host is None:
        raise _bad("the Host header does not contain a valid host")
    return host[1].lower().removesuffix(".")


def _split_target(method: str, target: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Split the target into path and query, percent-decoded once."""
    if (method, target) == ("OPTIONS", "*"):
        return target, ()
    target_match = _TARGET.fullmatch(target)
    if target_match is None or method == "CONNECT":
        raise _bad("the request target must be a path or an http URL")
    if "%" in target and _BAD_ESCAPE.search(target):
        raise _bad("the request target contains an invalid percent escape")
    raw_path, raw_query = target_match.groups(default="")
    if raw_query.count("&") >= _MAX_PARAMETERS:
        raise _bad(f"the query has more than {_MAX_PARAMETERS} parameters")
    path = unquote(raw_path, errors="replace")
    query = parse_qsl(raw_query, keep_blank_values=True)
    if "?" in path:  # some clients escape the question mark
        path, _, more = path.partition("?")
        pairs = [part.partition("=") for part in more.split("&") if part]
        query = [*((name, value) for name, _, value in pairs), *query]
    return path or "/", tuple(query)


def _tokens(values: list[str]) -> Set[str]:
    if not values:
        return frozenset()
    return {token.strip(" \t").lower() for token in ",".join(values).split(",")}


def _wait(preferences: list[str]) -> int | None:
    """Return the preferred wait in seconds; the first of several counts."""
    for preference in _PREFERENCE.findall(",".join(preferences)):
        wait = _WAIT.fullmatch(preference)
        if wait is not None:
            digits = (wait[1] or wait[2]).lstrip("0")
            return int(digits[:9] or "0")  # waits are capped far below this
    return None


def _framing(headers: _Headers) -> tuple[int, bool]:
    lengths, codings = headers.all("content-length"), headers.all("transfer-encoding")
    if lengths and codings:
        raise _bad("Content-Length and Transfer-Encoding cannot be combined")
    if codings:
        if [coding.lower() for coding in codings] != ["chunked"]:
            raise _bad("the only supported Transfer-Encoding is chunked")
        return 0, True
    if not lengths:
        return 0, False
    if len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise _bad("Content-Length must be a single number")
    return int(lengths[0]), False


def _bad(text: str) -> BadRequest:
    return BadRequest(error(400, f"Bad request. {text}"))


def _lone_cr_or_lf() -> BadRequest:
    return _bad("each line must end with CR LF, and must not contain a lone CR or LF")
