"""Known differences between our HTTP parser and its oracles, with reasons.

Nothing else may differ. Both oracles accept whatever we accept, with the same method,
target, headers, body and end. The tables list what only we refuse, and the requests
after which only we or only they keep the connection.

The oracles themselves document two more differences: h11 refuses empty lines before a
request, and httptools accepts every Upgrade header.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.server.support.dialogs import a_post, a_request, in_chunks
from tests.server.support.http_oracles import Message

from forewarn.server.metadata.transport.requests import MAX_BODY, MAX_HEAD

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'
_EXTENSIONS = re.compile(rb"(?:;%s(?:=(?:%s|%s))?)*" % (_TOKEN, _TOKEN, _QUOTED))
_BRACKETS = rb"\[[0-9A-Za-z:.%_~-]+\]"
_LETTER = rb"(?:[\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"
_PORT = rb"(?::[0-9]*)?"
_HOST = re.compile(rb"(?:%s|%s*)%s" % (_BRACKETS, _LETTER, _PORT))
_AUTHORITY = rb"(?:%s|%s+)%s" % (_BRACKETS, _LETTER, _PORT)
_FORMS = re.compile(rb"(?:/|(?i:http)://%s(?:[/?]|\Z))" % _AUTHORITY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A kind of request that is parsed differently, with the reason and an example."""

    what: str
    reason: str
    concerns: Callable[[bytes, Message], bool]  # from its bytes and its parsed form
    example: bytes
    status: int = 400  # of our response if we refuse it
    is_sharp: bool = True  # the difference starts at an exact byte


def known(
    differences: Sequence[Difference], wire: bytes, message: Message
) -> Difference | None:
    """Return the first difference that concerns `message`."""
    return next(
        (
            difference
            for difference in differences
            if difference.concerns(wire, message)
        ),
        None,
    )


# --- properties of a request -------------------------------------------------


def _values(message: Message, name: bytes) -> list[bytes]:
    return [value for field_name, value in message.fields if field_name == name]


def _tokens(values: Sequence[bytes]) -> set[bytes]:
    return {token.strip(b" \t").lower() for token in b",".join(values).split(b",")}


def _is_old(message: Message) -> bool:
    return message.version == b"1.0"


def _is_chunked(message: Message) -> bool:
    return bool(_values(message, b"transfer-encoding"))


def _head_is_large(wire: bytes, message: Message) -> bool:
    del message
    return wire.lstrip(b"\r\n").index(b"\r\n\r\n") + 4 > MAX_HEAD


def _has_no_form(wire: bytes, message: Message) -> bool:
    del wire
    is_server = (message.method, message.target) == (b"OPTIONS", b"*")
    return not is_server and not _FORMS.match(message.target)


def _host_is_wrong(wire: bytes, message: Message) -> bool:
    del wire
    hosts = _values(message, b"host")
    if not hosts:
        return not _is_old(message)
    return len(hosts) > 1 or not _HOST.fullmatch(hosts[0])


def _sizes(wire: bytes, message: Message) -> list[bytes]:
    """Return the size lines of the chunks, which are known to be valid."""
    if not _is_chunked(message):
        return []
    wire = wire.lstrip(b"\r\n")
    at, lines = wire.index(b"\r\n\r\n") + 4, list[bytes]()
    while True:
        end = wire.index(b"\r\n", at)
        lines.append(wire[at:end])
        size = int(wire[at:end].partition(b";")[0], 16)
        if size == 0:
            return lines
        at = end + 2 + size + 2


def _has_odd_extension(wire: bytes, message: Message) -> bool:
    lines = [line.partition(b";") for line in _sizes(wire, message)]
    return any(not _EXTENSIONS.fullmatch(mark + text) for _, mark, text in lines)


def _has_much_extra(wire: bytes, message: Message) -> bool:
    sizes = sum(max(0, len(line) - 16) for line in _sizes(wire, message))
    trailers = sum(len(name) + len(value) + 1 for name, value in message.trailers)
    return sizes + trailers > MAX_HEAD - 64


# --- tables ------------------------------------------------------------------

