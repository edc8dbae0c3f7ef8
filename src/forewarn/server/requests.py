"""The head of a request, from bytes to what the metadata plane looks at."""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

import httptools

from forewarn.server.responses import CLOSE, KEEP, Response, error

MOST_HEAD = 16 * 1024
MOST_BODY = 64 * 1024

_ABSOLUTE = re.compile(r"https?://[^/?#]*", re.IGNORECASE)
_LENGTH = re.compile(r"[0-9]{1,18}")
_FOLDED = re.compile(rb"\r\n[ \t]")
_WAIT = re.compile(r"[ \t]*wait[ \t]*=[ \t]*\"?([0-9]{1,9})\"?[ \t]*(?:;.*)?", re.I)


class BadRequest(Exception):
    """The bytes are no request; the connection cannot go on."""

    def __init__(self, response: Response) -> None:
        """Carry the last answer of the connection."""
        super().__init__(response.status)
        self.response = response


@dataclass(slots=True, kw_only=True)
class Request:
    """The head of a request; a pure function of its bytes, so it may be kept."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    is_marked: bool = False  # carries `Metadata: true`
    is_forwarded: bool = False  # carries X-Forwarded-For
    if_none_match: str | None = None
    wait: int | None = None  # seconds that the caller would rather wait (RFC 7240)
    length: int = 0
    is_chunked: bool = False
    expects_continue: bool = False
    is_last: bool = False  # the connection ends after the answer
    connection: bytes = b""  # the line about it in the answer
    #: What it asks for, once whoever answers has found out.
    route: object = field(default=None, compare=False)

    @property
    def has_body(self) -> bool:
        """Whether something follows the head."""
        return self.length > 0 or self.is_chunked

    @property
    def is_head(self) -> bool:
        """Whether the answer must have no body."""
        return self.method == "HEAD"


class _Headers:
    """What httptools calls back."""

    def __init__(self) -> None:
        self.target = b""
        self.fields: dict[str, list[str]] = {}
        self.completed = 0

    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        text = value.decode("latin-1").strip(" \t")
        self.fields.setdefault(name.decode("latin-1").lower(), []).append(text)

    def on_headers_complete(self) -> None:
        self.completed += 1

    def all(self, name: str) -> list[str]:
        return self.fields.get(name, [])

    def last(self, name: str) -> str | None:
        found = self.fields.get(name)
        return found[-1] if found else None


def parse_head(head: bytes) -> Request:
    """Read one head, which ends with the first empty line."""
    seen, parser = _feed(head)
    version = parser.get_http_version()
    if version not in ("1.1", "1.0"):
        raise BadRequest(error(505, "Only HTTP/1.1 and HTTP/1.0 are spoken here"))
    if len(seen.all("host")) != 1 and (version == "1.1" or seen.all("host")):
        raise _bad("a request needs exactly one Host header")
    path, query = _split(seen.target)
    length, is_chunked = _framing(seen)
    tokens = {t.strip().lower() for t in ",".join(seen.all("connection")).split(",")}
    stays = version == "1.1" or "keep-alive" in tokens
    is_old = version == "1.0"
    is_last = "close" in tokens or not stays or (is_old and is_chunked)
    keep = KEEP if is_old else b""
    return Request(
        method=parser.get_method().decode("latin-1"),
        path=path,
        query=query,
        is_marked=(seen.last("metadata") or "").lower() == "true",
        is_forwarded="x-forwarded-for" in seen.fields,
        if_none_match=",".join(seen.all("if-none-match")) or None,
        wait=_wait(seen.all("prefer")),
        length=length,
        is_chunked=is_chunked,
        expects_continue=not is_old
        and (seen.last("expect") or "").lower() == "100-continue",
        is_last=is_last,
        connection=CLOSE if is_last else keep,
    )


def _bad(text: str) -> BadRequest:
    return BadRequest(error(400, f"Bad request. {text}"))


def _feed(head: bytes) -> tuple[_Headers, httptools.HttpRequestParser]:
    lines = head.count(b"\r\n")
    if head.count(b"\r") != lines or head.count(b"\n") != lines or b"\0" in head:
        raise _bad("lines end with CR LF, and hold neither alone")
    if _FOLDED.search(head):
        raise _bad("header lines are not folded")
    seen = _Headers()
    parser = httptools.HttpRequestParser(seen)
    try:
        parser.feed_data(head)
    except httptools.HttpParserUpgrade:
        pass  # the offer to speak another protocol is not taken up
    except httptools.HttpParserError as problem:
        raise _bad("this is not an HTTP request") from problem
    if seen.completed != 1:
        raise _bad("this is not one HTTP request")
    return seen, parser


def _split(target: bytes) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Take the target apart; percent-decode once."""
    text = _ABSOLUTE.sub("", target.decode("latin-1"), count=1)
    raw_path, _, raw_query = text.partition("#")[0].partition("?")
    path = unquote(raw_path, errors="replace")
    path, _, more = path.partition("?")  # some clients escape the question mark
    pairs = (part.partition("=") for part in more.split("&") if part)
    query = parse_qsl(raw_query, keep_blank_values=True)
    return path or "/", (*((name, value) for name, _, value in pairs), *query)


def _wait(preferences: list[str]) -> int | None:
    """Find how long the caller would wait; of several the first counts."""
    for each in ",".join(preferences).split(","):
        found = _WAIT.fullmatch(each)
        if found is not None:
            return int(found[1])
    return None


def _framing(seen: _Headers) -> tuple[int, bool]:
    lengths, codings = seen.all("content-length"), seen.all("transfer-encoding")
    if lengths and codings:
        raise _bad("Content-Length and Transfer-Encoding contradict each other")
    if codings:
        if [each.lower() for each in codings] != ["chunked"]:
            raise _bad("the only Transfer-Encoding understood is chunked")
        return 0, True
    if not lengths:
        return 0, False
    if len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise _bad("Content-Length is not one number")
    return int(lengths[0]), False
