"""Discovery through a real DHCP server, in separate network namespaces."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.end_to_end.program import serving
from tests.programs.dhcp_link import HOST, VM, DhcpLink, a_dhcp_link
from tests.programs.installed import needs
from tests.programs.network import connect

pytestmark = [pytest.mark.slow, needs("dnsmasq", "ip", "unshare", "nsenter")]

RANGE = (
    "--conf-file=/dev/null",
    "--interface=wire",
    "--dhcp-range=10.77.0.10,10.77.0.20,5m",
)
TELLS = "--dhcp-option-force=245,0a:4d:00:01"  # HOST

FLEET = f"""\
[[vms]]
name = "lone"
addresses = ["{VM}"]
"""

ASK = """
import sys
from forewarn.client.discovery import query_dhcp
from forewarn.errors import ForewarnError
try:
    print(query_dhcp(None, float(sys.argv[1])))
except ForewarnError as error:
    sys.exit(str(error))
"""

DISCOVER = """
from forewarn import Client
with Client.discover(dhcp_timeout=10) as client:
    print(client.endpoint, client.instance().name)
"""

#: Replies to a request with garbage first, then with an offer for 10.77.0.1.
RUDE = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"wire")
    server.bind(("", 67))
    print("ready", flush=True)
    request = server.recv(2000)
    head = b"\\x02" + request[1:240]
    offer = head + b"\\x35\\x01\\x02\\xf5\\x04\\x0a\\x4d\\x00\\x01\\xff"
    other = offer[:4] + b"\\0\\0\\0\\0" + offer[8:]
    for packet in (b"", b"rubbish", request, other, offer[:245], head, offer):
        server.sendto(packet, ("255.255.255.255", 68))
"""


@pytest.fixture
def link(tmp_path: Path) -> Iterator[DhcpLink]:
    with a_dhcp_link(tmp_path) as link:
        yield link


def test_a_dhcp_server_announces_the_service(link: DhcpLink) -> None:
    with link.dnsmasq(*RANGE, TELLS):
        result = link.python(ASK, "10")
    assert (result.code, result.out) == (0, f"{HOST}\n")
    assert (link.folder / "leases").read_text() == ""  # no lease was taken


def test_a_dhcp_server_without_the_option_is_named(link: DhcpLink) -> None:
    with link.dnsmasq(*RANGE):
        result = link.python(ASK, "0.5")
    assert "the DHCP server on eth0 does not announce a metadata service" in result.err


def test_an_option_that_is_not_an_address_is_named(link: DhcpLink) -> None:
    with link.dnsmasq(*RANGE, '--dhcp-option=245,"10.77.0.1"'):  # nine bytes of text
        result = link.python(ASK, "0.5")
    assert "sends option 245 without a valid IPv4 address" in result.err


@pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="needs /dev/net/tun")
def test_a_tunnel_interface_is_skipped(link: DhcpLink) -> None:
    link.machine.do("ip", "link", "delete", "eth0")
    link.machine.do("ip", "tuntap", "add", "mode", "tun", "name", "tunnel")
    link.machine.do("ip", "link", "set", "tunnel", "up")
    connect(link.host, "other", link.machine)  # a new eth0, after the tunnel
    result = link.python(ASK, "0.3")
    assert "no DHCP server responded on eth0" in result.err


def test_a_missing_dhcp_server_is_reported_in_time(link: DhcpLink) -> None:
    result = link.python(ASK, "0.3")
    assert "no DHCP server responded on eth0" in result.err


def test_invalid_packets_are_ignored(link: DhcpLink) -> None:
    with link.running(sys.executable, "-c", RUDE, ready="ready"):
        result = link.python(ASK, "10")
    assert (result.code, result.out) == (0, f"{HOST}\n")


@pytest.mark.parametrize("port", [80, 8080])
def test_a_machine_without_a_virtual_network_finds_its_service(
    link: DhcpLink, port: int
) -> None:
    link.machine.do("ip", "address", "add", f"{VM}/24", "dev", "eth0")
    fleet = link.folder / "fleet.toml"
    fleet.write_text(FLEET)
    where = (f"{HOST}:{port}",)
    within = link.host.within
    with (
        serving(link.folder, fleet=fleet, metadata=where, within=within),
        link.dnsmasq(*RANGE, TELLS),
    ):
        result = link.python(DISCOVER)
    shown = f"http://{HOST}" if port == 80 else f"http://{HOST}:{port}"
    assert (result.out, result.err) == (f"{shown} lone\n", "")


def test_discovery_requires_root(link: DhcpLink) -> None:
    program = ASK.replace("try:", "import os, fcntl; os.setuid(65534)\ntry:")
    result = link.python(program, "0.3")
    assert "requires root or the CAP_NET_RAW" in result.err
