"""By which names the control plane may be asked for, and from which pages.

A page in a browser may let its own name lead to this machine, and so ask for what only
this machine can reach. It cannot hide by which name it asks, nor where it comes from:

1. Host is a name that the control plane is known by, or an address.
2. Origin, if there is one, is the control plane itself.
3. What changes anything does not come from another site, as browsers say it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from socket import gethostname
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from forewarn.server.control import problems

#: What changes nothing.
READING = frozenset({"GET", "HEAD"})

_ANY = "*"
_LOCALHOST = "localhost"  # browsers never look it up
_PORTS: Mapping[str, int] = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names that the control plane is known by."""

    bound: str  # the address that it listens on
    given: frozenset[str] = frozenset()  # in lower case
    machine: frozenset[str] = frozenset()  # its names; used if others can connect

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return ip_address(self.bound).is_loopback

    def has(self, name: str) -> bool:
        """Tell whether `name` is one of them."""
        address = _address(name)
        if address is None:
            return name in self.given or name in self._own
        if not self.is_loopback:
            return True  # no name that leads here is an address
        return address.is_loopback

    @property
    def _own(self) -> frozenset[str]:
        return frozenset({_LOCALHOST}) | (
            frozenset() if self.is_loopback else self.machine
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why somebody is not answered."""

    status: int
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a request says of where it comes from."""

    method: str
    scheme: str
    hosts: Sequence[str]  # its Host headers
    origin: str | None  # None: it has none
    site: str | None  # Sec-Fetch-Site; None: it has none


def known_as(bound: str, *given: str) -> Names:
    """Find the names of what listens on the address `bound`; nothing is looked up."""
    machine = gethostname().lower()
    return Names(
        bound=bound,
        given=frozenset(each.lower() for each in given),
        machine=frozenset({machine, machine.partition(".")[0]}),
    )


def refusal(call: Call, names: Names) -> Refusal | None:
    """Say why `call` is not answered; None: it is."""
    if not _is_known(call.hosts, names):
        asked = call.hosts[0] if call.hosts else "no name"
        return Refusal(
            status=421,
            detail=f"the control plane is not known as {asked[:100]}; if it should be,"
            " start it with --control-host NAME ([control] hosts)",
        )
    if call.origin is not None and not _is_own(call):
        return Refusal(
            status=403,
            detail=f"pages of {call.origin[:100]} may not ask the control plane",
        )
    if call.site == "cross-site" and call.method not in READING:
        return Refusal(
            status=403, detail="pages of other sites may not ask the control plane"
        )
    return None


class Callers:
    """Answers those who ask by a name that is known, and no pages of others."""

    def __init__(self, app: ASGIApp, names: Names) -> None:
        """Stand before `app`, which is known by `names`."""
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or refuse it."""
        if scope["type"] == "http":
            refused = refusal(_call(scope), self._names)
            if refused is not None:
                answer = problems.refusal(scope, refused.status, refused.detail)
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def port_of(scope: Scope) -> int:
    """Say at which port the control plane is asked for; 0: that cannot be read."""
    host = Headers(scope=scope).get("host", "")
    found = _origin(f"{scope['scheme']}://{host}")
    return 0 if found is None else found[2]


def _call(scope: Scope) -> Call:
    headers = Headers(scope=scope)
    return Call(
        method=scope["method"],
        scheme=scope["scheme"],
        hosts=headers.getlist("host"),
        origin=headers.get("origin"),
        site=headers.get("sec-fetch-site"),
    )


def _is_known(hosts: Sequence[str], names: Names) -> bool:
    if _ANY in names.given:
        return True
    if not hosts:
        return names.is_loopback  # HTTP/1.0; no browser speaks that
    found = _origin(f"http://{hosts[0]}")
    return len(hosts) == 1 and found is not None and names.has(found[1])


def _is_own(call: Call) -> bool:
    if len(call.hosts) != 1 or call.origin is None:
        return False
    own = _origin(f"{call.scheme}://{call.hosts[0]}")
    return own is not None and _origin(call.origin) == own


def _origin(text: str) -> tuple[str, str, int] | None:
    """Take an origin apart into scheme, name and port; None: it is none."""
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    is_bare = parts.netloc and text == f"{text.partition('://')[0]}://{parts.netloc}"
    if not is_bare or "@" in parts.netloc or not parts.hostname:
        return None
    return parts.scheme, parts.hostname.removesuffix("."), port


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(name)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found
