"""Forged Ethernet frames; run as a program, this module sends them."""

import socket
import struct
import sys
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address

EVERYBODY = "ff:ff:ff:ff:ff:ff"

#: The source port of connections opened by `opening`.
SOURCE_PORT = 40_000

_ARP, _IPV4, _IPV6, _TAGGED = 0x0806, 0x0800, 0x86DD, 0x8100


def claim(
    mac: str, address: str, *, by: str = "", to: str = "", tags: Sequence[int] = ()
) -> bytes:
    """Make an ARP reply, broadcast or sent `to` an address, that `address` is at `mac`.

    It is sent from the MAC `by`, if one is given.
    """
    owner = _mac(mac) + IPv4Address(address).packed
    other = _mac(mac) + IPv4Address(to or address).packed
    return _frame(EVERYBODY, by or mac, _ARP, _arp(2) + owner + other, tags)


def probe(mac: str, address: str) -> bytes:
    """Make an ARP probe that checks whether `address` is in use."""
    asker, target = _mac(mac) + bytes(4), bytes(6) + IPv4Address(address).packed
    return _frame(EVERYBODY, mac, _ARP, _arp(1) + asker + target)


def learning_frame(mac: str) -> bytes:
    """Make an empty packet from `mac`, from which a bridge learns its port."""
    nothing = struct.pack("!IHBB", 6 << 28, 0, 59, 1)  # "no next header"
    addresses = IPv6Address("fe80::1").packed + IPv6Address("ff02::1").packed
    return _frame(EVERYBODY, mac, _IPV6, nothing + addresses)


def dhcp_discover(mac: str) -> bytes:
    """Make a DHCP broadcast that requests an address."""
    udp = struct.pack("!HHHH", 68, 67, 8, 0)
    addresses = ("0.0.0.0", "255.255.255.255")  # unspecified, broadcast
    return _frame(EVERYBODY, mac, _IPV4, _ip(addresses, socket.IPPROTO_UDP, udp))


def opening(
    macs: tuple[str, str], addresses: tuple[str, str], *, tags: Sequence[int] = ()
) -> bytes:
    """Make a TCP SYN to port 80, from and to `macs` and `addresses`."""
    source, target = (IPv4Address(address).packed for address in addresses)
    tcp = struct.pack("!HHIIBBHHH", SOURCE_PORT, 80, 1, 0, 5 << 4, 2, 1024, 0, 0)
    pseudo = source + target + struct.pack("!BBH", 0, socket.IPPROTO_TCP, len(tcp))
    tcp = tcp[:16] + _sum(pseudo + tcp) + tcp[18:]
    body = _ip(addresses, socket.IPPROTO_TCP, tcp)
    return _frame(macs[1], macs[0], _IPV4, body, tags)


def _arp(operation: int) -> bytes:
    return struct.pack("!HHBBH", 1, _IPV4, 6, 4, operation)


def _ip(addresses: tuple[str, str], protocol: int, body: bytes) -> bytes:
    length = 20 + len(body)
    head = struct.pack("!BBHHHBBH", 0x45, 0, length, 0, 0, 64, protocol, 0)
    head += b"".join(IPv4Address(address).packed for address in addresses)
    return head[:10] + _sum(head) + head[12:] + body


def _frame(to: str, by: str, kind: int, body: bytes, tags: Sequence[int] = ()) -> bytes:
    for tag in tags:
        kind, body = _TAGGED, struct.pack("!HH", tag, kind) + body
    return _mac(to) + _mac(by) + struct.pack("!H", kind) + body


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def _sum(data: bytes) -> bytes:
    """Return the Internet checksum."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


def main(frames: Sequence[str]) -> None:
    """Send `frames`, given in hexadecimal, through the interface `eth0`."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as card:
        card.bind(("eth0", 0))
        for frame in frames:
            card.send(bytes.fromhex(frame))


if __name__ == "__main__":
    main(sys.argv[1:])
