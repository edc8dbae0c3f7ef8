"""Random valid requests, each with its meaning.

Everything is drawn from a `Random`, so a seed or hypothesis can reproduce it.
"""

from dataclasses import dataclass
from random import Random
from urllib.parse import quote, quote_plus

METHODS = ("GET", "GET", "GET", "HEAD", "POST", "POST", "PUT", "DELETE", "OPTIONS")

#: Decoded parts of a path; how much of them is escaped is drawn.
PARTS = (
    "metadata",
    "scheduledevents",
    "vm",
    "a",
    ".",
    "..",
    "",
    "a b",
    "%41",
    "100%",
    "é",
    "#",
    "~!$&'()*+,;=:@",
    "x" * 40,
)
NAMES = ("api-version", "a", "b c", "é", "%", "")
VALUES = ("2020-07-01", "", "a+b", "1&2=3", "#", "é")
PLACES = ("http://vm", "http://169.254.169.254:80", "HTTP://VM:", "http://[::1]:8080")

#: Header lines that do not change the meaning of a request.
LINES = (
    "Metadata: true",
    "metadata:TRUE",
    "User-Agent:",
    "Accept: */*",
    "A:b",
    "A: \t b \t ",
    "A: b\tc  d",
    "A: \xe9\xff",
    "!#$%&'*+-.^_`|~09: odd",
    "X-Forwarded-For: 10.0.0.1",
    'If-None-Match: "0", W/"1"',
    "If-None-Match: *",
    "Cookie: a=b; c=d",
    "Connection: keep-alive",
    "Connection: ,x,",
    "Connection: upgrade",
    "Content-Type: application/json",
    "TE: trailers",
    "Trailer: A",
    "Expect: 100-continue",
    "Expect: something",
    "Via: 1.1 a",
    "A: " + "x" * 70,
)
EXTENSIONS = (b"", b"", b"", b";a", b";a=b", b';a="b;\\" c"', b';a="\xe9\t"', b";a;b=c")
TRAILERS = (b"A: b\r\n", b"C:\r\n", b"Host: x\r\n", b"Connection: close\r\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidRequest:
    """A request on the wire and its meaning."""

    wire: bytes
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: bytes
    is_last: bool

    @property
    def meaning(self) -> tuple[str, str, tuple[tuple[str, str], ...], bytes, bool]:
        """Return method, path, query, body, and whether the request is the last."""
        return self.method, self.path, self.query, self.body, self.is_last


def good_requests(random: Random) -> list[ValidRequest]:
    """Draw requests for one connection; only the last one may close it."""
    drawn = [good_request(random) for _ in range(random.choice((1, 1, 2, 2, 3, 5)))]
    ends = next((i for i, request in enumerate(drawn) if request.is_last), len(drawn))
    return drawn[: ends + 1]


def good_request(random: Random) -> ValidRequest:
    """Draw a request that RFC 9112 allows and both oracles accept."""
    method = random.choice(METHODS)
    target, path, query = _target(random, method)
    is_old = random.random() < 0.15
    lines = random.sample(LINES, random.choice((0, 1, 2, 4)))
    closes = random.random() < 0.15
    if closes:
        lines.append(random.choice(("Connection: close", "connection: Keep, CLOSE ")))
    if not is_old or random.random() < 0.5:
        lines.insert(random.randint(0, len(lines)), _host(random))
    framing, wire, body = _body(random, method)
    lines += framing
    first = f"{method} {target} HTTP/{'1.0' if is_old else '1.1'}"
    head = "\r\n".join([first, *lines, "", ""]).encode("latin-1")
    empty = b"\r\n" * random.choice((0, 0, 0, 0, 0, 0, 1, 2))
    stays = not is_old or "Connection: keep-alive" in lines
    is_chunked = any("chunked" in line.lower() for line in framing)
    return ValidRequest(
        wire=empty + head + wire,
        method=method,
        path=path,
        query=query,
        body=body,
        is_last=closes or not stays or (is_old and is_chunked),
    )


def _host(random: Random) -> str:
    host = random.choice(("vm", "", "169.254.169.254", "vm:80", "[fd00::1]:80", "a_b"))
    return random.choice(("Host: ", "host:", "HOST:\t")) + host


def _target(
    random: Random, method: str
) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    if method == "OPTIONS" and random.random() < 0.3:
        return "*", "*", ()
    if random.random() < 0.2:
        return "/later", "/later", ()
    place = random.choice(PLACES) if random.random() < 0.2 else ""
    parts = random.choices(PARTS, k=random.choice((1, 1, 2, 3)))
    safe = random.choice(("", "~!$&'()*+,;=:@"))
    path = "/" + "/".join(quote(part, safe=safe) for part in parts)
    decoded = "/" + "/".join(parts)
    if place and random.random() < 0.2:
        path, decoded = "", "/"
    pairs = [
        (random.choice(NAMES), random.choice(VALUES))
        for _ in range(random.choice((0, 0, 1, 2)))
    ]
    query = "&".join(f"{quote_plus(n)}={quote_plus(v)}" for n, v in pairs)
    return place + path + (f"?{query}" if query else ""), decoded, tuple(pairs)


def _body(random: Random, method: str) -> tuple[list[str], bytes, bytes]:
    """Draw the framing headers, the body on the wire, and the decoded body."""
    chance = 0.8 if method in ("POST", "PUT") else 0.1
    if random.random() > chance:
        return [], b"", b""
    body = random.choice((b"", b"a", b"abc", b"\r\n\r\n", b"0\r\n\r\n", _bytes(random)))
    if random.random() < 0.5:
        length = random.choice(
            ("Content-Length: ", "content-length:\t", "CONTENT-LENGTH:")
        )
        zeros = "0" * random.choice((0, 0, 0, 3, 10))
        return [f"{length}{zeros}{len(body)}"], body, body
    coding = random.choice(("Transfer-Encoding: chunked", "transfer-encoding:CHUNKED "))
    return [coding], _chunks(random, body), body


def _bytes(random: Random) -> bytes:
    return bytes(random.choices(range(256), k=random.randint(1, 20)))


def _chunks(random: Random, body: bytes) -> bytes:
    wire = b""
    while body:
        size = random.randint(1, len(body))
        part, body = body[:size], body[size:]
        digits = random.choice((b"%x", b"%X", b"%04x", b"%015x")) % size
        wire += digits + random.choice(EXTENSIONS) + b"\r\n" + part + b"\r\n"
    trailers = random.sample(TRAILERS, random.choice((0, 0, 0, 1, 2)))
    last = random.choice((b"0", b"0", b"000")) + random.choice(EXTENSIONS)
    return wire + last + b"\r\n" + b"".join(trailers) + b"\r\n"
