"""Host and Origin checks and security headers for the control plane.

The checks prevent DNS rebinding and CSRF.

A page in a browser can make its own name resolve to this machine and thus reach
services that only this machine can reach. The page cannot hide that name or its origin,
so the checks require the following:

1. Host is one of the control plane's names or an address. A request target with a host
   (`GET http://name/path`) has the same host.
2. Origin, if present, is the control plane itself.
3. The browser does not report that a write comes from another site.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from socket import gethostname
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.server.control.auth.permissions import is_guarded
from forewarn.server.error_responses import refusal

#: Methods that change nothing.
READ_METHODS = frozenset({"GET", "HEAD"})

_ANY_HOST = "*"
_LOCALHOST = "localhost"  # browsers never look it up in DNS
_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
#: A name, an IPv4 address or an IPv6 address without a zone; then a port.
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^][:@%]+)(:[0-9]*)?")

#: Defaults suitable for JSON; pages set their own policy.
SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_HSTS = "max-age=31536000"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedHosts:
    """The host names of the control plane."""

    bound: str  # the address that it listens on
    given: frozenset[str] = frozenset()  # from the configuration, in lower case
    machine: frozenset[str] = frozenset()  # its hostnames; used if others can connect

    @property
    def is_loopback(self) -> bool:
        """Return whether only this machine can connect."""
        return ip_address(self.bound).is_loopback

    def has(self, name: str) -> bool:
        """Return whether this hostname is allowed."""
        address = _address(name)
        if address is None:
            is_machine = not self.is_loopback and name in self.machine
            return name == _LOCALHOST or name in self.given or is_machine
        if not self.is_loopback:
            return True  # DNS rebinding needs a name
        return address.is_loopback


def known_as(bound: str, *given: str) -> AllowedHosts:
    """Return the names of a service that listens on `bound`, without DNS lookups."""
    machine = gethostname().lower()
    return AllowedHosts(
        bound=bound,
        given=frozenset(name.lower() for name in given),
        machine=frozenset({machine, machine.partition(".")[0]}),
    )


def origin_refusal(scope: Scope, names: AllowedHosts) -> tuple[int, str] | None:
    """Return the status and reason of a refusal, or None if the request is allowed."""
    headers = Headers(scope=scope)
    hosts, origin = headers.getlist("host"), headers.get("origin")
    if not _is_known(hosts, names):
        host = hosts[-1] if hosts else "(no Host header)"
        return (
            421,
            f"{host[:100]} is not a known name for the control plane; to add it,"
            " start the service with --control-host NAME ([control] hosts)",
        )
    if origin is not None and not _is_own(scope["scheme"], hosts, origin):
        return 403, f"pages from {origin[:100]} cannot use the control plane"
    is_write = scope["method"] not in READ_METHODS
    if is_write and headers.get("sec-fetch-site") == "cross-site":
        return 403, "pages from other sites cannot use the control plane"
    return None


class OriginCheck:
    """Middleware that refuses unknown hostnames and other sites' pages."""

    def __init__(self, app: ASGIApp, names: AllowedHosts) -> None:
        """Wrap `app`, which is reachable under `names`."""
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on or refuse a request."""
        refused = origin_refusal(scope, self._names)
        app = self._app if refused is None else refusal(scope, *refused)
        await app(scope, receive, send)


class SecurityHeaders:
    """Middleware that adds security headers, without buffering responses."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _headers_for(scope).items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def port_of(scope: Scope) -> int:
    """Return the control plane's port in the request's URL, or 0 if unreadable."""
    host = Headers(scope=scope).get("host", "")
    origin = _split_origin(f"{scope['scheme']}://{host}")
    return 0 if origin is None else origin[2]


def _is_known(hosts: Sequence[str], names: AllowedHosts) -> bool:
    if _ANY_HOST in names.given:
        return True
    if not hosts:
        return names.is_loopback  # HTTP/1.0, which no browser uses
    origin = _split_origin(f"http://{hosts[0]}")
    return len(hosts) == 1 and origin is not None and names.has(origin[1])


def _is_own(scheme: str, hosts: Sequence[str], origin: str) -> bool:
    own = _split_origin(f"{scheme}://{hosts[0]}") if len(hosts) == 1 else None
    return own is not None and _split_origin(origin) == own


def _split_origin(text: str) -> tuple[str, str, int] | None:
    """Split an origin into scheme, name and port; return None if invalid."""
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    is_bare = text == f"{text.partition('://')[0]}://{parts.netloc}"
    if not is_bare or not _AUTHORITY.fullmatch(parts.netloc) or not parts.hostname:
        return None
    return parts.scheme, parts.hostname.removesuffix("."), port


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(name)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _headers_for(scope: Scope) -> Mapping[str, str]:
    headers = dict(SECURITY_HEADERS)
    if is_guarded(scope["path"]):
        headers["Cache-Control"] = "no-store"
    if scope["scheme"] == "https" and not _is_localhost(scope):
        headers["Strict-Transport-Security"] = _HSTS
    return headers


def _is_localhost(scope: Scope) -> bool:
    """Return whether HSTS would force other services on this machine to use TLS."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    return any(host.lower().partition(b":")[0] == b"localhost" for host in hosts)