#: Both oracles accept these.
ONLY_WE_REFUSE = (
    Difference(
        what="a head over the limit",
        reason="a limit of our own",
        concerns=_head_is_large,
        example=a_request("/" + "a" * MAX_HEAD),
        status=431,
    ),
    Difference(
        what="another version of HTTP",
        reason="RFC 9110, 15.6.6; the oracles leave the version to their user",
        concerns=lambda _, message: message.version not in (b"1.0", b"1.1"),
        example=a_request(version="2.0"),
        status=505,
    ),
    Difference(
        what="a CONNECT",
        reason="RFC 9110, 9.3.6: there is no tunnel here",
        concerns=lambda _, message: message.method == b"CONNECT",
        example=a_request("vm:80", method="CONNECT"),
    ),
    Difference(
        what="a target that is neither a path nor the address of one",
        reason="RFC 9112, 3.2, and RFC 9110, 4.2.1, 4.2.4 and 7.4: no empty host, no "
        "user, no https; an asterisk only for OPTIONS",
        concerns=_has_no_form,
        example=a_request("https://vm/"),
    ),
    Difference(
        what="a fragment",
        reason="RFC 9112, 3.2: no form of a target has one",
        concerns=lambda _, message: b"#" in message.target,
        example=a_request("/a#b"),
    ),
    Difference(
        what="a query with more than a hundred parameters",
        reason="a limit of our own",
        concerns=lambda _, message: message.target.partition(b"?")[2].count(b"&") > 99,
        example=a_request("/?" + "&" * 100),
    ),
    Difference(
        what="a broken escape",
        reason="RFC 3986, 2.1",
        concerns=lambda _, message: (
            re.search(rb"%(?![0-9A-Fa-f]{2})", message.target) is not None
        ),
        example=a_request("/%zz"),
    ),
    Difference(
        what="an escaped NUL",
        reason="RFC 3986, 7.3: nothing here is named so, and some would cut there",
        concerns=lambda _, message: b"%00" in message.target,
        example=a_request("/a%00"),
    ),
    Difference(
        what="a Host that names none",
        reason="RFC 9112, 3.2: 400; h11 only counts, llhttp does not look at all",
        concerns=_host_is_wrong,
        example=a_request(host="Host: a b"),
    ),
    Difference(
        what="a body over the limit",
        reason="a limit of our own",
        concerns=lambda _, message: len(message.body) > MAX_BODY,
        example=a_post(b"x" * (MAX_BODY + 1)),
        status=413,
    ),
    Difference(
        what="an extension of a chunk without name or value",
        reason="RFC 9112, 7.1.1; llhttp lets pass `;;a`, `;=b` and `;a=`",
        concerns=_has_odd_extension,
        example=in_chunks(b"0;a=\r\n\r\n"),
    ),
    Difference(
        what="long extensions and trailers",
        reason="a limit of our own: as much as a head in all",
        concerns=_has_much_extra,
        is_sharp=False,
        example=in_chunks(b"0;" + b"a" * MAX_HEAD * 2 + b"\r\n\r\n"),
    ),
)

#: Either only we or only llhttp keeps the connection.
LLHTTP_LEAVES_OTHERWISE = (
    Difference(
        what="chunks from an old client",
        reason="RFC 9112, 6.1: close after them; llhttp keeps the connection",
        concerns=lambda _, message: _is_old(message) and _is_chunked(message),
        example=in_chunks(b"0\r\n\r\n", "Connection: keep-alive").replace(
            b"HTTP/1.1", b"HTTP/1.0"
        ),
    ),
    Difference(
        what="an old client that says both close and keep-alive",
        reason="RFC 9112, 9.3: close comes first; llhttp keeps the connection",
        concerns=lambda _, message: (
            _is_old(message)
            and {b"close", b"keep-alive"} <= _tokens(_values(message, b"connection"))
        ),
        example=a_request("/a", "Connection: close, keep-alive", version="1.0"),
    ),
    Difference(
        what="Proxy-Connection",
        reason="RFC 9112, C.2.2: nobody has to heed it; llhttp does",
        concerns=lambda _, message: bool(_values(message, b"proxy-connection")),
        example=a_request("/a", "Proxy-Connection: close"),
    ),
    Difference(
        what="Connection in a trailer",
        reason="RFC 9110, 6.5.1: it has no meaning there; llhttp heeds it",
        concerns=lambda _, message: bool(
            {b"connection", b"proxy-connection"} & dict(message.trailers).keys()
        ),
        example=in_chunks(b"0\r\nConnection: close\r\n\r\n"),
    ),
)

#: Either only we or only h11 keeps the connection.
H11_LEAVES_OTHERWISE = (
    Difference(
        what="keep-alive of an old client",
        reason="RFC 9112, 9.3: a server may keep it; h11 never does",
        concerns=lambda _, message: _is_old(message),
        example=a_request("/a", "Connection: keep-alive", version="1.0"),
    ),
    Difference(
        what="an offer to speak another protocol",
        reason="RFC 9110, 7.8: we accept none; h11 waits for our response to it",
        concerns=lambda _, message: bool(_values(message, b"upgrade")),
        example=a_request("/a", "Connection: upgrade, close", "Upgrade: h2c"),
    ),
)
