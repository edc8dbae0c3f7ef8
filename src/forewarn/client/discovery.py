"""Discovery of the metadata service: well-known address, environment, then DHCP.

Where VMs have no route to 169.254.169.254, option 245 in a DHCP offer contains the
service's address. The search takes no lease, because it sends a DISCOVER without a
REQUEST.
"""

import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from forewarn.client.endpoint import DEFAULT, VARIABLE, Endpoint, parse
from forewarn.errors import InvalidInput, Malformed, Unreachable

#: The environment variable in which Azure's scripts store an address they have found.
_KEPT_ADDRESS = "SCHEDULEDEVENTSIP"
#: The service's ports at that address; some clients know only the second one.
_PORTS = (80, 8080)

#: Ports of DHCP.
_CLIENT_PORT: Final = 68
_SERVER_PORT: Final = 67

_INSTEAD = f"specify the endpoint instead (--endpoint, or ${VARIABLE})"
_LINUX_ONLY = f"discovery via DHCP works only on Linux; {_INSTEAD}"
_NO_PERMISSION = (
    "discovery via DHCP requires root or the CAP_NET_RAW and CAP_NET_BIND_SERVICE"
    f" capabilities; run it as root, or {_INSTEAD}"
)

# Why a search found no address; the network interface's name is filled in.
_NO_SERVER = "no DHCP server responded on {}; check that one serves this network"
_NO_OPTION = (
    "the DHCP server on {} does not announce a metadata service; add option 245 to"
    " its configuration"
)
_BAD_OPTION = (
    "the DHCP server on {} sends option 245 without a valid IPv4 address; set it to"
    " the four bytes of the service's address"
)

_PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds between two requests; the last repeats
_MAX_PACKET = 65_536  # bytes; no packet is larger

# Messages, as defined in RFC 2131 and 2132.
_BOOT_REQUEST, _BOOT_REPLY = 1, 2
_ETHERNET, _MAC_SIZE = 1, 6
_BROADCAST = 0x8000  # a flag: broadcasts reach a machine without an address
_COOKIE = b"\x63\x82\x53\x63"
_OPTIONS_AT = 240  # bytes before the options
_MIN_SIZE = 300  # bytes; some relays drop smaller packets
_PAD, _MESSAGE_TYPE, _REQUESTED, _SERVICE, _END = 0, 53, 55, 245, 255
_DISCOVER, _OFFER = 1, 2
#: op, htype, hlen, hops, xid, secs, flags, four addresses, chaddr, sname, file, cookie.
_HEAD = struct.Struct("!4BIHH16s16s192s4s")

# Network interfaces, as described in netdevice(7).
_GET_FLAGS, _GET_MAC = 0x8913, 0x8927  # SIOCGIFFLAGS, SIOCGIFHWADDR
_IFREQ_SIZE, _NAME_SIZE = 40, 16  # bytes of an ifreq and of the name in it
_UP = 0x1


def find(
    environment: Mapping[str, str],
    responds: Callable[[Endpoint], bool],
    query: Callable[[], str],
) -> Endpoint:
    """Return the first candidate that `responds`.

    `query`, which is called last, returns the address that DHCP offers.
    """
    tried: list[Endpoint] = []
    for candidate in _candidates(environment, query):
        if responds(candidate):
            return candidate
        tried.append(candidate)
    listed = ", ".join(map(str, tried))
    raise Unreachable(
        f"no metadata service responds at any of {listed}; check that it is running"
        f" and that this machine can reach it, or {_INSTEAD}"
    )


def _candidates(
    environment: Mapping[str, str], query: Callable[[], str]
) -> Iterator[Endpoint]:
    yield parse(DEFAULT)
    if kept := environment.get(_KEPT_ADDRESS, "").strip():
        yield from _both_ports(kept)
    yield from _both_ports(query())


def _both_ports(host: str) -> Iterator[Endpoint]:
    try:
        endpoints = [parse(f"http://{host}:{port}") for port in _PORTS]
    except InvalidInput as error:
        raise InvalidInput(f"${_KEPT_ADDRESS} is not an address: {host!r}") from error
    yield from endpoints


# --- DHCP --------------------------------------------------------------------


def dhcp_problem() -> str | None:
    """Return why this process cannot use DHCP and how to fix it, or None if it can.

    This sends nothing. It opens a socket like `query_dhcp`, but on loopback.
    """
    if sys.platform != "linux":
        return _LINUX_ONLY
    try:
        _open_socket("lo").close()
    except PermissionError:
        return _NO_PERMISSION
    except OSError:
        pass  # perhaps temporary; a search reports it
    return None


def query_dhcp(interface: str | None = None, seconds: float = 15.0) -> str:
    """Return the service's address from the DHCP server (option 245).

    The request is sent through `interface`, by default the first network interface that
    is up.
    """
    if sys.platform != "linux":
        raise Unreachable(_LINUX_ONLY)
    card = interface or _first_card()
    mac = _mac_of(card)
    try:
        with _open_socket(card) as udp:
            return _discover(udp, card, mac, time.monotonic() + seconds)
    except PermissionError as error:
        raise Unreachable(_NO_PERMISSION) from error
    except OSError as error:
        why = error.strerror or str(error)
        message = f"cannot use DHCP on {card}: {why.lower()}; {_INSTEAD}"
        raise Unreachable(message) from error


