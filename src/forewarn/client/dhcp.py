"""DHCP messages that find the metadata service: a DISCOVER and the OFFER it gets.

Option 245 of an offer is the service's address where no virtual network has a route to
169.254.169.254. Nothing is leased: a DISCOVER without a REQUEST reserves no address.
"""

import struct
from collections.abc import Mapping
from typing import Final

from forewarn.errors import Malformed

CLIENT_PORT: Final = 68
SERVER_PORT: Final = 67

_QUESTION, _ANSWER = 1, 2
_ETHERNET, _MAC_SIZE = 1, 6
_ANSWER_TO_ALL = 0x8000  # a broadcast, which reaches a machine without an address
_COOKIE = b"\x63\x82\x53\x63"
_OPTIONS_AT = 240  # bytes before the options
_LEAST = 300  # bytes; some relays drop smaller packets

_PAD, _MESSAGE, _WANTED, _SERVICE, _END = 0, 53, 55, 245, 255
_DISCOVER, _OFFER = 1, 2

#: op, htype, hlen, hops, xid, secs, flags, four addresses, chaddr, sname, file, cookie.
_HEAD = struct.Struct("!4BIHH16s16s192s4s")


def question(number: int, mac: bytes) -> bytes:
    """Build a DISCOVER from the network card `mac`; `number` is its transaction id."""
    head = _HEAD.pack(
        _QUESTION,
        _ETHERNET,
        _MAC_SIZE,
        0,
        number,
        0,
        _ANSWER_TO_ALL,
        b"",
        mac,
        b"",
        _COOKIE,
    )
    options = bytes([_MESSAGE, 1, _DISCOVER, _WANTED, 2, 1, _SERVICE, _END])
    return (head + options).ljust(_LEAST, b"\0")


def address_in(packet: bytes, number: int, mac: bytes) -> str | None:
    """Return the service's address from an offer; None if the offer has none.

    Raises `Malformed` if `packet` is not an offer for this transaction.
    """
    if len(packet) < _OPTIONS_AT:
        raise Malformed("the packet is too short for DHCP")
    kind, _, _, _, its_number, _, _, _, chaddr, _, cookie = _HEAD.unpack_from(packet)
    if kind != _ANSWER or cookie != _COOKIE:
        raise Malformed("the packet is no answer of a DHCP server")
    if its_number != number or chaddr[:_MAC_SIZE] != mac:
        raise Malformed("the packet is an answer to somebody else")
    options = _options(packet[_OPTIONS_AT:])
    if options.get(_MESSAGE) != bytes([_OFFER]):
        raise Malformed("the packet is not an offer")
    address = options.get(_SERVICE)
    return None if address is None else _address(address)


def _options(data: bytes) -> Mapping[int, bytes]:
    """Parse the options; one that is split into several parts is joined."""
    options: dict[int, bytes] = {}
    at = 0
    while at < len(data) and data[at] != _END:
        if data[at] == _PAD:
            at += 1
            continue
        if at + 1 == len(data) or at + 2 + data[at + 1] > len(data):
            raise Malformed("an option of the packet is cut off")
        size = data[at + 1]
        options[data[at]] = options.get(data[at], b"") + data[at + 2 : at + 2 + size]
        at += 2 + size
    return options


def _address(data: bytes) -> str:
    if len(data) != 4:
        raise Malformed("option 245 is not an address")
    if data[0] == 0 or data[0] >= 224:  # this network, multicast, broadcast
        raise Malformed("option 245 is not the address of a machine")
    return ".".join(map(str, data))
