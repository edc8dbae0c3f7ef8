#!/usr/bin/env python3
"""Print the address of the metadata service that DHCP announces (option 245).

Usage: discover_endpoint.py [INTERFACE]. Run it as root on Linux. It takes no lease.
"""

import fcntl
import os
import re
import socket
import struct
import sys
import time

SECONDS = os.environ.get("DISCOVER_SECONDS") or "15"  # one DISCOVER per second
GET_FLAGS, GET_MAC = 0x8913, 0x8927  # SIOCGIFFLAGS, SIOCGIFHWADDR
UP, ETHERNET = 0x1, 1
COOKIE = b"\x63\x82\x53\x63"
OPTIONS_AT = 240  # bytes before the options


def ioctl(interface, operation):
    """Query the kernel about a network interface, as described in netdevice(7)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as kernel:
        request = struct.pack("16s24x", interface.encode())
        return fcntl.ioctl(kernel, operation, request)[16:]


def first_interface():
    """Return the first Ethernet interface that is up."""
    for _, name in socket.if_nameindex():
        (flags,) = struct.unpack_from("H", ioctl(name, GET_FLAGS))
        (kind,) = struct.unpack_from("H", ioctl(name, GET_MAC))
        if flags & UP and kind == ETHERNET:
            return name
    sys.exit("discover: no Ethernet interface is up; bring one up")


def discover_message(transaction, mac):
    """Build a DISCOVER that requests option 245, as described in RFC 2131.

    The flag 0x8000 requests a broadcast reply, which a UDP socket can receive even if
    the interface does not have the offered address.
    """
    head = struct.pack(
        "!4B4sHH16s16s192s", 1, 1, 6, 0, transaction, 0, 0x8000, b"", mac, b""
    )
    options = bytes([53, 1, 1, 55, 2, 1, 245, 255])
    return (head + COOKIE + options).ljust(300, b"\0")  # relays may drop shorter ones


def address_in(reply, transaction, mac):
    """Return option 245 in an offer; None if it is no offer or lacks the option."""
    is_ours = reply[4:8] == transaction and reply[28:34] == mac
    if reply[:1] != b"\x02" or not is_ours or reply[236:OPTIONS_AT] != COOKIE:
        return None
    options, at = {}, OPTIONS_AT
    while at + 1 < len(reply) and reply[at] != 255:
        if reply[at] == 0:  # padding
            at += 1
            continue
        options[reply[at]] = reply[at + 2 : at + 2 + reply[at + 1]]
        at += 2 + reply[at + 1]
    address = options.get(245, b"")
    is_offer = options.get(53) == b"\x02"
    return socket.inet_ntoa(address) if is_offer and len(address) == 4 else None


def discover(interface):
    """Return the address that DHCP announces on the interface, or None."""
    transaction, mac = os.urandom(4), ioctl(interface, GET_MAC)[2:8]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        udp.bind(("", 68))
        for _ in range(int(SECONDS)):
            udp.sendto(discover_message(transaction, mac), ("255.255.255.255", 67))
            until = time.monotonic() + 1
            while (left := until - time.monotonic()) > 0:
                udp.settimeout(left)
                try:
                    address = address_in(udp.recv(65536), transaction, mac)
                except TimeoutError:
                    break
                if address is not None:
                    return address
    return None


def main():
    """Print the address, or explain on stderr why there is none."""
    if len(sys.argv) > 2:
        print("usage: discover_endpoint.py [INTERFACE]", file=sys.stderr)
        sys.exit(2)
    if not re.fullmatch("[1-9][0-9]{0,3}", SECONDS):
        sys.exit(f"discover: DISCOVER_SECONDS must be from 1 to 9999, not '{SECONDS}'")
    interface = sys.argv[1] if len(sys.argv) == 2 else first_interface()
    try:
        address = discover(interface)
    except KeyboardInterrupt:
        sys.exit(130)
    except PermissionError:
        sys.exit("discover: DHCP needs root; run this program as root")
    except OSError as error:
        sys.exit(f"discover: cannot use DHCP on {interface}: {error.strerror}")
    if address is None:
        sys.exit(f"discover: no DHCP server on {interface} announced option 245")
    print(address)


if __name__ == "__main__":
    main()
