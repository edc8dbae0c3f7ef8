"""What is listened on, and how many may connect."""

import resource
import socket
from contextlib import ExitStack

from forewarn.config import Config
from forewarn.errors import CannotStart
from forewarn.server.limits import Connections, Rate
from forewarn.values import Address

_CONTROL = 512  # connections to the control plane
_OTHER_FILES = 128  # of the store, mostly: two for each thread that reads
_MANY = 10_000_000


def listen(address: Address, cleanup: ExitStack) -> socket.socket:
    """Bind `address`; IPv4 and IPv6 are bound apart."""
    try:
        found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, where = found[0]
        made = _socket(family, kind, protocol, cleanup)
        made.bind(where)
        if not address.port:
            made = _by_number(made, cleanup)
        made.listen(4096)
    except OSError as error:
        raise CannotStart(
            f"{address} cannot be listened on: {error.strerror or error}; choose"
            " another address with --metadata or --control"
        ) from error
    return made


def _socket(family: int, kind: int, protocol: int, cleanup: ExitStack) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    cleanup.callback(made.close)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return made


def _by_number(chosen: socket.socket, cleanup: ExitStack) -> socket.socket:
    """Bind the port of `chosen` by its number.

    A port that the kernel has chosen is not ours any more once nobody listens on it.
    """
    made = _socket(chosen.family, chosen.type, chosen.proto, cleanup)
    made.bind(chosen.getsockname())
    chosen.close()
    return made


def rate(per_second: float) -> Rate | None:
    """Limit the requests of each VM; None: there is no limit."""
    return Rate(per_second) if per_second else None


def limit(config: Config) -> Connections:
    """Leave the store and the control plane some files to open."""
    files = _files()
    possible = max(files - _CONTROL - _OTHER_FILES, files // 3, 1)
    total = min(config.connections or possible, possible)
    return Connections(per_vm=config.connections_per_vm, total=total)


def control_connections() -> int:
    """How many connections the control plane takes."""
    return max(min(_CONTROL, _files() // 8), 1)


def _files() -> int:
    """How many files may be open; each connection is one."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MANY if soft == resource.RLIM_INFINITY else soft


def bound(listening: socket.socket) -> Address:
    """Say where `listening` listens, as port 0 is any."""
    host, port = listening.getsockname()[:2]
    return Address(str(host), int(port))
