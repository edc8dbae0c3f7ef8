"""Random invalid streams: corrupted requests, attacks and noise."""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeAlias

from tests.server.support.attacks import BYTES, CHUNKS, FIRST_LINES, LINES
from tests.server.support.valid_streams import good_requests

from forewarn.server.metadata.transport.requests import MAX_BODY, MAX_HEAD

Spoil: TypeAlias = Callable[[Random, bytes], bytes]


def bad_stream(random: Random) -> bytes:
    """Draw a stream that is partly or entirely invalid."""
    return random.choice(KINDS)(random)


def corrupted_stream(random: Random) -> bytes:
    """Draw valid requests and corrupt them slightly."""
    stream = b"".join(request.wire for request in good_requests(random))
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        stream = random.choice(SPOILS)(random, stream)
    return stream


def attack_stream(random: Random) -> bytes:
    """Combine lines that have been used in attacks."""
    drawn = b""
    for _ in range(random.choice((1, 1, 2, 3))):
        lines = [
            random.choice(FIRST_LINES[:2] if random.random() < 0.6 else FIRST_LINES)
        ]
        if random.random() < 0.9:
            lines.append(b"Host: vm")
        lines += random.choices(LINES, k=random.choice((0, 1, 1, 2, 3)))
        parts = random.choices((b"hello", *CHUNKS), k=random.choice((0, 1, 2, 3)))
        drawn += b"\r\n".join([*lines, b"", b""]) + b"".join(parts)
    return drawn


def chunked(random: Random) -> bytes:
    """Combine chunks, some of which have been used in attacks."""
    head = b"POST /a HTTP/1.1\r\nHost: vm\r\nTransfer-Encoding: chunked\r\n\r\n"
    good = (b"5\r\nhello\r\n", b"0\r\n\r\n")
    drawn = random.choices((*good * 15, *CHUNKS), k=random.choice((1, 2, 2, 3)))
    last = b"0\r\n\r\n" if random.random() < 0.7 else b""
    return head + b"".join(drawn) + last + b"GET /b HTTP/1.1\r\nHost: vm\r\n\r\n"


def noise(random: Random) -> bytes:
    """Draw meaningless bytes."""
    drawn: list[bytes] = []
    fragments = (*LINES, *FIRST_LINES, *CHUNKS, *BYTES * 5)
    for _ in range(random.randint(1, 12)):
        if random.random() < 0.4:
            drawn.append(bytes(random.choices(range(256), k=random.randint(1, 8))))
        else:
            drawn.append(random.choice(fragments))
    return b"".join(drawn)


def large(random: Random) -> bytes:
    """Draw a request whose head, line or body is close to a limit."""
    over = random.randint(-3, 3)
    post = b"POST / HTTP/1.1\r\nHost: vm\r\n"
    chunked = post + b"Transfer-Encoding: chunked\r\n\r\n"
    half = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
    rest = MAX_BODY - 0x8000 + over
    drawn = (
        post + b"A: " + b"x" * (MAX_HEAD - len(post) - 7 + over) + b"\r\n\r\n",
        post + b"A: b\r\n" * ((MAX_HEAD - len(post)) // 6 + over) + b"\r\n",
        post + b"Content-Length: %d\r\n\r\n" % (MAX_BODY + over) + b"x" * MAX_BODY,
        chunked + half + b"%x\r\n" % rest + b"x" * rest + b"\r\n0\r\n\r\n",
        chunked + b"1;" + b"x" * (MAX_HEAD - 2 + over) + b"\r\nx\r\n0\r\n\r\n",
        chunked + b"0\r\n" + b"A: b\r\n" * (MAX_HEAD // 4 + over) + b"\r\n",
        b"\r\n" * (4 + over) + post + b"\r\n",
        b"GET /" + b"x" * (MAX_HEAD + over) + b" HTTP/1.1\r\nHost: vm\r\n\r\n",
    )
    return random.choice(drawn) + b"GET / HTTP/1.1\r\nHost: vm\r\n\r\n"


KINDS = (
    corrupted_stream,
    corrupted_stream,
    corrupted_stream,
    attack_stream,
    attack_stream,
    chunked,
    noise,
)


# --- kinds of corruption -----------------------------------------------------


def _place(random: Random, stream: bytes) -> int:
    return random.randint(0, len(stream))


def _flip(random: Random, stream: bytes) -> bytes:
    at = _place(random, stream)
    flipped = [byte ^ (1 << random.randrange(8)) for byte in stream[at : at + 1]]
    return stream[:at] + bytes(flipped) + stream[at + 1 :]


def _insert(random: Random, stream: bytes) -> bytes:
    at = _place(random, stream)
    return stream[:at] + random.choice(BYTES) + stream[at:]


def _overwrite(random: Random, stream: bytes) -> bytes:
    at = _place(random, stream)
    return stream[:at] + random.choice(BYTES) + stream[at + 1 :]


def _delete(random: Random, stream: bytes) -> bytes:
    at = _place(random, stream)
    return stream[:at] + stream[at + random.choice((1, 1, 2, 8)) :]


def _duplicate(random: Random, stream: bytes) -> bytes:
    at, length = _place(random, stream), random.choice((1, 2, 10, 40))
    return stream[: at + length] + stream[at:]


def _swap(random: Random, stream: bytes) -> bytes:
    first, second, third = sorted(_place(random, stream) for _ in range(3))
    return stream[:first] + stream[second:third] + stream[first:second] + stream[third:]


def _truncate(random: Random, stream: bytes) -> bytes:
    return stream[: _place(random, stream)]


def _at_line_end(stream: bytes, random: Random, new: Sequence[bytes]) -> bytes:
    """Replace one line end with one of `new`."""
    lines = stream.split(b"\r\n")
    at = random.randint(1, len(lines))
    before, after = b"\r\n".join(lines[:at]), b"\r\n".join(lines[at:])
    return before + random.choice(new) + after


def _end_line(random: Random, stream: bytes) -> bytes:
    return _at_line_end(
        stream, random, (b"\n", b"\r", b"", b"\r\r\n", b"\n\r", b" \r\n")
    )


def _add_line(random: Random, stream: bytes) -> bytes:
    return _at_line_end(stream, random, [b"\r\n%s\r\n" % line for line in LINES])


def _add_chunk(random: Random, stream: bytes) -> bytes:
    return _at_line_end(stream, random, [b"\r\n" + chunk for chunk in CHUNKS])


def _new_first_line(random: Random, stream: bytes) -> bytes:
    return random.choice(FIRST_LINES) + stream[stream.find(b"\r\n") :]


SPOILS: Sequence[Spoil] = (
    _flip,
    _insert,
    _overwrite,
    _delete,
    _duplicate,
    _swap,
    _truncate,
    _end_line,
    _add_line,
    _add_line,
    _add_chunk,
    _new_first_line,
)
