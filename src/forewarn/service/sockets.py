"""Listening sockets and connection limits."""

import errno
import resource
import socket
from collections.abc import Set
from contextlib import ExitStack

from forewarn.config.settings import Config
from forewarn.configfile.values import Address
from forewarn.errors import CannotStart
from forewarn.server.control.http.shares import ConnectionPlaces
from forewarn.server.metadata.limits import ConnectionLimits

_CONTROL = 512  # connections to the control plane
_OTHER_FILES = 128  # mostly for the store: two per reading thread
_MANY = 10_000_000

_OTHER_HINT = "; choose another address with --metadata or --control"
_HINTS = {
    errno.EADDRINUSE: " (is another forewarn running?); choose another address with"
    " --metadata or --control"
}


def listen(address: Address, cleanup: ExitStack) -> socket.socket:
    """Bind `address` and listen on it, with IPv4 and IPv6 kept separate."""
    try:
        addresses = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, where = addresses[0]
        listener = _socket(family, kind, protocol, cleanup)
        listener.bind(where)
        if not address.port:
            listener = _by_number(listener, cleanup)
        listener.listen(4096)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = _HINTS.get(error.errno or 0, _OTHER_HINT)
        raise CannotStart(f"cannot listen on {address}: {reason}{hint}") from error
    return listener


def _socket(family: int, kind: int, protocol: int, cleanup: ExitStack) -> socket.socket:
    new = socket.socket(family, kind, protocol)
    cleanup.callback(new.close)
    new.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        new.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return new


def _by_number(chosen: socket.socket, cleanup: ExitStack) -> socket.socket:
    """Bind the port of `chosen` again, by number.

    Without this, the kernel could give a port that it chose to another process after
    the service stops listening.
    """
    listener = _socket(chosen.family, chosen.type, chosen.proto, cleanup)
    listener.bind(chosen.getsockname())
    chosen.close()
    return listener


def connection_limits(config: Config) -> ConnectionLimits:
    """Return the connection limits, leaving files for the store and control plane."""
    files = _files()
    possible = max(files - _CONTROL - _OTHER_FILES, files // 3, 1)
    total = min(config.connections or possible, possible)
    return ConnectionLimits(per_vm=config.connections_per_vm, total=total)


def metadata_hosts(config: Config) -> Set[str]:
    """Return the hostnames of the metadata plane, without DNS lookups."""
    bound = (address.host.lower() for address in config.metadata)
    return {*config.metadata_host, *bound, socket.gethostname().lower()}


def control_places() -> ConnectionPlaces:
    """Return the maximum number of connections to the control plane."""
    return ConnectionPlaces(total=max(min(_CONTROL, _files() // 8), 1))


def _files() -> int:
    """Return the open file limit; each connection is a file."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MANY if soft == resource.RLIM_INFINITY else soft


def bound_address(listening: socket.socket) -> Address:
    """Return a socket's address, with the actual port instead of 0."""
    host, port = listening.getsockname()[:2]
    return Address(str(host), int(port))