def _discover(udp: socket.socket, card: str, mac: bytes, deadline: float) -> str:
    """Broadcast DISCOVERs at growing intervals until an offer contains the address."""
    number = int.from_bytes(os.urandom(4))
    problem = _NO_SERVER
    for attempt in range(1000):
        udp.sendto(discover_message(number, mac), ("<broadcast>", _SERVER_PORT))
        pause = _PAUSES[min(attempt, len(_PAUSES) - 1)]
        until = min(deadline, time.monotonic() + pause)
        for packet in _packets(udp, until):
            try:
                offered = offer_in(packet, number, mac)
            except Malformed:
                continue  # for another machine, or not DHCP
            if offered is None:
                problem = _NO_OPTION
            elif is_address(offered):
                return ".".join(map(str, offered))
            else:
                problem = _BAD_OPTION
        if time.monotonic() >= deadline:
            break
    raise Unreachable(f"{problem.format(card)}, or {_INSTEAD}")


def _packets(udp: socket.socket, until: float) -> Iterator[bytes]:
    """Yield the packets that arrive before `until`."""
    while (left := until - time.monotonic()) > 0:
        udp.settimeout(left)
        try:
            yield udp.recv(_MAX_PACKET)
        except TimeoutError:
            return


def _open_socket(card: str) -> socket.socket:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, card.encode())
        udp.bind(("", _CLIENT_PORT))
    except BaseException:
        udp.close()
        raise
    return udp


# --- DHCP messages -----------------------------------------------------------


def discover_message(number: int, mac: bytes) -> bytes:
    """Build a DISCOVER from the interface `mac`; `number` is its transaction ID."""
    head = _HEAD.pack(
        _BOOT_REQUEST,
        _ETHERNET,
        _MAC_SIZE,
        0,
        number,
        0,
        _BROADCAST,
        b"",
        mac,
        b"",
        _COOKIE,
    )
    options = bytes([_MESSAGE_TYPE, 1, _DISCOVER, _REQUESTED, 2, 1, _SERVICE, _END])
    return (head + options).ljust(_MIN_SIZE, b"\0")


def offer_in(packet: bytes, number: int, mac: bytes) -> bytes | None:
    """Return option 245 in an offer, or None if the offer does not have it.

    Raise `Malformed` if `packet` is not an offer for this transaction.
    """
    if len(packet) < _OPTIONS_AT:
        raise Malformed("the packet is too short for DHCP")
    kind, _, _, _, its_number, _, _, _, chaddr, _, cookie = _HEAD.unpack_from(packet)
    if kind != _BOOT_REPLY or cookie != _COOKIE:
        raise Malformed("the packet is not a reply from a DHCP server")
    if its_number != number or chaddr[:_MAC_SIZE] != mac:
        raise Malformed("the packet is a reply to another request")
    options = _options(packet[_OPTIONS_AT:])
    if options.get(_MESSAGE_TYPE) != bytes([_OFFER]):
        raise Malformed("the packet is not a DHCP offer")
    return options.get(_SERVICE)


def is_address(data: bytes) -> bool:
    """Return whether `data` is the IPv4 address of one machine."""
    # Not the local network (0), multicast or broadcast.
    return len(data) == 4 and 0 < data[0] < 224


def _options(data: bytes) -> Mapping[int, bytes]:
    """Parse the options; join options that are split into several parts."""
    options: dict[int, bytes] = {}
    at = 0
    while at < len(data) and data[at] != _END:
        if data[at] == _PAD:
            at += 1
            continue
        if at + 1 == len(data) or at + 2 + data[at + 1] > len(data):
            raise Malformed("an option in the packet is truncated")
        size = data[at + 1]
        options[data[at]] = options.get(data[at], b"") + data[at + 2 : at + 2 + size]
        at += 2 + size
    return options


# --- network interfaces ------------------------------------------------------


def _first_card() -> str:
    for _, card in socket.if_nameindex():
        (flags,) = struct.unpack_from("H", _ioctl(card, _GET_FLAGS), _NAME_SIZE)
        (kind,) = struct.unpack_from("H", _ioctl(card, _GET_MAC), _NAME_SIZE)
        if flags & _UP and kind == _ETHERNET:  # loopback and tunnels have other types
            return card
    raise Unreachable(
        "no Ethernet interface is up, so DHCP cannot be used; bring one up, or"
        f" {_INSTEAD}"
    )


def _mac_of(card: str) -> bytes:
    try:
        reply = _ioctl(card, _GET_MAC)
    except OSError as error:
        raise Unreachable(f"network interface {card!r} not found") from error
    kind, mac = struct.unpack_from("H6s", reply, _NAME_SIZE)
    if kind != _ETHERNET:
        raise Unreachable(
            f"network interface {card!r} is not an Ethernet interface, which DHCP"
            " requires"
        )
    return bytes(mac)


def _ioctl(card: str, operation: int) -> bytes:
    """Query the kernel about `card`; /sys may describe another network namespace."""
    import fcntl  # available on Linux

    ifreq = card.encode()[: _NAME_SIZE - 1].ljust(_IFREQ_SIZE, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as kernel:
        return fcntl.ioctl(kernel, operation, ifreq)
